"""Reads many sockets in one task and passes the bytes to their connections.

A task that waits for its own socket costs two passes through the scheduler and a system call for each burst.
Here one task waits for all sockets together, and each connection's function is called with its bytes; the
connection's own task runs only when there is more to do than that.
"""

import selectors
import socket
from collections import OrderedDict
from collections.abc import Callable
from time import perf_counter
from typing import TypeAlias

import trio

RECEIVE_BYTES = 64 * 1024
SLICE_SECONDS = 0.002
"""Seconds for which bytes are passed on before other tasks run."""
QUICK_SECONDS = 0.0002
"""Seconds up to which the work of a few calls counts as quick."""
QUICK_IN_A_ROW = 16
NOTE_PART = 5
"""One part in `NOTE_PART` of the time may be spent on polling for further arrivals."""
WOKEN_AT_ONCE = 64
"""Tasks woken in one pass of the scheduler: a connection that ends takes 40 us."""
Take: TypeAlias = Callable[[bytes], bool]
"""Takes arrived bytes; returns False when its reader must act before it takes more."""


class Arrivals:
    """The sockets of one server, each with one reader at most."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._selector = selectors.DefaultSelector()
        self._watched: set[int] = set()
        """The registered descriptors."""
        self._readers: dict[int, _Reader] = {}
        self._due = OrderedDict[int, None]()
        """Those that have something."""
        self._quick = OrderedDict[int, None]()
        """Those of them whose last burst was a quick one; a few come before each of the others."""
        self._known_as_quick: set[int] = set()
        self._note_due = 0.0

    @property
    def ready(self) -> int:
        """Return how many sockets have something that was not handed out, at least 1."""
        return len(self._due) + len(self._quick) or 1

    async def run(self) -> None:
        """Hand out what arrives, for ever."""
        while True:
            await trio.lowlevel.wait_readable(self._selector.fileno())
            self._take_note()
            while self._hand_out(self._clock() + SLICE_SECONDS):
                await trio.lowlevel.checkpoint()
                # A quick request need not wait until all that came before it have had their turns.
                if self._clock() >= self._note_due:
                    self._take_note()

    def _take_note(self) -> None:
        began = self._clock()
        for key, _ in self._selector.select(0):
            if key.fd not in self._due:
                (self._quick if key.fd in self._known_as_quick else self._due)[key.fd] = None
        self._note_due = began + NOTE_PART * (self._clock() - began)

    def _hand_out(self, deadline: float) -> bool:
        """Pass on arrived bytes until `deadline`; return whether more are waiting."""
        now, quick, woken = self._clock(), 0, 0
        while now <= deadline and woken < WOKEN_AT_ONCE and (self._due or self._quick):
            quick = quick + 1 if self._quick and (quick < QUICK_IN_A_ROW or not self._due) else 0
            descriptor = (self._quick if quick else self._due).popitem(last=False)[0]
            woken += self._read(descriptor)
            began, now = now, self._clock()
            if now - began < QUICK_SECONDS:
                self._known_as_quick.add(descriptor)
            else:
                self._known_as_quick.discard(descriptor)
        return bool(self._due or self._quick)

    async def feed(self, connected: socket.socket, take: Take) -> bool:
        """Have `take` called with what arrives until it returns False; False if nothing more will."""
        if (descriptor := connected.fileno()) < 0:
            return False
        if descriptor not in self._watched:
            self._selector.register(descriptor, selectors.EVENT_READ)
            self._watched.add(descriptor)
        reader = self._readers[descriptor] = _Reader(connected, take)

        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            del self._readers[descriptor]
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)
        if reader.failure is not None:
            raise reader.failure
        return not reader.ended

    def forget(self, descriptor: int) -> None:
        """Watch a socket no more, until it is fed from again; to be called before it is closed."""
        if descriptor in self._watched:
            self._watched.remove(descriptor)
            self._known_as_quick.discard(descriptor)
            self._selector.unregister(descriptor)

    def _read(self, descriptor: int) -> bool:
        """Pass on arrived bytes; return whether a task was woken."""
        if (reader := self._readers.get(descriptor)) is None:
            # The kernel reports it until it is read, and it has no reader now.
            self.forget(descriptor)
            return False
        if reader.read():
            return False
        if reader.ended:
            self.forget(descriptor)
        del self._readers[descriptor]
        trio.lowlevel.reschedule(reader.task)
        return True

    def close(self) -> None:
        """Watch nothing any more."""
        self._selector.close()


class _Reader:
    """A task that waits for what its function does not take."""

    __slots__ = ("_receive", "_take", "ended", "failure", "task")

    def __init__(self, connected: socket.socket, take: Take) -> None:
        self._receive = connected.recv
        self._take = take
        self.task = trio.lowlevel.current_task()
        self.ended = False
        self.failure: Exception | None = None
        """The exception of `take`, for its own task to raise."""

    def read(self) -> bool:
        """Pass on arrived bytes; return False when the task must act."""
        try:
            data = self._receive(RECEIVE_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if not data:
            self.ended = True
            return False
        try:
            return self._take(data)
        except Exception as error:
            self.failure = error
            return False
