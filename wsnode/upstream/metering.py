"""Bounds of the work that one message of an upstream makes: its pieces, its bytes, its seconds.

The libraries handle all bytes that have arrived before they wait again. A message in pieces of one byte, or
of none, would hold up all other tasks meanwhile. So few pieces are handled before other tasks run, and a
message may have `MAX_SMALL_PIECES` pieces and one more for each `MIN_MEAN_BYTES` bytes.
"""

from collections.abc import Callable
from typing import Final

import trio

PIECES_A_TURN: Final = 64
"""Frames or chunks that are handled before other tasks run: some 2 ms of work."""
MAX_SMALL_PIECES: Final = 1024
MIN_MEAN_BYTES: Final = 64
"""Least mean size of a message's further pieces, in bytes; nodes send pieces of kilobytes."""
MESSAGE_SECONDS: Final = 60.0
"""Maximum seconds from a message's first piece to its last."""
HANDSHAKE_BYTES: Final = 1 << 16
MAX_HEADER_BYTES: Final = 14
"""Bytes of the longest frame header (RFC 6455, section 5.2)."""
MAX_INFORMATIONAL: Final = 16
"""Maximum responses of status 1xx before the response."""

_END: Final = b"\r\n\r\n"
_SWITCHED: Final = b"HTTP/1.1 101"
_FINAL: Final = 0x80
_MASKED: Final = 0x80
_CONTROL: Final = 8


class ExcessiveWorkError(trio.BrokenResourceError):
    """Error of a received message in too many pieces for its size, or over too long a time."""


class MessageWork:
    """Measure of the work that one received message makes: its number of pieces, its bytes, and its time."""

    __slots__ = ("_began", "_bytes", "_pieces")

    def __init__(self) -> None:
        self._pieces = self._bytes = 0
        self._began = 0.0

    def end(self) -> None:
        self._pieces = self._bytes = 0

    def extend(self, size: int) -> None:
        """Add the size, in bytes, of a further part of the piece counted last."""
        self._bytes += size

    def add(self, size: int) -> None:
        """Count one piece of `size` bytes.

        Raises:
            ExcessiveWorkError: The message has too many pieces for its size, or takes too long.
        """
        now = trio.current_time()
        if not self._pieces:
            self._began = now
        self._pieces += 1
        self._bytes += size
        most = MAX_SMALL_PIECES + self._bytes // MIN_MEAN_BYTES
        if self._pieces > most:
            raise ExcessiveWorkError(
                f"a message in {self._pieces} pieces of {self._bytes} bytes in all: at most {most} pieces"
            )
        if now - self._began > MESSAGE_SECONDS:
            raise ExcessiveWorkError(f"a message that takes more than {MESSAGE_SECONDS:g} s")


class MeteredStream(trio.abc.Stream):
    """Stream of WebSocket frames that returns at most `PIECES_A_TURN` frames from each read."""

    def __init__(self, stream: trio.abc.Stream, on_excess: Callable[[ExcessiveWorkError], None]) -> None:
        """Wrap `stream`; `on_excess` is called once, before the stream breaks."""
        self._stream = stream
        self._on_excess = on_excess
        self._data = b""
        self._place = 0
        """Number of bytes of `_data` that were returned."""
        self._handshake: bytes | None = b""
        """Bytes of the handshake's response received so far; None once it is complete."""
        self._head = b""
        """Bytes of the current frame's header received so far."""
        self._left = 0
        """Bytes of the current frame's payload that have not been received."""
        self._pieces = MessageWork()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return received bytes with at most `PIECES_A_TURN` frames, no bytes at the end of the stream.

        Raises:
            ExcessiveWorkError: A message makes too much work, or the handshake is too long.
        """
        if self._place < len(self._data):
            await trio.lowlevel.checkpoint()
        else:
            self._data, self._place = bytes(await self._stream.receive_some(max_bytes)), 0
        start = self._place
        try:
            self._place = self._turn(start)
        except ExcessiveWorkError as excess:
            self._on_excess(excess)
            raise
        return self._data[start : self._place]

    def _turn(self, place: int) -> int:
        """Return the place in `_data` up to which bytes may be returned in this turn."""
        if self._handshake is not None:
            place = self._read_handshake(self._handshake, place)
        data, end, frames = self._data, len(self._data), 0
        while place < end and frames < PIECES_A_TURN:
            if self._left:
                step = min(self._left, end - place)
                place, self._left = place + step, self._left - step
                continue
            head = self._head + data[place : place + MAX_HEADER_BYTES]
            size = _header_size(head)
            if len(head) < size:
                self._head, place = head, end
            else:
                place += size - len(self._head)
                self._head = b""
                self._begin_frame(head[:size])
                frames += 1
        return place

    def _read_handshake(self, before: bytes, place: int) -> int:
        """Return the place in `_data` at which the first frame begins, or its end if the handshake is
        incomplete.
        """
        text = before + self._data[place:]
        begin = 0
        while (end := text.find(_END, begin)) >= 0 and end < HANDSHAKE_BYTES:
            if text.startswith(_SWITCHED, begin):
                self._handshake = None
                return place + end + len(_END) - len(before)
            begin = end + len(_END)
        if len(text) > HANDSHAKE_BYTES:
            raise ExcessiveWorkError(f"a handshake of more than {HANDSHAKE_BYTES} bytes")
        self._handshake = text
        return len(self._data)

    def _begin_frame(self, head: bytes) -> None:
        kind, length = head[0] & 0x0F, head[1] & 0x7F
        self._left = length if length < 126 else int.from_bytes(head[2 : _extended(length)])
        if kind >= _CONTROL:
            return
        self._pieces.add(self._left)
        if head[0] & _FINAL:
            self._pieces.end()


def _extended(length: int) -> int:
    """Return the size of a frame's header without its masking key: 2, 4 or 10 bytes (RFC 6455, section 5.2).

    `length` is the 7-bit payload length of its second byte.
    """
    if length < 126:
        return 2
    return 4 if length == 126 else 10


def _header_size(head: bytes) -> int:
    """Return the size of a frame's header in bytes, masking key included; 2 until its first two bytes are
    known.
    """
    if len(head) < 2:
        return 2
    return _extended(head[1] & 0x7F) + (4 if head[1] & _MASKED else 0)
