"""HTTP responses."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus

import msgspec

from wsnode.jsonrpc.codec import NULL, error_reply
from wsnode.jsonrpc.work import Reply, pieces_of, size_of
from wsnode.server.access.request_errors import HttpRequestRefusedError

JSON = "application/json"


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
