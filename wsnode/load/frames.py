"""WebSocket frames of a client: made beforehand, and replies split by their heads."""

import json
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Final

CLOSE = 8
PING = 9
PONG = 10
MAX_MESSAGE_BYTES: Final = 1 << 30
"""Maximum number of bytes of a message."""


def masked_frame(payload: bytes, opcode: int = 1) -> bytes:
    """Return a client's frame with a random mask."""
    mask, size = os.urandom(4), len(payload)
    if size < 126:
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", 0x80 | opcode, 0xFE, size)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, 0xFF, size)
    key = int.from_bytes(mask * (size // 4 + 1))
    padded = payload + bytes(4 * (size // 4 + 1) - size)
    return head + mask + (int.from_bytes(padded) ^ key).to_bytes(len(padded))[:size]


def request_frame(identity: int, method: str, params: Sequence[object] = ()) -> bytes:
    """Return a request in a frame."""
    return masked_frame(request_text(identity, method, params))


def request_text(identity: int, method: str, params: Sequence[object]) -> bytes:
    """Return a request as JSON."""
    request = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
    return json.dumps(request, separators=(",", ":")).encode()


class ReplyReader:
    """Reader that splits the bytes from a node into messages."""

    def __init__(self) -> None:
        self.pings: list[bytes] = []
        self._received = bytearray()
        self._message = b""

    def feed(self, received: bytes) -> Iterator[bytes]:
        """Yield the messages that end with `received`; add pings to `pings`.

        Raises:
            ConnectionError: The node sent a close frame, or a message that is too long.
        """
        self._received += received
        position, available = 0, len(self._received)
        while (start := _payload_start(self._received, position, available)) is not None:
            begin, end = start
            if end - begin + len(self._message) > MAX_MESSAGE_BYTES:
                raise ConnectionError(f"the node sends a message of more than {MAX_MESSAGE_BYTES} bytes")
            if end > available:
                break
            head, payload = self._received[position], bytes(self._received[begin:end])
            position = end
            if head & 0x0F < CLOSE:
                if head >= 0x80:
                    yield self._message + payload
                    self._message = b""
                else:
                    self._message += payload
            else:
                self._control(head & 0x0F, payload)
        del self._received[:position]

    def _control(self, opcode: int, payload: bytes) -> None:
        if opcode == CLOSE:
            code, reason = int.from_bytes(payload[:2]), payload[2:].decode(errors="replace")
            raise ConnectionError(f"the node closed the connection: {code} {reason}".rstrip())
        if opcode == PING:
            self.pings.append(payload)


def _payload_start(received: bytearray, position: int, available: int) -> tuple[int, int] | None:
    """Return the begin and end of the payload of the frame at `position`, None while they are unknown."""
    if available < position + 2:
        return None
    size = received[position + 1]
    if size < 126:
        return position + 2, position + 2 + size
    begin = position + (4 if size == 126 else 10)
    if available < begin:
        return None
    return begin, begin + int.from_bytes(received[position + 2 : begin])
