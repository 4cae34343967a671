"""The two ends between the parent and a worker: messages in order, each with a descriptor or without."""

import contextlib
import os
import socket
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, Generic, Self, TypeVar

import msgspec
import trio

INLINE_BYTES: Final = 32 * 1024
"""A longer message lies in memory whose descriptor is sent instead: a socket takes some 200 KiB at once."""
RECEIVE_BYTES: Final = 2 * INLINE_BYTES
MOST_DESCRIPTORS: Final = 2
DESCRIPTOR_BYTES: Final = 4
_SPACE: Final = socket.CMSG_LEN(MOST_DESCRIPTORS * DESCRIPTOR_BYTES)
_INLINE, _IN_MEMORY = b"\x00", b"\x01"

Received = TypeVar("Received")


class GoneError(Exception):
    """The process at the other end is gone."""


class Pair(Generic[Received]):
    """One end; `Received` are the messages that the other one sends."""

    def __init__(self, end: socket.socket, received: Any) -> None:
        """Take over a socket of type SOCK_SEQPACKET; `received` is the type of what arrives."""
        end.setblocking(False)
        self._end = end
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(received).decode
        self._waiting = deque[msgspec.Struct]()
        self._has_waiting = trio.Event()

    @classmethod
    def of_descriptor(cls, descriptor: int, received: Any) -> Self:
        """Return the end that was passed to this process."""
        return cls(socket.socket(fileno=descriptor), received)

    def send_nowait(self, message: msgspec.Struct, descriptor: int | None = None) -> bool:
        """Send a message, and a copy of `descriptor`; False if there is no room for it now.

        Raises:
            GoneError: The other end is gone.
        """
        if self._waiting:
            return False
        body, descriptors = self._encode(message), [] if descriptor is None else [descriptor]
        if len(body) < INLINE_BYTES:
            return self._send(_INLINE + body, descriptors)
        with _in_memory(body) as memory:
            return self._send(_IN_MEMORY, [*descriptors, memory])

    def post(self, message: msgspec.Struct) -> None:
        """Send a message now, or as soon as there is room; to nobody if the other end is gone."""
        with contextlib.suppress(GoneError):
            if not self.send_nowait(message):
                self._waiting.append(message)
                self._has_waiting.set()

    @property
    def waiting(self) -> int:
        """Return how many messages wait for the other end to read."""
        return len(self._waiting)

    async def send_waiting(self) -> None:
        """Send what was posted and had no room, for ever, or until the other end is gone."""
        while True:
            await self._has_waiting.wait()
            while self._waiting:
                await trio.lowlevel.wait_writable(self._end)
                waiting, self._waiting = self._waiting, deque()
                try:
                    while waiting and self.send_nowait(waiting[0]):
                        waiting.popleft()
                except GoneError:
                    return
                self._waiting = waiting + self._waiting
            self._has_waiting = trio.Event()

    async def receive(self) -> tuple[Received, int | None]:
        """Return the next message, and the descriptor that came with it.

        Raises:
            GoneError: The other end is gone, and all that it has sent was received.
        """
        while (received := self.receive_nowait()) is None:
            await trio.lowlevel.wait_readable(self._end)
        return received

    def receive_nowait(self) -> tuple[Received, int | None] | None:
        """Return the next message, and the descriptor that came with it; None if there is none now.

        Raises:
            GoneError: The other end is gone, and all that it has sent was received.
        """
        try:
            # `socket.recv_fds` does not pass its flags on.
            data, ancillary, _flags, _address = self._end.recvmsg(
                RECEIVE_BYTES, _SPACE, socket.MSG_CMSG_CLOEXEC
            )
        except BlockingIOError:
            return None
        except OSError as error:
            raise GoneError from error
        if not data:
            raise GoneError
        descriptors = _descriptors(ancillary)
        body = data[1:] if data[:1] == _INLINE else _read(descriptors.pop())
        return self._decode(body), next(iter(descriptors), None)

    def close(self) -> None:
        """Close this end."""
        if self._end.fileno() != -1:
            trio.lowlevel.notify_closing(self._end)
            self._end.close()

    def _send(self, data: bytes, descriptors: list[int]) -> bool:
        try:
            socket.send_fds(self._end, [data], descriptors)
        except BlockingIOError:
            return False
        except OSError as error:
            if isinstance(error, BrokenPipeError | ConnectionError):
                raise GoneError from error
            # Too many descriptors are on their way, or no buffer is left: both pass.
            return False
        return True


@contextlib.contextmanager
def _in_memory(body: bytes) -> Iterator[int]:
    """Return the descriptor of memory that holds `body`, to be closed at the end."""
    memory = os.memfd_create("message", os.MFD_CLOEXEC)
    try:
        with os.fdopen(memory, "wb", closefd=False) as file:
            file.write(body)
        yield memory
    finally:
        os.close(memory)


def _descriptors(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    return [
        descriptor
        for level, kind, content in ancillary
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
        for descriptor in memoryview(content).cast("i")
    ]


def _read(memory: int) -> bytes:
    with os.fdopen(memory, "rb") as file:
        file.seek(0)
        return file.read()


def ends() -> tuple[socket.socket, socket.socket]:
    """Return the two ends of a new pair."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
