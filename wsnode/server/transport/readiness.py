"""Reads many sockets in one task and passes the bytes to their connections.

A task that waits for its own socket costs two passes through the scheduler and a system call for each burst.
Here one task waits for all sockets together, and each connection's function is called with its bytes; the
connection's own task runs only when there is more to do than that. Peers take turns, so the ten thousand
connections of one address delay another's by one of them.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Protocol, TypeAlias

import trio

from wsnode.server.transport.fair_queue import QUICK_COST, FairQueue, Peer
from wsnode.server.transport.polling import ARRIVED, Polling, new_polling

RECEIVE_BYTES = 64 * 1024
SLICE_SECONDS = 0.002
"""Seconds for which bytes are passed on before other tasks run."""
OTHERS_PART = 3
"""Or, if that is more, one part in `OTHERS_PART` of the time that other tasks took in the last pass."""
NOTE_PART = 5
"""One part in `NOTE_PART` of the time may be spent on polling for further arrivals."""
WOKEN_AT_ONCE = 16
"""Tasks woken in one pass of the scheduler: a connection that begins or ends takes 0.1 to 0.2 ms."""
Take: TypeAlias = Callable[[bytes], bool]
"""Takes arrived bytes; returns False when its reader must act before it takes more."""


class Readable(Protocol):
    """A non-blocking socket, or what decrypts one."""

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        ...

    def recv(self, most: int, /) -> bytes:
        """Return at most `most` bytes that have arrived, empty at the end.

        Raises:
            BlockingIOError: Nothing has arrived.
            OSError: The other side is gone.
        """
        ...


class Arrivals:
    """The sockets of one server, each with one reader at most."""

    def __init__(self, clock: Callable[[], float] = perf_counter, polling: Polling | None = None) -> None:
        self._clock = clock
        self._polling = polling or new_polling()
        self._peers: dict[int, Peer] = {}
        """Of the watched descriptors."""
        self._readers: dict[int, _Reader] = {}
        self._partly_read: list[int] = []
        """Those that have more than was read of them."""
        self._due = FairQueue()
        """Those that have something."""
        self._note_due = 0.0

    @property
    def ready(self) -> int:
        """Return how many peers have something that was not handed out, at least 1."""
        return self._due.waiting or 1

    async def run(self) -> None:
        """Hand out what arrives, for ever."""
        while True:
            await self._wait_arrival()
            self._take_note()
            seconds = SLICE_SECONDS
            while self._hand_out(seconds):
                ended = self._clock()
                await trio.lowlevel.checkpoint()
                now = self._clock()
                seconds = max(SLICE_SECONDS, (now - ended) / OTHERS_PART)
                # A quick request need not wait until all that came before it have had their turns.
                if now >= self._note_due:
                    self._take_note()

    async def _wait_arrival(self) -> None:
        if self._partly_read:
            await trio.lowlevel.checkpoint()
        else:
            await trio.lowlevel.wait_readable(self._polling.fileno())

    def _take_note(self) -> None:
        began, add, peer_of = self._clock(), self._due.add, self._peers.get
        for descriptor, events in self._polling.arrivals():
            if events != ARRIVED and (reader := self._readers.get(descriptor)) is not None:
                reader.is_ending = True
                # To end takes long, so it is for those to wait that do, behind quick ones.
                self._due.forget(descriptor)
            add(descriptor, peer_of(descriptor))
        # Behind those that have arrived meanwhile.
        for descriptor in self._partly_read:
            add(descriptor, peer_of(descriptor))
        self._partly_read.clear()
        self._note_due = began + NOTE_PART * (self._clock() - began)

    def _hand_out(self, seconds: float) -> bool:
        """Pass on arrived bytes for so long; return whether more are waiting."""
        now, woken, due, clock = self._clock(), 0, self._due, self._clock
        deadline = now + seconds
        while now <= deadline and woken < WOKEN_AT_ONCE and due.waiting:
            woken += self._read(due.pop())
            began, now = now, clock()
            if now - began > QUICK_COST or not due.is_paid:
                due.charge(now - began)
        return due.waiting > 0

    async def feed(
        self, connected: Readable, take: Take, peer: Peer = None, *, full: int = RECEIVE_BYTES
    ) -> bool:
        """Have `take` called with what arrives until it returns False; False if nothing more will.

        Where at least `full` bytes are read at once, more may be left.
        """
        if (descriptor := connected.fileno()) < 0:
            return False
        if descriptor in self._peers:
            self._polling.watch_again(descriptor)
        else:
            self._polling.watch(descriptor)
        self._peers[descriptor] = peer
        reader = self._readers[descriptor] = _Reader(connected, take, full)

        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            del self._readers[descriptor]
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)
        if reader.failure is not None:
            raise reader.failure
        return not reader.ended

    def forget(self, descriptor: int) -> None:
        """Watch a socket no more, until it is fed from again; to be called before it is closed."""
        if descriptor in self._peers:
            del self._peers[descriptor]
            self._due.forget(descriptor)
            self._polling.forget(descriptor)

    def _read(self, descriptor: int) -> bool:
        """Pass on arrived bytes; return whether a task was woken."""
        if (reader := self._readers.get(descriptor)) is None:
            # It is looked at again when it has a reader.
            self.forget(descriptor)
            return False
        if reader.read():
            if reader.has_more:
                self._partly_read.append(descriptor)
            return False
        if reader.ended:
            self.forget(descriptor)
        del self._readers[descriptor]
        trio.lowlevel.reschedule(reader.task)
        return True

    def close(self) -> None:
        """Watch nothing any more."""
        self._polling.close()


class _Reader:
    """A task that waits for what its function does not take."""

    __slots__ = ("_full", "_receive", "_take", "ended", "failure", "has_more", "is_ending", "task")

    def __init__(self, connected: Readable, take: Take, full: int) -> None:
        self._receive = connected.recv
        self._take = take
        self._full = full
        self.task = trio.lowlevel.current_task()
        self.ended = False
        self.is_ending = False
        """Whether the end has arrived, perhaps behind unread bytes."""
        self.has_more = False
        """Whether something is left behind what was read last, as far as is known."""
        self.failure: Exception | None = None
        """The exception of `take`, for its own task to raise."""

    def read(self) -> bool:
        """Pass on arrived bytes; return False when the task must act."""
        try:
            data = self._receive(RECEIVE_BYTES)
        except BlockingIOError:
            self.has_more = False
            return True
        except OSError:
            data = b""
        self.has_more = self.is_ending or len(data) >= self._full
        if not data:
            self.ended = True
            return False
        try:
            return self._take(data)
        except Exception as error:
            self.failure = error
            return False
