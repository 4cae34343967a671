"""A proxy before a WebSocket server that can stop reading, as a client does whose process is busy."""

import socket
import threading
from contextlib import suppress
from typing import Self

from websockets.uri import parse_uri

_RECEIVE_BYTES = 64 * 1024


class Proxy:
    """Connects every client to one server, without compression: what waits is what was sent."""

    def __init__(self, url: str) -> None:
        uri = parse_uri(url)
        self._server = uri.host, uri.port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._reading = threading.Event()
        self._reading.set()
        self._sockets: list[socket.socket] = [self._listener]
        self._is_over = False
        self._lock = threading.Lock()
        self.url = f"ws://127.0.0.1:{self._listener.getsockname()[1]}{uri.resource_name}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_error: object) -> None:
        self._reading.set()
        with self._lock:
            self._is_over = True
            for each in self._sockets:
                _end(each)

    def pause(self) -> None:
        """Hand nothing more of the server's on; what was taken already waits with the rest."""
        self._reading.clear()

    def go_on(self) -> None:
        """Take everything again."""
        self._reading.set()

    def _keep(self, connection: socket.socket) -> None:
        """Have a socket closed in the end, or at once behind it: a client may come just then."""
        with self._lock:
            self._sockets.append(connection)
            if self._is_over:
                _end(connection)

    def _start(self, function: object, *arguments: object) -> None:
        threading.Thread(target=function, args=arguments, daemon=True).start()  # type: ignore[arg-type]

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                self._keep(client)
                self._start(self._connect, client)

    def _connect(self, client: socket.socket) -> None:
        server = socket.socket()
        # So that what is not read waits in the server and not in the kernel.
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        self._keep(server)
        try:
            # A client that is let down has been read, so that it sees an end and no reset.
            head = _head(client)
            server.connect(self._server)
            server.sendall(_without_extensions(head))
        except OSError:
            client.close()
            return
        self._start(_pump, client, server, _always())
        _pump(server, client, self._reading)


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _head(client: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head and (data := client.recv(_RECEIVE_BYTES)):
        head += data
    return head


def _without_extensions(head: bytes) -> bytes:
    lines = head.split(b"\r\n")
    return b"\r\n".join(line for line in lines if not line.lower().startswith(b"sec-websocket-extensions:"))


def _pump(source: socket.socket, target: socket.socket, reading: threading.Event) -> None:
    with suppress(OSError):
        while True:
            reading.wait()
            if not (data := source.recv(_RECEIVE_BYTES)):
                break
            # It may have been waiting for this when it was told to pause.
            reading.wait()
            target.sendall(data)
    # A peer that ends with something unread resets the connection, which is an end as well.
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _always() -> threading.Event:
    event = threading.Event()
    event.set()
    return event
