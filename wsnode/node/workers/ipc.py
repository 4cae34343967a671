"""Channel between the master and a worker, and requests over it.

Messages arrive in order, each with or without a file descriptor.
"""

import contextlib
import errno
import fcntl
import os
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Generic, Self, TypeVar

import msgspec
import trio

from wsnode.untrusted.decoding import MalformedError, MsgpackDecoder

INLINE_BYTES: Final = 32 * 1024
"""Bytes from which a message is sent as the descriptor of a memory file.

A socket accepts some 200 KiB in one call.
"""
RECEIVE_BYTES: Final = 2 * INLINE_BYTES
MAX_BYTES: Final = 16 << 20
"""Maximum bytes of a message; transactions are sent in parts of a megabyte."""
AT_ONCE: Final = 64
"""Messages that are received before other tasks get a turn."""
AGAIN_SECONDS: Final = 0.01
"""Pause in seconds after the socket had room and refused a message."""
MAX_DESCRIPTORS: Final = 2
DESCRIPTOR_BYTES: Final = 4
_SPACE: Final = socket.CMSG_LEN(MAX_DESCRIPTORS * DESCRIPTOR_BYTES)
_INLINE, _IN_MEMORY = b"\x00", b"\x01"

Received = TypeVar("Received")


class PeerClosedError(Exception):
    """Error of a channel whose other process has ended."""


class UnreadableMessageError(Exception):
    """Error of data that is no message of the other process."""


class DescriptorsTruncatedError(Exception):
    """Error of an IPC message that was lost: its contents came in a file, and this process can open no more
    files.
    """


class IpcChannel(Generic[Received]):
    """One end of a message channel between the master and another process of the node; `Received` is the type
    of the messages from the other end. An attacker may control the other process: its messages are bounded,
    and keep no file open here.
    """

    def __init__(self, end: socket.socket, received: Any) -> None:
        """Take over a socket of type SOCK_SEQPACKET; `received` is the type of the messages that arrive."""
        end.setblocking(False)
        self._end = end
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = MsgpackDecoder[Received](received).decode
        self._waiting = deque[msgspec.Struct]()
        self._has_waiting = trio.Event()
        self._received = 0
        """Messages that were received since other tasks had a turn."""

    @classmethod
    def of_descriptor(cls, descriptor: int, received: Any) -> Self:
        """Return the end whose descriptor this process has inherited."""
        return cls(socket.socket(fileno=descriptor), received)

    def send_nowait(self, message: msgspec.Struct, descriptor: int | None = None) -> bool:
        """Send a message, and a copy of `descriptor`; return False if there is no room for it now.

        Raises:
            PeerClosedError: The other process has ended.
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
            # Too many files are open. Some will be closed sooner or later, so the message can be sent again
            # then.
            return False

    def post(self, message: msgspec.Struct) -> None:
        """Send a message now, or as soon as there is room; drop it if the other process has ended."""
        with contextlib.suppress(PeerClosedError):
            if not self.send_nowait(message):
                self._waiting.append(message)
                self._has_waiting.set()

    def post_first(self, messages: Sequence[msgspec.Struct]) -> None:
        """Queue messages before all waiting ones."""
        if messages:
            self._waiting.extendleft(reversed(messages))
            self._has_waiting.set()

    @property
    def waiting(self) -> int:
        """Return the number of messages that wait for room in the socket."""
        return len(self._waiting)

    async def send_waiting(self) -> None:
        """Send queued messages, for ever, or until the other process has ended."""
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
        """Return the next message and its descriptor, None if its type has none.

        Raises:
            PeerClosedError: The other process has ended, and all its messages were received.
            UnreadableMessageError: The data is no message.
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
        """Return the next message and its descriptor as `receive` does, None if none has arrived.

        Raises:
            PeerClosedError: The other process has ended, and all its messages were received.
            UnreadableMessageError: The data is no message.
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
        if self._end.fileno() != -1:
            trio.lowlevel.notify_closing(self._end)
            self._end.close()

    def _read(self, data: bytes, descriptors: list[int]) -> Received:
        """Return the message in `data`, or in the memory file of the last descriptor."""
        if data[:1] == _INLINE:
            body = data[1:]
        elif data == _IN_MEMORY and descriptors:
            body = _read_memory(descriptors[-1])
        else:
            raise UnreadableMessageError("a message has neither inline contents nor a memory file")
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
            # Too many descriptors are in transit, or no buffer is left. Both conditions pass, so the message
            # can be sent again later.
            return False
        return True


@contextlib.contextmanager
def _in_memory(body: bytes) -> Iterator[int]:
    """Yield the descriptor of a memory file that holds `body`; close it at the end."""
    memory = os.memfd_create("message", os.MFD_CLOEXEC)
    try:
        with os.fdopen(memory, "wb", closefd=False) as file:
            file.write(body)
        yield memory
    finally:
        os.close(memory)


@contextlib.contextmanager
def _closing(descriptors: list[int]) -> Iterator[list[int]]:
    """Close the descriptors that are in the list at the end of the block."""
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
    """Return the contents of a message in a memory file.

    Raises:
        UnreadableMessageError: The message is too long, or the file is another kind, whose reads could block.
    """
    try:
        # Only memory files have seals (memfd_create(2)), so the call fails for any other kind of file.
        fcntl.fcntl(memory, fcntl.F_GET_SEALS)
    except OSError:
        raise UnreadableMessageError("a message has a descriptor that is no memory file") from None
    size = os.fstat(memory).st_size
    if size > MAX_BYTES:
        raise UnreadableMessageError(f"a message has {size} bytes; there can be {MAX_BYTES}")
    return os.pread(memory, size, 0)


def ends() -> tuple[socket.socket, socket.socket]:
    """Return the two ends of a new channel."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


Answer = TypeVar("Answer")


class PendingRequests(Generic[Answer]):
    """Requests that wait for their answers."""

    def __init__(self) -> None:
        self._asked = 0
        self._waiting: dict[int, trio.MemorySendChannel[Answer]] = {}

    async def ask(self, post: Callable[[int], None], seconds: float) -> Answer | None:
        """Have `post` send a request with a number; return the answer to it, None after `seconds`."""
        self._asked += 1
        number = self._asked
        send, receive = trio.open_memory_channel[Answer](1)
        self._waiting[number] = send
        try:
            post(number)
            with trio.move_on_after(seconds):
                return await receive.receive()
            return None
        finally:
            self._waiting.pop(number, None)

    def answer(self, number: int, answer: Answer) -> None:
        """Record an answer; drop it if nothing waits for it any more."""
        if (waiting := self._waiting.pop(number, None)) is not None:
            waiting.send_nowait(answer)
