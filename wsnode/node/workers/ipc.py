"""The two ends between the parent and a worker: messages in order, each with a descriptor or without."""

import contextlib
import errno
import fcntl
import os
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final, Generic, Self, TypeVar

import msgspec
import trio

from wsnode.untrusted.decoding import MalformedError, MsgpackDecoder

INLINE_BYTES: Final = 32 * 1024
"""A longer message lies in memory whose descriptor is sent instead: a socket takes some 200 KiB at once."""
RECEIVE_BYTES: Final = 2 * INLINE_BYTES
MOST_BYTES: Final = 16 << 20
"""The longest message; transactions come in parts of a megabyte."""
AT_ONCE: Final = 64
"""Messages that are received before other tasks have their turn."""
AGAIN_SECONDS: Final = 0.01
"""The pause before a message is tried again, where the socket has room and cannot take it."""
MOST_DESCRIPTORS: Final = 2
DESCRIPTOR_BYTES: Final = 4
_SPACE: Final = socket.CMSG_LEN(MOST_DESCRIPTORS * DESCRIPTOR_BYTES)
_INLINE, _IN_MEMORY = b"\x00", b"\x01"

Received = TypeVar("Received")


class PeerClosedError(Exception):
    """The process at the other end is gone."""


class UnreadableMessageError(Exception):
    """The process at the other end has sent what is no message; one line."""


class DescriptorsTruncatedError(Exception):
    """A message has arrived without its contents, because this process can open no more files."""


class IpcChannel(Generic[Received]):
    """One end; `Received` are the messages that the other one sends.

    The other process may have been taken over: what it sends is bounded, and keeps nothing open here.
    """

    def __init__(self, end: socket.socket, received: Any) -> None:
        """Take over a socket of type SOCK_SEQPACKET; `received` is the type of what arrives."""
        end.setblocking(False)
        self._end = end
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = MsgpackDecoder[Received](received).decode
        self._waiting = deque[msgspec.Struct]()
        self._has_waiting = trio.Event()
        self._received = 0
        """The messages that were received since other tasks had their turn."""

    @classmethod
    def of_descriptor(cls, descriptor: int, received: Any) -> Self:
        """Return the end that was passed to this process."""
        return cls(socket.socket(fileno=descriptor), received)

    def send_nowait(self, message: msgspec.Struct, descriptor: int | None = None) -> bool:
        """Send a message, and a copy of `descriptor`; False if there is no room for it now.

        Raises:
            PeerClosedError: The other end is gone.
        """
        if self._waiting:
            return False
        body, descriptors = self._encode(message), [] if descriptor is None else [descriptor]
        if len(body) < INLINE_BYTES:
            return self._send(_INLINE + body, descriptors)
        try:
            with _in_memory(body) as memory:
                return self._send(_IN_MEMORY, [*descriptors, memory])
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            # Files are closed again sooner or later.
            return False

    def post(self, message: msgspec.Struct) -> None:
        """Send a message now, or as soon as there is room; to nobody if the other end is gone."""
        with contextlib.suppress(PeerClosedError):
            if not self.send_nowait(message):
                self._waiting.append(message)
                self._has_waiting.set()

    def post_first(self, messages: Sequence[msgspec.Struct]) -> None:
        """Send messages before all that wait."""
        if messages:
            self._waiting.extendleft(reversed(messages))
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
                except PeerClosedError:
                    return
                if waiting:
                    self._waiting = waiting + self._waiting
                    await trio.sleep(AGAIN_SECONDS)
            self._has_waiting = trio.Event()

    async def receive(self) -> tuple[Received, int | None]:
        """Return the next message, and the descriptor that came with it if it is one that brings any.

        Raises:
            PeerClosedError: The other end is gone, and all that it has sent was received.
            UnreadableMessageError: The other end has sent what is no message.
            DescriptorsTruncatedError: A message was lost.
        """
        self._received += 1
        if self._received >= AT_ONCE:
            self._received = 0
            await trio.lowlevel.checkpoint()
        while (received := self.receive_nowait()) is None:
            self._received = 0
            await trio.lowlevel.wait_readable(self._end)
        return received

    def receive_nowait(self) -> tuple[Received, int | None] | None:
        """Return the next message, with its descriptor as `receive` does; None if there is none now.

        Raises:
            PeerClosedError: The other end is gone, and all that it has sent was received.
            UnreadableMessageError: The other end has sent what is no message.
            DescriptorsTruncatedError: A message was lost.
        """
        try:
            # `socket.recv_fds` does not pass its flags on.
            data, ancillary, flags, _address = self._end.recvmsg(
                RECEIVE_BYTES, _SPACE, socket.MSG_CMSG_CLOEXEC
            )
        except BlockingIOError:
            return None
        except OSError as error:
            raise PeerClosedError from error
        if not data:
            raise PeerClosedError
        with _closing(_descriptors(ancillary)) as descriptors:
            if data[:1] == _IN_MEMORY and not descriptors and flags & socket.MSG_CTRUNC:
                raise DescriptorsTruncatedError("a message was lost: no more files can be opened")
            message = self._read(data, descriptors)
            brings = getattr(type(message), "brings_descriptor", False)
            return message, descriptors.pop(0) if brings and descriptors else None

    def close(self) -> None:
        """Close this end."""
        if self._end.fileno() != -1:
            trio.lowlevel.notify_closing(self._end)
            self._end.close()

    def _read(self, data: bytes, descriptors: list[int]) -> Received:
        """Return the message in `data`, or in the memory whose descriptor is the last one."""
        if data[:1] == _INLINE:
            body = data[1:]
        elif data == _IN_MEMORY and descriptors:
            body = _read_memory(descriptors[-1])
        else:
            raise UnreadableMessageError("a message has neither contents nor memory")
        try:
            return self._decode(body)
        except MalformedError as error:
            raise UnreadableMessageError(error.reason) from None

    def _send(self, data: bytes, descriptors: list[int]) -> bool:
        try:
            socket.send_fds(self._end, [data], descriptors)
        except BlockingIOError:
            return False
        except OSError as error:
            if isinstance(error, BrokenPipeError | ConnectionError):
                raise PeerClosedError from error
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


@contextlib.contextmanager
def _closing(descriptors: list[int]) -> Iterator[list[int]]:
    """Close what is still in the list at the end."""
    try:
        yield descriptors
    finally:
        for each in descriptors:
            os.close(each)


def _descriptors(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    return [
        descriptor
        for level, kind, content in ancillary
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
        for descriptor in memoryview(content).cast("i")
    ]


def _read_memory(memory: int) -> bytes:
    """Return the contents of a message in memory.

    Raises:
        UnreadableMessageError: It is too long, or is no memory, which could keep its reader waiting.
    """
    try:
        # Only memory has seals (memfd_create(2)).
        fcntl.fcntl(memory, fcntl.F_GET_SEALS)
    except OSError:
        raise UnreadableMessageError("a message lies in what is no memory") from None
    size = os.fstat(memory).st_size
    if size > MOST_BYTES:
        raise UnreadableMessageError(f"a message has {size} bytes; there can be {MOST_BYTES}")
    return os.pread(memory, size, 0)


def ends() -> tuple[socket.socket, socket.socket]:
    """Return the two ends of a new pair."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
