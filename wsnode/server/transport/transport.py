"""Bytes of a connection, from a socket directly or from any trio stream.

The socket is used without trio's stream on top: the wait for bytes is the only checkpoint of a burst, which
saves two passes through the scheduler a request (measured: a third of the time at 1x1).
"""

import contextlib
import socket
from collections.abc import Coroutine, Iterable, Iterator
from typing import Any, Protocol

import trio

from wsnode._native.wire import send_now
from wsnode.server.transport.poller import RECEIVE_BYTES, FastConnection, Peer, Reactor, RecvSocket, Take

PARCEL_BYTES = 64 * 1024
"""Bytes that are sent in one call, or compressed without letting other threads run."""
SHORT_BYTES = 64 * 1024
"""Bytes that are sent without letting other threads run.

Beside a busy thread the loop would wait a millisecond to continue, and the copy takes 0.02 ms.
"""


def coalesce(pieces: Iterable[bytes], most: int = PARCEL_BYTES) -> Iterator[bytes | memoryview]:
    """Yield the bytes of `pieces` in parcels of `most` bytes.

    Only the beginning of a large piece is copied; its rest is yielded as a view, however large.
    """
    together: list[bytes | memoryview] = []
    size = 0
    for piece in pieces:
        rest = memoryview(piece)
        if together:
            together.append(rest[: most - size])
            size += len(together[-1])
            if size < most:
                continue
            rest = rest[len(together[-1]) :]
            yield b"".join(together)
            together, size = [], 0
        if len(rest) >= most:
            yield rest
        elif rest:
            together, size = [rest], len(rest)
    if together:
        yield b"".join(together)


class Transport(Protocol):
    """Byte stream of one connection, read and written with or without waiting; for sockets, TLS, and any
    stream of trio.
    """

    @property
    def ready(self) -> int:
        """Return the number of connections with unread bytes, this one included, as far as is known."""
        ...

    async def receive(self) -> bytes:
        """Return the bytes that have arrived, none when the other side has ended or disconnected."""
        ...

    def receive_nowait(self) -> bytes | None:
        """Return the bytes that have arrived, None if none have, empty at the end.

        No task may wait for bytes.
        """
        ...

    def feed_nowait(self) -> bool:
        """Pass arrived bytes to a task waiting in `feed`, if there is one.

        Returns True if more bytes may be left.
        """
        ...

    async def feed(self, take: Take, peer: Peer = None, plain: FastConnection | None = None) -> bool:
        """Pass arrived bytes to `take` until it returns False.

        Returns False if the other side has ended or disconnected. Transports with unread bytes take turns by
        `peer`. `take` may not get calls that the engine answers for `plain`.
        """
        ...

    def wake(self) -> None:
        """Make `feed` return True soon, if it waits."""
        ...

    def send_nowait(self, data: bytes | memoryview) -> int:
        """Send as many bytes as possible without waiting, and return their number.

        Raises:
            trio.BrokenResourceError: The other side has disconnected.
        """
        ...

    async def send_some(self, data: memoryview) -> int:
        """Wait until bytes can be sent, and return the number of bytes sent.

        Raises:
            trio.BrokenResourceError: The other side has disconnected.
        """
        ...

    async def send_eof(self) -> None: ...

    async def aclose(self) -> None:
        """Close the connection without waiting."""
        ...


class SocketTransport:
    """Transport over a non-blocking stream socket, which a `Reactor` reads."""

    __slots__ = ("_peer", "_reactor", "_readable", "_socket")
    _full = RECEIVE_BYTES
    """Size of a read in bytes from which more may be left."""

    def __init__(
        self,
        connected: socket.socket,
        reactor: Reactor,
        peer: Peer = None,
        readable: RecvSocket | None = None,
    ) -> None:
        """Take over a socket of `peer`; `readable` decrypts its bytes, None if they are plain."""
        self._socket = connected
        self._readable = readable or connected
        self._reactor = reactor
        self._peer = peer
        connected.setblocking(False)
        if connected.family in (socket.AF_INET, socket.AF_INET6):
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def ready(self) -> int:
        return self._reactor.ready

    async def receive(self) -> bytes:
        """Return the bytes that have arrived, none when the other side has ended or disconnected.

        Tasks whose bytes arrive together continue a few at a time, because thousands would block the others.
        """
        arrived = list[bytes]()

        def take(data: bytes) -> bool:
            arrived.append(data)
            return False

        await self._reactor.feed(self._readable, take, self._peer, full=self._full)
        return arrived[0] if arrived else b""

    def receive_nowait(self) -> bytes | None:
        return self._reactor.receive_nowait(self._readable)

    def feed_nowait(self) -> bool:
        return self._reactor.feed_nowait(self._socket.fileno())

    def feed(
        self, take: Take, peer: Peer = None, plain: FastConnection | None = None
    ) -> Coroutine[Any, Any, bool]:
        # Nearly every connection waits here. An `async def` would add a frame of 300 bytes for each, so the
        # reactor's coroutine is returned.
        return self._reactor.feed(self._socket, take, peer, plain)

    def wake(self) -> None:
        self._reactor.wake(self._socket.fileno())

    def send_nowait(self, data: bytes | memoryview) -> int:
        try:
            if type(data) is bytes and len(data) <= SHORT_BYTES:
                return send_now(self._socket.fileno(), data)
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise trio.BrokenResourceError from error

    async def send_some(self, data: memoryview) -> int:
        try:
            await self._wait_to_send()
        except (OSError, ValueError, trio.ClosedResourceError) as error:
            raise trio.BrokenResourceError from error
        return self.send_nowait(data)

    async def _wait_to_send(self) -> None:
        await trio.lowlevel.wait_writable(self._socket)

    async def send_eof(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        if self._socket.fileno() != -1:
            self._reactor.forget(self._socket.fileno())
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()


class StreamTransport:
    """Transport over any stream of trio, which can be read and written by waiting only."""

    __slots__ = ("_feeding", "_stream")

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._feeding = trio.CancelScope()

    @property
    def ready(self) -> int:
        return 1

    async def receive(self) -> bytes:
        try:
            return bytes(await self._stream.receive_some(RECEIVE_BYTES))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return b""

    def receive_nowait(self) -> None:
        return

    def feed_nowait(self) -> bool:
        return False

    async def feed(self, take: Take, peer: Peer = None, plain: FastConnection | None = None) -> bool:
        with trio.CancelScope() as self._feeding:
            while data := await self.receive():
                if not take(data):
                    return True
        return self._feeding.cancelled_caught

    def wake(self) -> None:
        self._feeding.cancel()

    def send_nowait(self, data: bytes | memoryview) -> int:
        return 0

    async def send_some(self, data: memoryview) -> int:
        """Send a slice of `data`, and return its length."""
        part = bytes(data[:RECEIVE_BYTES])
        try:
            await self._stream.send_all(part)
        except trio.ClosedResourceError as error:
            raise trio.BrokenResourceError from error
        return len(part)

    async def send_eof(self) -> None:
        if isinstance(self._stream, trio.abc.HalfCloseableStream):
            with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await self._stream.send_eof()

    async def aclose(self) -> None:
        await trio.aclose_forcefully(self._stream)


async def receive_within(transport: Transport, scope: trio.CancelScope) -> bytes | None:
    """Return bytes that arrive before the deadline of `scope`, empty at the end, None if none did.

    While the loop is busy, bytes that came in time lie unread. So a deadline takes effect only after a last
    read.
    """
    with scope:
        return await transport.receive()
    return transport.receive_nowait() if trio.current_time() >= scope.deadline else None


async def receive_by(transport: Transport, deadline: float) -> bytes | None:
    """Return bytes that arrive by `deadline` on trio's clock, empty at the end, None if none did."""
    return await receive_within(transport, trio.CancelScope(deadline=deadline))


async def send_all(transport: Transport, data: bytes | memoryview, seconds: float) -> None:
    """Send all of `data`; the client must accept some bytes at least every `seconds`.

    Raises:
        trio.BrokenResourceError: The other side has disconnected, or does not read.
    """
    rest = memoryview(data)[transport.send_nowait(data) :]
    while rest:
        sent = 0
        with trio.move_on_after(seconds) as scope:
            while not sent:
                sent = await transport.send_some(rest)
        rest = rest[sent:]
        if scope.cancelled_caught:
            raise trio.BrokenResourceError("the client does not read")


async def linger(transport: Transport, seconds: float) -> None:
    """End the sending half of the connection, and wait for the other side to end its own, at most `seconds`.

    A socket closed with unread bytes resets the connection, which may discard the last bytes sent.
    """
    with trio.move_on_after(seconds):
        await transport.send_eof()
        while await transport.receive():
            pass


async def say(transport: Transport, data: bytes, *, seconds: float, last: bool = True) -> bool:
    """Send `data`, and wait for the other side to end if `last`.

    Returns False if the client has disconnected.
    """
    try:
        await send_all(transport, data, seconds)
    except trio.BrokenResourceError:
        return False
    if last:
        await linger(transport, seconds)
    return True
