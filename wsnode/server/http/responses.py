"""HTTP responses, and static files, which browsers keep as long as they do not change."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from wsnode.jsonrpc.codec import NULL, error_reply
from wsnode.jsonrpc.work import Reply, pieces_of, size_of
from wsnode.server.access.request_errors import HttpRequestRefusedError

JSON = "application/json"
_REFUSED: Final = re.compile(r";\s*q=0(\.0*)?\s*(;|$)")


class Response(msgspec.Struct, frozen=True):
    """HTTP response."""

    status: int
    body: Reply = b""
    content_type: str = JSON
    headers: Mapping[str, str] = {}


def serialize(response: Response, *, last: bool = False) -> Sequence[bytes]:
    """Return the head and the pieces of the body; the `last` response of a connection announces its end."""
    before, behind = head_around_length(response, last=last)
    return before + b"%d" % size_of(response.body) + behind, *pieces_of(response.body)


def head_around_length(response: Response, *, last: bool = False) -> tuple[bytes, bytes]:
    """Return the parts of a response's head before and behind the length of its body."""
    before = f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}\r\nContent-Length: "
    lines = [""]
    if response.body:
        lines.append(f"Content-Type: {response.content_type}")
    lines += [f"{name}: {value}" for name, value in response.headers.items()]
    if last:
        lines.append("Connection: close")
    return before.encode(), "\r\n".join((*lines, "", "")).encode("latin-1")


def refused(refusal: HttpRequestRefusedError, shared: Mapping[str, str] | None = None) -> Response:
    """Return the response of a refusal, with a JSON-RPC error as its body.

    The headers `shared` decide which web pages can read it; other pages cannot detect that a node is here.
    """
    headers = {**(shared or {}), **refusal.headers}
    return Response(refusal.status, error_reply(NULL, refusal.error), headers=headers)


class StaticFile:
    """Content of a file, with the headers of its response."""

    def __init__(
        self,
        body: bytes,
        content_type: str,
        headers: Mapping[str, str] | None = None,
        *,
        named_only: bool = False,
    ) -> None:
        """Make a file; `named_only` keeps it for requests whose Accept header names its content type."""
        self.body = body
        self.content_type = content_type
        self.tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        """Entity tag (RFC 9110, section 8.8.3)."""
        self._media_type = content_type.partition(";")[0] if named_only else None
        # The browser has to validate its copy each time, because another release may serve this path later.
        self._headers = {"ETag": self.tag, "Cache-Control": "no-cache", **(headers or {})}
        if named_only:
            self._headers["Vary"] = "Accept"

    def suits(self, accepted: str) -> bool:
        """Return True if a request with this Accept header is for the file."""
        return self._media_type is None or any(
            offer.partition(";")[0].strip().lower() == self._media_type and not _REFUSED.search(offer)
            for offer in accepted.split(",")
        )

    def response(self, known: str) -> Response:
        """Return the file, or 304 if the If-None-Match header `known` names it (RFC 9110, section 13.1.2)."""
        tags = [tag.strip().removeprefix("W/") for tag in known.split(",")]
        if "*" in tags or self.tag in tags:
            return Response(304, headers=self._headers)
        return Response(200, self.body, self.content_type, self._headers)
