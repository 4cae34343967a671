"""JSON-RPC over a Unix socket in the way of geth's and anvil's IPC: one JSON value after another.

Each connection is relayed to a WebSocket connection to the node itself, so that methods, limits and
subscriptions are the same for all clients.
"""

import logging
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import trio
from trio_websocket import ConnectionClosed, HandshakeError, WebSocketConnection, open_websocket_url

from wsnode.jsonrpc.errors import INVALID_REQUEST, PARSE_ERROR
from wsnode.node.listen_address import ListenAddress
from wsnode.server.transport.sockets import accept_each, open_unix

READ_BYTES: Final = 64 * 1024
REPLY_BYTES: Final = 1 << 30
"""Maximum bytes of a reply, more than any method's."""
MAX_CONNECTIONS: Final = 256
_MARK: Final = re.compile(rb'[][{}"]|[^][{}"\s]')
_OUTSIDE_TEXT: Final = re.compile(rb'[][{}"]')
_INSIDE_TEXT: Final = re.compile(rb'["\\]')
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}

_ENDS: Final = (ConnectionClosed, trio.BrokenResourceError, trio.ClosedResourceError)
"""Exceptions of a connection that either side has ended."""

logger = logging.getLogger("wsnode.ipc")


class FramingError(Exception):
    """Error of a stream from a client with bytes that begin no JSON object or array, or with a value above
    the maximum number of bytes. `reply` is the JSON-RPC error to send, with `code`.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    @property
    def reply(self) -> bytes:
        error = {"code": self.code, "message": str(self)}
        return msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})


class JsonSplitter:
    """Splitter of a stream of bytes into JSON objects and arrays."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._buffer = bytearray()
        self._place, self._depth, self._is_in_text = 0, 0, False

    def feed(self, content: bytes) -> Iterator[bytes]:
        """Yield the values that end in `content`, the next part of the stream.

        Raises:
            FramingError: There are other bytes between values, or a value is too long.
        """
        self._buffer += content
        while (end := self._end()) is not None:
            self._check(end)
            value = bytes(self._buffer[:end])
            del self._buffer[:end]
            self._place = 0
            yield value.strip()
        self._check(len(self._buffer))

    def _check(self, size: int) -> None:
        if size > self._most_bytes:
            raise FramingError(INVALID_REQUEST, f"a request has more than {self._most_bytes} bytes")

    def _end(self) -> int | None:
        """Return the offset behind the first value, None if it is not complete."""
        while (found := self._form.search(self._buffer, self._place)) is not None:
            self._place = found.end()
            mark = found[0]
            if self._is_in_text:
                if mark == b"\\":
                    # The character after a backslash does not end the string, and may not have arrived yet.
                    if self._place == len(self._buffer):
                        self._place -= 1
                        return None
                    self._place += 1
                else:
                    self._is_in_text = False
            elif mark in b"[{":
                self._depth += 1
            elif not self._depth:
                raise FramingError(PARSE_ERROR, "no JSON object or array where one should begin")
            elif mark == b'"':
                self._is_in_text = True
            else:
                self._depth -= 1
                if not self._depth:
                    return self._place
        self._place = len(self._buffer)
        return None

    @property
    def _form(self) -> re.Pattern[bytes]:
        if self._is_in_text:
            return _INSIDE_TEXT
        return _OUTSIDE_TEXT if self._depth else _MARK


class Pipe:
    """Relay of JSON-RPC from a Unix socket (anvil's `--ipc`) to the node's WebSocket port. It listens
    immediately, and relays once the node accepts connections.
    """

    def __init__(self, path: Path, most_bytes: int, most_connections: int = MAX_CONNECTIONS) -> None:
        """Listen for values of up to `most_bytes` bytes, on up to `most_connections` connections at a time.

        Raises:
            OSError: The path cannot be listened on.
        """
        self._path = path
        self._most_bytes = most_bytes
        self._listener = open_unix(path)
        self._url = ""
        self._is_announced = trio.Event()
        self._places = trio.Semaphore(most_connections)

    def announcing(self, announce: Callable[[ListenAddress], object]) -> Callable[[ListenAddress], None]:
        """Return a function that calls `announce`, and begins to relay connections to the address."""

        def tell(address: ListenAddress) -> None:
            self._url = f"ws://{address._replace(host=_EVERYWHERE.get(address.host, address.host))}/"
            self._is_announced.set()
            announce(address)

        return tell

    async def run(self) -> None:
        """Pass on requests and replies of all connections, for ever."""
        await self._is_announced.wait()
        async with trio.open_nursery() as nursery:

            async def take(connected: socket.socket, _address: Any) -> None:
                connected.setblocking(False)
                stream = trio.SocketStream(trio.socket.from_stdlib_socket(connected))
                nursery.start_soon(self._serve, stream)
                # The next connection stays in the listener's queue until a place is free.
                await self._places.acquire()

            await self._places.acquire()
            # `accept_each` logs failures itself, so the callback does nothing.
            await accept_each(self._listener, take, logger, lambda: None)

    def close(self) -> None:
        self._listener.close()
        with suppress(OSError):
            self._path.unlink()

    async def _serve(self, stream: trio.SocketStream) -> None:
        try:
            async with stream:
                # The relay's tasks suppress the ends of their connections themselves. Its nursery would raise
                # them as a group, which `suppress` lets pass.
                with suppress(HandshakeError):
                    await self._relay(stream)
        finally:
            self._places.release()

    async def _relay(self, stream: trio.SocketStream) -> None:
        """Pass requests and replies until either side ends.

        Raises:
            HandshakeError: The node refuses the connection.
        """
        replies = _Replies(stream)
        async with (
            open_websocket_url(
                self._url, max_message_size=REPLY_BYTES, receive_buffer_size=READ_BYTES
            ) as link,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(_pass_replies, link, replies, nursery.cancel_scope)
            with suppress(*_ENDS):
                await self._pass_requests(stream, link, replies)
            nursery.cancel_scope.cancel()

    async def _pass_requests(
        self, stream: trio.SocketStream, link: WebSocketConnection, replies: "_Replies"
    ) -> None:
        values = JsonSplitter(self._most_bytes)
        try:
            async for content in stream:
                for value in values.feed(bytes(content)):
                    await link.send_message(value.decode())
        except FramingError as error:
            await replies.send(error.reply)
        except UnicodeDecodeError:
            await replies.send(FramingError(PARSE_ERROR, "a request is no UTF-8").reply)


class _Replies:
    """Writer of replies to one connection of the socket, one a line, for several tasks at a time."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._turn = trio.Lock()

    async def send(self, reply: bytes) -> None:
        async with self._turn:
            await self._stream.send_all(reply + b"\n")


async def _pass_replies(link: WebSocketConnection, replies: _Replies, scope: trio.CancelScope) -> None:
    with suppress(*_ENDS):
        while True:
            message = await link.get_message()
            await replies.send(message.encode() if isinstance(message, str) else message)
    scope.cancel()
