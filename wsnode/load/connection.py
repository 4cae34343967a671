"""One WebSocket connection on a plain socket that never blocks."""

import base64
import os
import select
import socket
import ssl
import time
from urllib.parse import SplitResult, urlsplit

from wsnode.load.frames import PONG, MessageReader, masked_frame

RECEIVE_BYTES = 256 * 1024
CONNECT_SECONDS = 10.0


class Connection:
    """Sends frames made beforehand and returns whole messages."""

    def __init__(self, url: str) -> None:
        self.socket = connect(urlsplit(url))
        self._reader = MessageReader()
        self._unsent = memoryview(b"")

    def send(self, frames: bytes) -> None:
        """Send frames, or as much of them as goes now; the rest is sent when more is received."""
        self._unsent = memoryview(bytes(self._unsent) + frames)
        self.flush()

    def flush(self) -> None:
        """Send what could not be sent."""
        if self._unsent:
            try:
                self._unsent = self._unsent[self.socket.send(self._unsent) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                return

    def receive(self) -> list[bytes]:
        """Send the waiting bytes, and return the messages completed by the arrived bytes.

        Raises:
            ConnectionError: The node closed the connection.
        """
        self.flush()
        try:
            received = self.socket.recv(RECEIVE_BYTES)
            # A TLS record that is already decrypted wakes no task.
            while isinstance(self.socket, ssl.SSLSocket) and self.socket.pending():
                received += self.socket.recv(RECEIVE_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            return []
        if not received:
            raise ConnectionError("the node closed the connection")
        messages = list(self._reader.feed(received))
        while self._reader.pings:
            self.send(masked_frame(self._reader.pings.pop(), PONG))
        return messages

    def wait_message(self, seconds: float) -> bytes:
        """Return the next message.

        Raises:
            ConnectionError: There is none within `seconds`.
        """
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            select.select([self.socket], [self.socket] if self._unsent else [], [], left)
            if messages := self.receive():
                return messages[0]
        raise ConnectionError(f"no reply in {seconds:g} s")

    def close(self) -> None:
        """End it without a word."""
        self.socket.close()


def connect(url: SplitResult) -> socket.socket:
    """Return an open WebSocket connection, past its handshake.

    Raises:
        ConnectionError: The node refused it.
    """
    secure = url.scheme == "wss"
    host, port = url.hostname or "localhost", url.port or (443 if secure else 80)
    try:
        connected = socket.create_connection((host, port), CONNECT_SECONDS)
    except OSError as error:
        raise ConnectionError(f"{shown(url)}: {error.strerror or error}") from error
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if secure:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connected = context.wrap_socket(connected, server_hostname=host)
    _shake_hands(connected, url)
    connected.setblocking(False)
    return connected


def _shake_hands(connected: socket.socket, url: SplitResult) -> None:
    key = base64.b64encode(os.urandom(16)).decode()
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    connected.sendall(
        f"GET {target} HTTP/1.1\r\nHost: {url.netloc.rpartition('@')[2]}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    answer = b""
    while b"\r\n\r\n" not in answer:
        # Byte by byte, so that nothing behind the handshake is taken.
        if not (byte := connected.recv(1)):
            break
        answer += byte
    if b" 101 " not in answer.partition(b"\r\n")[0] + b" ":
        connected.close()
        line = answer.partition(b"\r\n")[0].decode(errors="replace")
        raise ConnectionError(f"{shown(url)}: no WebSocket: {line or 'no answer'}")


def shown(url: SplitResult) -> str:
    """Return the printable part of a URL: its path and its user part may hold keys."""
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}"
