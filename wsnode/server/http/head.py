"""First bytes of a connection, up to the end of an HTTP head, within bounds."""

import re
from typing import NamedTuple

import trio

from wsnode.server.limits import Limits
from wsnode.server.transport.transport import Transport, receive_by

_END = re.compile(rb"\r?\n\r?\n")
_UPGRADE = re.compile(rb"\nupgrade[ \t]*:[^\r\n]*websocket", re.IGNORECASE)
_METHOD = re.compile(rb"[A-Z]{1,16} ")


class MalformedHeadError(Exception):
    """Error of bytes that are no HTTP head, with the status of the response.

    `status` is None if the client has disconnected.
    """

    def __init__(self, status: int | None, *, is_head: bool = False) -> None:
        super().__init__(status)
        self.status = status
        self.is_head = is_head
        """True if the request is HEAD, so that the response has no body (RFC 9110, section 9.3.2)."""


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
            raise MalformedHeadError(None)
        data += arrived
        size = head_size(data, len(data) - len(arrived))
        if (len(data) if size is None else size) > limits.head_bytes:
            raise MalformedHeadError(431, is_head=data.startswith(b"HEAD "))
        if size is not None:
            return data[:size], data[size:]
        if is_no_request(data):
            raise MalformedHeadError(400)
    raise MalformedHeadError(408 if data else None)


def wants_websocket(head: bytes) -> bool:
    """Return True if the head requests an upgrade to WebSocket."""
    return _UPGRADE.search(head) is not None
