"""The first bytes of a connection, up to the end of an HTTP head, within bounds."""

import re

import trio

from wsnode.server.limits import Limits
from wsnode.server.transport.transport import Transport

_END = re.compile(rb"\r?\n\r?\n")
_UPGRADE = re.compile(rb"\nupgrade[ \t]*:[^\r\n]*websocket", re.IGNORECASE)
_METHOD = re.compile(rb"[A-Z]{1,16} ")


class NoHeadError(Exception):
    """The bytes are no HTTP head; `status` is the response's, None if the client is gone."""

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status


async def read_head(transport: Transport, limits: Limits) -> tuple[bytes, bytes]:
    """Return the head with its blank line, and what came behind it.

    Raises:
        NoHeadError: It did not come, in time or at all, or is too large.
    """
    data = b""
    with trio.move_on_after(limits.head_seconds):
        while True:
            arrived = await transport.receive()
            if not arrived:
                raise NoHeadError(None)
            data += arrived
            if match := _END.search(data, max(0, len(data) - len(arrived) - 3)):
                if match.end() > limits.head_bytes:
                    raise NoHeadError(431)
                return data[: match.end()], data[match.end() :]
            if len(data) > limits.head_bytes:
                raise NoHeadError(431)
            if not _METHOD.match(data) and len(data) > 16:
                raise NoHeadError(400)
    raise NoHeadError(408 if data else None)


def wants_websocket(head: bytes) -> bool:
    """Return whether the head requests an upgrade to WebSocket."""
    return _UPGRADE.search(head) is not None
