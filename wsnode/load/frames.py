"""WebSocket frames of a client, and replies: split by their heads, and read with minimal parsing."""

import json
import os
import re
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

from wsnode.untrusted.decoding import MalformedError, decode_json

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
    """Incremental parser of the bytes from a node: it yields whole WebSocket messages, and collects pings."""

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


_HEAD = re.compile(rb'\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,\s*"(result|error)"')
_TAIL = re.compile(rb'"id"\s*:\s*(\d+)\s*\}\s*\Z')
_START = re.compile(rb'\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"(result|error)"')
HEAD_BYTES = 80
TAIL_BYTES = 40


def outcome(message: bytes) -> tuple[int | None, bool]:
    """Return the id of a reply, None for other messages, and True if it is an error."""
    if head := _HEAD.match(message, 0, HEAD_BYTES):
        return int(head[1]), head[2] == b"error"
    # Some nodes put the id last.
    start, tail = (
        _START.match(message, 0, HEAD_BYTES),
        _TAIL.search(message, max(0, len(message) - TAIL_BYTES)),
    )
    if start and tail:
        return int(tail[1]), start[1] == b"error"
    return _read(message)


def _read(message: bytes) -> tuple[int | None, bool]:
    try:
        reply = decode_json(message)
    except MalformedError:
        return None, True
    if not isinstance(reply, dict) or not isinstance(reply.get("id"), int):
        return None, False
    return reply["id"], "error" in reply


def read_reply(message: bytes) -> dict[str, Any]:
    """Return the members of a reply.

    Raises:
        MalformedError: The message is no JSON object.
    """
    reply = decode_json(message)
    if not isinstance(reply, dict):
        raise MalformedError("a reply is no object")
    return reply


def error_text(message: bytes) -> str:
    """Return code and message of an error reply as text, or the reason why it cannot be read."""
    try:
        error = read_reply(message).get("error")
    except MalformedError as reason:
        return f"no JSON-RPC: {reason}"
    return f"{error.get('code')} {error.get('message')}" if isinstance(error, dict) else str(error)
