"""Connection on a socket that never blocks: WebSocket, or HTTP with a request at a time."""

import base64
import os
import select
import socket
import ssl
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import h11

from wsnode.load.frames import PONG, ReplyReader, masked_frame, request_text
from wsnode.upstream.address import UpstreamAddress

RECEIVE_BYTES = 256 * 1024
CONNECT_SECONDS = 10.0

Encode: TypeAlias = Callable[[int, str, Sequence[object]], bytes]
"""Function that returns the bytes of a request with this id, method and parameters."""

STAMPED_BYTES: Final = 16 * 1024
"""Maximum number of bytes of one read with a time: all messages in them get the time of the last byte."""
TIMESTAMP: Final = 35
"""SO_TIMESTAMPNS of Linux: an option, and the kind of the ancillary data."""
STAMP: Final = struct.Struct("=2q")
"""Format of a time of arrival: seconds since 1970, and nanoseconds."""


class LoadConnection:
    """WebSocket connection that sends prepared frames and returns whole messages."""

    def __init__(self, url: str) -> None:
        self.socket = connect(url)
        self._reader = ReplyReader()
        self._unsent = memoryview(b"")
        self._goodbye: ConnectionError | None = None

    def send(self, frames: bytes) -> None:
        """Send frames, or as much of them as goes now; the rest is sent when more is received."""
        self._unsent = memoryview(bytes(self._unsent) + frames)
        self.flush()

    def flush(self) -> None:
        """Send the waiting bytes.

        Raises:
            ConnectionError: The node sent a close frame after the last messages.
        """
        if self._goodbye is not None:
            raise self._goodbye
        if self._unsent:
            try:
                self._unsent = self._unsent[self.socket.send(self._unsent) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                return
            except ConnectionError:
                # The reason why the node closed the connection may still wait to be read, so `receive`
                # reports it.
                self._unsent = memoryview(b"")

    def receive(self) -> list[bytes]:
        """Send the waiting bytes, and return the messages completed by the arrived bytes.

        Raises:
            ConnectionError: The node closed the connection.
        """
        self.flush()
        try:
            received = self.socket.recv(RECEIVE_BYTES)
            # `select` does not report bytes of a TLS record that is already decrypted, so all of them are
            # read now.
            while isinstance(self.socket, ssl.SSLSocket) and self.socket.pending():
                received += self.socket.recv(RECEIVE_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            return []
        if not received:
            raise ConnectionError("the node closed the connection")
        return self._read(received)

    def _read(self, received: bytes) -> list[bytes]:
        messages = list[bytes]()
        try:
            for message in self._reader.feed(received):
                messages.append(message)
        except ConnectionError as error:
            if not messages:
                raise
            self._goodbye = error
            return messages
        while self._reader.pings:
            self.send(masked_frame(self._reader.pings.pop(), PONG))
        return messages

    def wait_message(self, seconds: float) -> bytes:
        """Return the next message.

        Raises:
            ConnectionError: No message comes within `seconds`.
        """
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            select.select([self.socket], [self.socket] if self._unsent else [], [], left)
            if messages := self.receive():
                return messages[0]
        raise ConnectionError(f"no reply in {seconds:g} s")

    def close(self) -> None:
        """Close the socket without a close frame."""
        self.socket.close()


class LoadHttpConnection(LoadConnection):
    """Connection for POST requests over HTTP, kept alive: each is sent after the reply to the one before."""

    def __init__(self, url: str) -> None:
        self.socket = _connect(UpstreamAddress.parse(url))
        self.socket.setblocking(False)
        self._unsent = memoryview(b"")
        self._goodbye = None
        self._queue = deque[bytes]()
        self._is_waiting = False
        self._begin()

    def send(self, frames: bytes) -> None:
        """Send a request, now or once those before it are answered."""
        self._queue.append(frames)
        self._send_next()

    def _send_next(self) -> None:
        if self._queue and not self._is_waiting:
            self._is_waiting = True
            super().send(self._queue.popleft())

    def _begin(self) -> None:
        # The parser reads only replies, so it gets a stand-in for the request, which is sent without it.
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=RECEIVE_BYTES)
        self._parser.send(h11.Request(method="POST", target="/", headers=[("Host", "node")]))
        self._parser.send(h11.EndOfMessage())
        self._body = bytearray()

    def _read(self, received: bytes) -> list[bytes]:
        self._parser.receive_data(received)
        try:
            while (event := self._parser.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.Data):
                    self._body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    message = bytes(self._body)
                    self._begin()
                    self._is_waiting = False
                    self._send_next()
                    return [message]
        except h11.RemoteProtocolError as error:
            raise ConnectionError(f"the node's answer is not HTTP: {error}") from error
        return []


def open_connection(url: str) -> LoadConnection:
    """Return a connection of the kind that a URL's scheme names.

    Raises:
        ConnectionError: The node refused it.
    """
    return LoadHttpConnection(url) if url.startswith("http") else LoadConnection(url)


def encoder(url: str) -> Encode:
    """Return an encoder of requests for a URL, whose bytes are for `send`."""
    frame = framer(url)
    return lambda identity, method, params: frame(request_text(identity, method, params))


def framer(url: str) -> Callable[[bytes], bytes]:
    """Return a function that frames a JSON text for `send`, by the URL's scheme."""
    return _http_framer(UpstreamAddress.parse(url)) if url.startswith("http") else masked_frame


def _http_framer(address: UpstreamAddress) -> Callable[[bytes], bytes]:
    head = f"POST {address.resource} HTTP/1.1\r\n{_headers(address)}Content-Type: application/json\r\n"
    return lambda body: f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def connect(url: str) -> socket.socket:
    """Return an open WebSocket connection, past its handshake.

    Raises:
        ConnectionError: The node refused it.
    """
    address = UpstreamAddress.parse(url)
    connected = _connect(address)
    _shake_hands(connected, address)
    connected.setblocking(False)
    return connected


def _connect(address: UpstreamAddress) -> socket.socket:
    try:
        connected = socket.create_connection((address.host, address.port), CONNECT_SECONDS)
    except OSError as error:
        raise ConnectionError(f"{address}: {error.strerror or error}") from error
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if address.is_encrypted:
        connected = trusting_context().wrap_socket(connected, server_hostname=address.host)
    return connected


def trusting_context() -> ssl.SSLContext:
    """Return a TLS context that checks no certificates: a measured node need not be known."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _shake_hands(connected: socket.socket, address: UpstreamAddress) -> None:
    connected.sendall(handshake(address))
    answer = b""
    while b"\r\n\r\n" not in answer:
        # Byte by byte, so that nothing behind the handshake is taken.
        if not (byte := connected.recv(1)):
            break
        answer += byte
    line = answer.partition(b"\r\n")[0]
    if not is_accepted(line):
        connected.close()
        raise ConnectionError(
            f"{address}: no WebSocket connection: {line.decode(errors='replace') or 'no answer'}"
        )


def handshake(address: UpstreamAddress) -> bytes:
    """Return the request that opens a WebSocket connection."""
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET {address.resource} HTTP/1.1\r\n{_headers(address)}"
        "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def is_accepted(line: bytes) -> bool:
    """Return True if this first line of an answer opens the connection."""
    return b" 101 " in line + b" "


def _headers(address: UpstreamAddress) -> str:
    user = "" if address.authorization is None else f"Authorization: {address.authorization}\r\n"
    return f"Host: {address.host_header}\r\n{user}"


class TimestampedConnection(LoadConnection):
    """Connection that returns messages with their times of arrival. On Linux without TLS these are the
    kernel's, however late this process reads, elsewhere the times of reading.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url)
        # Without the kernel's timestamps, or with TLS, the time of arrival is the time of reading.
        self._is_stamped = sys.platform == "linux" and not isinstance(self.socket, ssl.SSLSocket)
        if self._is_stamped:
            self.socket.setsockopt(socket.SOL_SOCKET, TIMESTAMP, 1)

    def receive_stamped(self) -> tuple[list[bytes], float]:
        """Return the completed messages, and the time of their arrival in seconds since 1970.

        Raises:
            ConnectionError: The node closed the connection.
        """
        if not self._is_stamped:
            return self.receive(), time.time()
        self.flush()
        try:
            received, stamps, _flags, _address = self.socket.recvmsg(STAMPED_BYTES, 64)
        except BlockingIOError:
            return [], time.time()
        if not received:
            raise ConnectionError("the node closed the connection")
        return self._read(received), _time_of(stamps)


def _time_of(stamps: list[tuple[int, int, bytes]]) -> float:
    for level, kind, content in stamps:
        if (level, kind) == (socket.SOL_SOCKET, TIMESTAMP):
            seconds, nanoseconds = STAMP.unpack(content[: STAMP.size])
            return float(seconds + nanoseconds / 1e9)
    return time.time()
