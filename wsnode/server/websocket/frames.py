"""WebSocket frames to messages and back, for one connection, without I/O.

Nearly every frame that a client sends is a whole, unfragmented, unextended text or binary message. The engine
reads those straight from the receive buffer. All other frames (control frames, fragments, compressed or
broken ones) go byte for byte to the parser of the `websockets` library, in the state that it would have had.
The two take turns at frame boundaries only, so the parser exists only while a frame or message is unfinished,
and an idle connection has none. Of a long fragment without extensions the parser gets the head alone, once
all has arrived: it would read, unmask and copy megabytes at a time. tests/server/websocket/test_frames.py
compares this with the library's parser alone, on random streams.
"""

import logging
import struct
from collections.abc import Sequence

from websockets.extensions import Extension
from websockets.frames import CTRL_OPCODES, CloseCode, Frame, Opcode
from websockets.protocol import Protocol as LibraryProtocol
from websockets.protocol import Side, State
from websockets.typing import BytesLike

from wsnode._native.wire import take_messages
from wsnode.server.websocket.message_buffer import MessageBuffer, PartialFrame

TEXT_WHOLE = 0x81
BINARY_WHOLE = 0x82
WHOLE = (TEXT_WHOLE, BINARY_WHOLE)
MASKED = 0x80
SHORT_HEAD = 6
"""Size of a client's smallest frame head, in bytes."""
COMPRESSED = 0x40
RESERVED = 0x70
"""Bits of a frame's first byte for extensions, `COMPRESSED` among them."""
CLOSE_WHOLE = 0x88
KNOWN_OPCODES = frozenset(int(opcode) for opcode in Opcode)
PING = b"\x89\x00"
PONG = b"\x8a"
TURN_FRAMES = 64
"""Frames that the library parses in a turn, at some 15 microseconds each."""
FRAME_BYTES = 4 * 1024
"""Bytes of a frame that counts as one; a larger frame counts as several."""
LONG_BYTES = 64 * 1024
"""Bytes of payload from which a fragment is read as it arrives."""
CLOSING_BYTES = 512
"""Bytes passed to the library in a turn once a close frame has been sent: at most 85 frames."""
SHORT_HEADS = [bytes((TEXT_WHOLE, size)) for size in range(126)]
"""Heads of short text frames, by payload size."""

logger = logging.getLogger("wsnode.server.frames")
logger.setLevel(logging.WARNING)


class FrameParser(LibraryProtocol):
    """The library's parser, changed to accept a close frame within an unfinished message.

    Control frames may come between the fragments of a message (RFC 6455, section 5.4).
    """

    def recv_frame(self, frame: Frame) -> None:
        if frame.opcode is Opcode.CLOSE:
            self.current_size = None
        super().recv_frame(frame)


class Framing:
    """Receiving half of a WebSocket connection, which turns bytes into messages; `writes` has the frames to
    send in answer, such as pongs and a close.
    """

    __slots__ = (
        "_ahead",
        "_done",
        "_extensions",
        "_fragment",
        "_is_compressed",
        "_is_text_message",
        "_largest",
        "_limit",
        "_long",
        "_message",
        "_needed",
        "_owed",
        "_partial",
        "_protocol",
        "closed",
        "heard",
        "writes",
    )

    def __init__(
        self, message_bytes: int, extensions: Sequence[Extension] = (), *, long_bytes: int = LONG_BYTES
    ) -> None:
        """Begin with a maximum of `message_bytes` for a message.

        A fragment of at least `long_bytes` is read as it arrives.
        """
        self._limit = message_bytes
        self._long = long_bytes
        self._largest = message_bytes + SHORT_HEAD
        """Bytes up to which a frame is held until it is complete."""
        self._extensions = extensions
        self._protocol: LibraryProtocol | None = None
        """The library's parser, while it has an unfinished frame or message, or the connection is closing."""
        self._owed = 0
        """Bytes of the parser's unfinished frame that have not arrived."""
        self._partial: bytearray | None = None
        """Bytes of an incomplete frame, held back from the parser."""
        self._needed = 0
        """Number of held bytes from which they are parsed again."""
        self._fragment: PartialFrame | None = None
        """Long fragment that has arrived in part."""
        self._message: MessageBuffer | None = None
        """Fragments of an unfinished message."""
        self._is_text_message = False
        """True if the unfinished message is text."""
        self._is_compressed = False
        """True if the unfinished message, in the library's parser, is compressed."""
        self._ahead = b""
        """Bytes received after the last turn's frames."""
        self._done = 0
        """Number of frames that the library has parsed in this turn, weighted by size."""
        self.writes: list[bytes] = []
        """Frames to send now: pongs, a close, `SEND_EOF` (empty) for the end."""
        self.closed = False
        """True once a close frame has been sent or received."""
        self.heard = True
        """True if anything has arrived since this was last set to False."""

    @property
    def close_code(self) -> int:
        """Return the close code: the client's, else the server's, else 1006."""
        close = self._protocol and (self._protocol.close_rcvd or self._protocol.close_sent)
        return int(close.code) if close else CloseCode.ABNORMAL_CLOSURE

    @property
    def is_midway(self) -> bool:
        """Return True if a frame or message has begun and not ended."""
        is_begun = self._partial is not None or self._fragment is not None
        return is_begun or self._protocol is not None or self.has_more

    @property
    def has_more(self) -> bool:
        """Return True if the last turn left received frames."""
        return bool(self._ahead)

    @property
    def output_bytes(self) -> int:
        """Return the number of bytes kept of unfinished messages."""
        kept = len(self._message or b"") + len(self._partial or b"") + len(self._ahead)
        return kept + (len(self._protocol.reader.buffer) if self._protocol is not None else 0)

    def receive(self, data: bytes) -> list[bytes]:
        """Return the messages that `data` completes, as many as fit into one turn.

        While `has_more` is True, other tasks should run before the next call.
        """
        self.heard = self.heard or bool(data)
        self._done = 0
        messages: list[bytes] = []
        if self._ahead:
            data, self._ahead = self._ahead + data, b""
        if self.closed:
            self._receive_closed(data, messages)
        else:
            self._receive_open(data, messages)
        return messages

    def _receive_closed(self, data: bytes, messages: list[bytes]) -> None:
        if self._fragment is not None and not (
            data := self._receive_fragment(self._fragment, data, messages)
        ):
            return
        # After a close frame of the client, or a fault, the library discards all bytes, so they need not be
        # passed in parts.
        if len(data) > CLOSING_BYTES and not self._library().eof_sent:
            data, self._ahead = data[:CLOSING_BYTES], data[CLOSING_BYTES:]
        self._feed(data, messages)

    def _receive_open(self, data: bytes, messages: list[bytes]) -> None:
        if self._fragment is not None:
            data = self._receive_fragment(self._fragment, data, messages)
        elif self._owed:
            taken, data = data[: self._owed], data[self._owed :]
            self._owed -= len(taken)
            self._feed(taken, messages)
        elif self._partial is not None:
            self._receive_rest(self._partial, data, messages)
            return
        if data:
            self._scan(data, messages)

    def _receive_rest(self, partial: bytearray, data: bytes, messages: list[bytes]) -> None:
        """Complete the held frame with `data`, and parse the bytes after it once it is complete."""
        lacking = self._needed - len(partial)
        if len(data) < lacking:
            partial += data
            return
        self._partial = None
        if lacking > 0:
            # Only the lacking bytes are appended, so that neither a long message nor the bytes after it are
            # copied once more.
            partial += memoryview(data)[:lacking]
            if take_messages(partial, 0, self._limit, messages):
                self._scan(data, messages, lacking)
                return
        self._scan(bytes(partial) + data[max(lacking, 0) :], messages)

    def receive_eof(self) -> None:
        """Record that the client sends nothing more."""
        self._ahead = b""
        self._hand_over()
        protocol = self._library()
        protocol.receive_eof()
        self._collect(protocol, [])

    def close(self, code: int, reason: str = "") -> None:
        """Send a close frame, unless one was sent or received."""
        if not self.closed:
            self._hand_over()
            protocol = self._library()
            protocol.send_close(code, reason)
            self._collect(protocol, [])

    def fail(self, code: int, reason: str) -> None:
        """Close for a fault of the client; bytes that arrive later are discarded."""
        if not self.closed:
            self._partial, self._fragment, self._message, self._owed, self._ahead = None, None, None, 0, b""
            protocol = self._library()
            protocol.fail(code, reason)
            self._collect(protocol, [])

    def release(self) -> None:
        """Release the library's parser."""
        if self._protocol is not None:
            release_parser(self._protocol)
            self._protocol = None

    def _hand_over(self) -> None:
        """Pass the held beginning of a frame to the library."""
        rest, self._partial = bytes(self._partial or b""), None
        if rest:
            self._owed = 1
            self._feed(rest, [])
            self._owed = 0

    def _scan(self, data: bytes, messages: list[bytes], position: int = 0) -> None:
        end = len(data)
        self._needed = 0
        while True:
            if self._protocol is None:
                position = take_messages(data, position, self._limit, messages)
            if end - position < 2 or (whole := _frame_size(data, position)) < 0:
                break
            if self._protocol is None and data[position] in WHOLE and end - position < whole <= self._largest:
                self._needed = whole
                break
            if self._done >= TURN_FRAMES:
                self._ahead = data[position:]
                return
            self._note_compression(data[position])
            if end - position < whole and (size := self._long_fragment(data, position, whole)):
                if end - position < whole - size:
                    break
                self._begin_fragment(data[position:], whole - size, size, messages)
                return
            self._done += 1
            taken = data[position : position + whole]
            position += len(taken)
            self._owed = whole - len(taken)
            self._feed(taken, messages)
            if self.closed:
                break
        if self.closed and position < end:
            self._receive_closed(data[position:], messages)
        elif position < end:
            self._partial = bytearray(memoryview(data)[position:])

    def _long_fragment(self, data: bytes, position: int, whole: int) -> int:
        """Return the payload size of the frame at `position` if it is to be read as it arrives, else 0."""
        first = data[position]
        size = whole - _head_size(data[position + 1])
        begun = 0 if self._protocol is None else self._protocol.current_size or 0
        is_plain = first & 0x0F <= Opcode.BINARY and not (first & RESERVED or self._is_compressed)
        return size if is_plain and self._long <= size <= self._limit - begun else 0

    def _begin_fragment(self, data: bytes, head: int, size: int, messages: list[bytes]) -> None:
        """Begin a fragment: `data` has its head of `head` bytes, and part of its payload of `size` bytes."""
        self._fragment = PartialFrame(data[:head], size)
        self._receive_fragment(self._fragment, data[head:], messages)

    def _note_compression(self, first: int) -> None:
        if first & 0x0F in (Opcode.TEXT, Opcode.BINARY):
            self._is_compressed = bool(first & COMPRESSED)

    def _receive_fragment(self, fragment: PartialFrame, data: bytes, messages: list[bytes]) -> bytes:
        """Add a long fragment's payload in `data` to its message; return the bytes after the fragment."""
        payload, rest = fragment.take(data)
        self._done += len(payload) // FRAME_BYTES
        if not self.closed:
            self._keep(payload)
        if fragment.is_whole:
            self._fragment = None
            self._end_fragment(fragment, messages)
        return rest

    def _end_fragment(self, fragment: PartialFrame, messages: list[bytes]) -> None:
        """Have the library check the fragment by its head."""
        self._feed(fragment.without_payload, messages)
        if (protocol := self._protocol) is not None and protocol.current_size is not None:
            protocol.current_size += fragment.size

    def _feed(self, data: bytes, messages: list[bytes]) -> None:
        protocol = self._library()
        protocol.receive_data(data)
        self._collect(protocol, messages)

    def _library(self) -> LibraryProtocol:
        if self._protocol is None:
            self._protocol = FrameParser(Side.SERVER, max_size=self._limit, logger=logger)
            self._protocol.extensions = list(self._extensions)
        return self._protocol

    def _collect(self, protocol: LibraryProtocol, messages: list[bytes]) -> None:
        for frame in protocol.events_received():
            assert isinstance(frame, Frame)
            if frame.opcode not in CTRL_OPCODES and not self.closed:
                self._collect_data(frame, messages)
        self.writes += protocol.data_to_send()
        if protocol.state is not State.OPEN:
            self.closed, self._message = True, None
        elif not self._owed and protocol.current_size is None:
            self.release()

    def _collect_data(self, frame: Frame, messages: list[bytes]) -> None:
        self._done += len(frame.data) // FRAME_BYTES
        if frame.opcode is not Opcode.CONT:
            self._is_text_message = frame.opcode is Opcode.TEXT
        if not frame.fin or self._message is not None:
            self._keep(frame.data)
        if frame.fin:
            payload = bytes(frame.data) if self._message is None else self._message.join()
            self._message = None
            if not self._is_text_message or payload.isascii() or self._is_text(payload):
                messages.append(payload)

    def _keep(self, payload: BytesLike) -> None:
        """Add a payload to the unfinished message."""
        if self._message is None:
            self._message = MessageBuffer()
        self._message.add(payload)

    def _is_text(self, payload: bytes) -> bool:
        # The library leaves this check to its users. The code is 1007, as where the library checks a text
        # itself.
        try:
            payload.decode()
        except UnicodeDecodeError as error:
            self.fail(CloseCode.INVALID_DATA, f"{error.reason} at position {error.start}")
            return False
        return True


def _long_size(data: bytes, position: int) -> int:
    """Return the extended payload size of the frame at `position`, -1 until it has arrived."""
    stop = position + (4 if data[position + 1] & 0x7F == 126 else 10)
    return int.from_bytes(data[position + 2 : stop]) if len(data) >= stop else -1


def release_parser(protocol: LibraryProtocol) -> None:
    """End a parser of the library, so that its generator and its last exception form no cycle of garbage.

    If ten thousand connections ended, the collector would free all their parsers in one pass of 0.1 s.
    """
    protocol.parser.close()
    protocol.parser_exc = None


def _head_size(second: int) -> int:
    """Return the size in bytes of a client's frame head, by its second byte."""
    return SHORT_HEAD + {0x7E: 2, 0x7F: 8}.get(second & 0x7F, 0)


def _frame_size(data: bytes, position: int) -> int:
    """Return the size of the frame at `position` with its head, -1 until its head has arrived.

    An invalid frame has all bytes of `data`.
    """
    first, second = data[position], data[position + 1]
    if first & 0x0F not in KNOWN_OPCODES or second < MASKED:
        return len(data) - position
    size = second - MASKED
    if size >= 126 and (size := _long_size(data, position)) < 0:
        return -1
    return _head_size(second) + size


def frame_head(size: int, first: int = TEXT_WHOLE) -> bytes:
    """Return the head of an unmasked frame with a payload of `size` bytes."""
    if size < 126:
        return bytes((first, size))
    if size < 65536:
        return struct.pack("!BBH", first, 126, size)
    return struct.pack("!BBQ", first, 127, size)


def text_frame(
    *pieces: bytes | memoryview, continued: bool = False, final: bool = True, compressed: bool = False
) -> bytes:
    """Return a text message, or a fragment of one, as one frame with the pieces as its payload."""
    first = (0 if continued else int(Opcode.TEXT)) | (0x80 if final else 0)
    if compressed and not continued:
        first |= COMPRESSED
    return b"".join((frame_head(sum(map(len, pieces)), first), *pieces))
