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
        self.url = f"ws://127.0.0.1:{self._listener.getsockname()[1]}{uri.resource_name}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_error: object) -> None:
        self._reading.set()
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def pause(self) -> None:
        """Take nothing more from the server."""
        self._reading.clear()

    def go_on(self) -> None:
        """Take everything again."""
        self._reading.set()

    def _start(self, function: object, *arguments: object) -> None:
        threading.Thread(target=function, args=arguments, daemon=True).start()  # type: ignore[arg-type]

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                self._sockets.append(client)
                self._start(self._connect, client)

    def _connect(self, client: socket.socket) -> None:
        server = socket.socket()
        # So that what is not read waits in the server and not in the kernel.
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        self._sockets.append(server)
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
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def _always() -> threading.Event:
    event = threading.Event()
    event.set()
    return event
