"""Heads of HTTP requests, from the first bytes of a connection to their headers and those of the response."""

import re
from typing import NamedTuple

import h11
import trio

from wsnode.server.access.origin_policy import OriginPolicy
from wsnode.server.access.request_errors import HttpRequestRefusedError, bad_request
from wsnode.server.access.router import HEAD_HEADER, Caller
from wsnode.server.limits import Limits
from wsnode.server.transport.transport import Transport, receive_by

_END = re.compile(rb"\r?\n\r?\n")
_UPGRADE = re.compile(rb"\nupgrade[ \t]*:[^\r\n]*websocket", re.IGNORECASE)
_METHOD = re.compile(rb"[A-Z]{1,16} ")
_NAMES = re.compile(r"[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*", re.ASCII)
"""Names of headers (RFC 9110, section 5.6.2), separated by commas."""


class MalformedHeadError(Exception):
    """Error of bytes that are no HTTP head, with the status of the response.

    `status` is None if the client has disconnected; `data` are the bytes that have arrived.
    """

    def __init__(self, status: int | None, data: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.data = data


class Upgrade(NamedTuple):
    """Request for WebSocket: its head with the blank line, and the bytes after it."""

    head: bytes
    rest: bytes


def head_size(data: bytes, searched: int = 0) -> int | None:
    """Return the size in bytes of the head at the beginning of `data`; None if its end has not arrived.

    The first `searched` bytes are known to contain no end of a head.
    """
    match = _END.search(data, max(0, searched - 3))
    return None if match is None else match.end()


def is_no_request(data: bytes) -> bool:
    """Return True if the bytes cannot begin an HTTP request."""
    return len(data) > 16 and _METHOD.match(data) is None


async def read_head(transport: Transport, limits: Limits) -> tuple[bytes, bytes]:
    """Return the head with its blank line, and the bytes after it.

    Raises:
        MalformedHeadError: The head did not come in time or at all, or is too large.
    """
    data = b""
    deadline = trio.current_time() + limits.head_seconds
    while (arrived := await receive_by(transport, deadline)) is not None:
        if not arrived:
            raise MalformedHeadError(None, data)
        data += arrived
        size = head_size(data, len(data) - len(arrived))
        if (len(data) if size is None else size) > limits.head_bytes:
            raise MalformedHeadError(431, data)
        if size is not None:
            return data[:size], data[size:]
        if is_no_request(data):
            raise MalformedHeadError(400, data)
    raise MalformedHeadError(408 if data else None, data)


def wants_websocket(head: bytes) -> bool:
    """Return True if the head requests an upgrade to WebSocket."""
    return _UPGRADE.search(head) is not None


class Headers:
    """Headers of a request by lower-case name."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs
        self._first = dict(reversed(pairs))

    def count(self, name: str) -> int:
        return sum(each == name for each, _ in self._pairs)

    def first(self, name: str) -> str:
        """Return the value of the first header with a name, an empty text without one."""
        return self._first.get(name, "")

    def only(self, name: str) -> str:
        """Return the value of the only header with a name, an empty text without one.

        Raises:
            HttpRequestRefusedError: Several headers have the name.
        """
        if len(self._first) < len(self._pairs) and self.count(name) > 1:
            raise bad_request(f"more than one {name} header")
        return self._first.get(name, "")


def headers_of(request: h11.Request) -> Headers:
    """Return the headers of a request."""
    return Headers(
        [(bytes(name).decode(), bytes(value).decode("latin-1")) for name, value in request.headers]
    )


def cross_origin(headers: Headers, caller: Caller, origin_policy: OriginPolicy) -> dict[str, str]:
    """Return the headers with which a web page may read the response, none for a request without origin.

    Raises:
        HttpRequestRefusedError: The origin is malformed or not admitted.
    """
    origin = headers.only("origin")
    if not origin:
        return {}
    if not origin.isascii():
        raise bad_request("the origin is not ASCII")
    allowed = _allowed(origin, is_for_all=origin_policy.check_origin(caller.api_key, origin))
    return {**allowed, "Access-Control-Expose-Headers": HEAD_HEADER}


def shared_refusal(headers: Headers, host: str, origin_policy: OriginPolicy) -> dict[str, str]:
    """Return the headers with which a web page may read a refusal, none for a page of another origin."""
    try:
        origin_policy.check_host(host)
        origin = headers.only("origin")
        if not origin or not origin.isascii():
            return {}
        return _allowed(origin, is_for_all=origin_policy.check_origin(None, origin))
    except HttpRequestRefusedError:
        return {}


def _allowed(origin: str, *, is_for_all: bool) -> dict[str, str]:
    if is_for_all:
        return {"Access-Control-Allow-Origin": "*"}
    return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}


def _private_network(headers: Headers) -> dict[str, str]:
    """Return the header that lets a public page reach a node in a private network, if its browser asks.

    Source: Private Network Access, section 3.1. Chromium asks even if the origin needs nothing else.
    """
    asked = headers.first("access-control-request-private-network").strip().lower() == "true"
    return {"Access-Control-Allow-Private-Network": "true"} if asked else {}


def preflight(headers: Headers, caller: Caller, origin_policy: OriginPolicy) -> dict[str, str]:
    """Return the headers of the response to a browser's preflight request (OPTIONS)."""
    asked = headers.first("access-control-request-headers")
    return {
        **cross_origin(headers, caller, origin_policy),
        **_private_network(headers),
        "Access-Control-Allow-Methods": "POST, GET, OPTIONS",
        # Libraries add headers of their own (for tracing, say). None of them has a meaning for this node, so
        # all are allowed.
        "Access-Control-Allow-Headers": asked if _NAMES.fullmatch(asked) else "Content-Type",
        "Access-Control-Max-Age": "86400",
    }
