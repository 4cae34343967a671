"""Connection of a storm: from its first packet over its handshake to its first answer."""

import enum
import errno
import os
import selectors
import socket
import ssl
import time
from typing import Final

from wsnode.load.connection import handshake, is_accepted, trusting_context
from wsnode.load.frames import PONG, ReplyReader, error_text, masked_frame, outcome, request_frame
from wsnode.upstream.address import UpstreamAddress

METHOD: Final = "eth_blockNumber"
RECEIVE_BYTES: Final = 16 * 1024
MAX_ANSWER: Final = 64 * 1024
"""Maximum number of bytes of the answer to a handshake, up to its empty line."""


class FailedError(Exception):
    """Error of a connection of a storm; equal failures have equal messages, by which they are counted."""


class OpeningStage(enum.Enum):
    """Stage of opening a connection; the value is the failure counted for a connection that ends in this
    stage.
    """

    CONNECTING = "not connected"
    ENCRYPTING = "not encrypted"
    SHAKING_HANDS = "no answer to the handshake"
    ASKING = "no answer to the first call"
    HELD = "no answer to the last call"


class StormTarget:
    """Address of the node under a connection storm, resolved once for all connections."""

    def __init__(self, url: str) -> None:
        self.address = UpstreamAddress.parse(url)
        try:
            found = socket.getaddrinfo(self.address.host, self.address.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise ConnectionError(f"{self.address}: {error.strerror or error}") from error
        self.family, self.place = found[0][0], found[0][4]
        self.context = trusting_context() if self.address.is_encrypted else None


class Opening:
    """Connection of a storm, from its TCP connect to the answers to its calls; a selector's events drive it
    without waiting.
    """

    def __init__(self, target: StormTarget) -> None:
        self.stage = OpeningStage.CONNECTING
        self.began = time.perf_counter()
        self.opened: float | None = None
        """Time at which the handshake was answered, None before."""
        self.asked = 0.0
        self.answered: float | None = None
        """Time at which the last call was answered, None before."""
        self._target = target
        self._received = b""
        self._unsent = b""
        self._reader = ReplyReader()
        self.socket = socket.socket(target.family, socket.SOCK_STREAM)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        status = self.socket.connect_ex(target.place)
        if status not in (0, errno.EINPROGRESS):
            self.socket.close()
            raise FailedError(os.strerror(status))

    @property
    def events(self) -> int:
        """Return the mask of `selectors` events for which the connection waits."""
        writes = self.stage in (OpeningStage.CONNECTING, OpeningStage.ENCRYPTING) or self._unsent
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if writes else 0)

    def go_on(self) -> None:
        """Connect, encrypt, shake hands, send and receive as far as the socket allows.

        Raises:
            FailedError: The connection failed.
        """
        try:
            self._go_on()
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError as error:
            raise FailedError(error.strerror or str(error)) from error

    def ask(self) -> None:
        """Send the call once more.

        Raises:
            FailedError: The connection failed.
        """
        self.asked, self.answered = time.perf_counter(), None
        self._unsent += request_frame(1, METHOD)
        self.go_on()

    def _go_on(self) -> None:
        if self.stage is OpeningStage.CONNECTING:
            self._connect()
        if self.stage is OpeningStage.ENCRYPTING and isinstance(self.socket, ssl.SSLSocket):
            self.socket.do_handshake()
            self._shake_hands()
        self._flush()
        if self.stage in (OpeningStage.SHAKING_HANDS, OpeningStage.ASKING, OpeningStage.HELD):
            self._receive()
        self._flush()

    def _connect(self) -> None:
        if status := self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise FailedError(os.strerror(status))
        # Without an error it is connected, or still on the way.
        self.socket.getpeername()
        if self._target.context is None:
            self._shake_hands()
            return
        name = self._target.address.host
        self.socket = self._target.context.wrap_socket(
            self.socket, server_hostname=name, do_handshake_on_connect=False
        )
        self.stage = OpeningStage.ENCRYPTING

    def _shake_hands(self) -> None:
        self._unsent = handshake(self._target.address)
        self.stage = OpeningStage.SHAKING_HANDS

    def _flush(self) -> None:
        if self._unsent:
            self._unsent = self._unsent[self.socket.send(self._unsent) :]

    def _receive(self) -> None:
        while received := self.socket.recv(RECEIVE_BYTES):
            if self.stage is OpeningStage.SHAKING_HANDS:
                received = self._read_answer(received)
            self._read(received)
        raise FailedError(f"closed by the node: {self.stage.value}")

    def _read_answer(self, received: bytes) -> bytes:
        """Return the bytes after the answer to the handshake."""
        self._received += received
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if not end:
            if len(head) > MAX_ANSWER:
                raise FailedError(f"the answer to the handshake has no end within {MAX_ANSWER} bytes")
            return b""
        line = head.partition(b"\r\n")[0]
        if not is_accepted(line):
            raise FailedError(f"refused: {line[:80].decode(errors='replace')}")
        self.opened, self.stage = time.perf_counter(), OpeningStage.ASKING
        self.asked = self.opened
        self._unsent += request_frame(1, METHOD)
        return rest

    def _read(self, received: bytes) -> None:
        try:
            for message in self._reader.feed(received):
                self._take(message)
        except ConnectionError as error:
            raise FailedError(str(error)) from error
        while self._reader.pings:
            self._unsent += masked_frame(self._reader.pings.pop(), PONG)

    def _take(self, message: bytes) -> None:
        identity, is_error = outcome(message)
        if identity != 1 or self.answered is not None:
            return
        if is_error:
            raise FailedError(f"the call was refused: {error_text(message)}")
        self.answered, self.stage = time.perf_counter(), OpeningStage.HELD
