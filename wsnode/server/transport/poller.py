"""Reactor: reads many sockets while trio waits, and passes the bytes to their connections.

A task that waits for its own socket costs two passes through the scheduler and a system call for each burst.
Here the engine waits for all sockets together, in place of trio's own wait (`event_loop`), and calls each
connection's function with its bytes. The connection's own task runs only when there is more to do, and few
tasks run in each pass. Peers take turns, so the ten thousand connections of one address delay another address
by one turn. Where trio's wait cannot be replaced, one task waits for all sockets.

The engine has the queue (`native/src/wire/fair_queue`). In one visit it reads socket after socket, and
answers the calls that the connection's fast path can answer, unless the connection has other work first; it
returns with the first socket that has bytes left.
"""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Protocol, TypeAlias

import trio

from wsnode._native.wire import FastPath, SocketQueue
from wsnode.jsonrpc.method import FIRST_BUCKET_SECONDS
from wsnode.server.transport.event_loop import (
    ARRIVED,
    EpollPoller,
    Poller,
    WaitOutcome,
    new_poller,
    trio_waits_by,
)

RECEIVE_BYTES = 64 * 1024
SLICE_SECONDS = 0.002
"""Seconds for which bytes are passed on before other tasks run."""
AGAIN_SECONDS = 0.0005
"""Seconds for which sockets are polled again before other tasks run, if no bytes are left.

A pass of the scheduler takes as long as several quick requests.
"""
OTHERS_PART = 3
"""Divisor of the time that other tasks took in the last pass; the quotient is a turn's minimum length."""
NOTE_PART = 2
"""Pause between two polls, as a multiple of the time that a poll takes."""
WOKEN_AT_ONCE = 8
"""Tasks woken in one pass of the scheduler: a connection that begins or ends takes 0.1 to 0.4 ms."""
WOKEN_SECONDS = 0.0003
"""Seconds charged for a woken task, for its work in the next pass."""
Peer: TypeAlias = str | None
"""API key or address; None for a socket that is a peer of its own."""
Next: TypeAlias = tuple[int, bytes | None, bytes | None]
"""Descriptor of a socket, the bytes received, and frames that could not be sent."""
Take: TypeAlias = Callable[[bytes], bool]
"""Function that takes arrived bytes; it returns False if its reader must act before it takes more."""


class RecvSocket(Protocol):
    """Non-blocking socket, or a decrypting reader of one."""

    def fileno(self) -> int: ...

    def recv(self, most: int, /) -> bytes:
        """Return at most `most` bytes that have arrived, empty at the end.

        Raises:
            BlockingIOError: Nothing has arrived.
            OSError: The other side has disconnected.
        """
        ...


class FastConnection(Protocol):
    """Connection whose plainest calls the engine (in Rust) may answer as soon as it reads them, without a
    handler.
    """

    @property
    def fast_path(self) -> FastPath | None:
        """Return the fast path of its calls; None if handlers answer all of them."""
        ...

    @property
    def burst_bytes(self) -> int:
        """Return the maximum number of bytes that the replies to one burst may have together."""
        ...

    def fast_reply_limit(self) -> int:
        """Record an arrival of bytes, and return how long a reply of the fast path may be, in bytes.

        It is 0 if none may be sent now.
        """
        ...

    def count_answered(self, counts: Mapping[str, int], size: int, seconds: float, longest: float) -> None:
        """Count calls that the engine answered for all connections with the same cache, by method.

        Their frames had `size` bytes and took `seconds` in all, the longest burst `longest` seconds.
        """
        ...

    def post(self, frames: bytes) -> None:
        """Send the part of replies that the system did not accept."""
        ...


class Reactor:
    """Reader of all sockets of one server: it passes arriving bytes to the waiting task of each socket, at
    most one a socket.
    """

    def __init__(
        self,
        clock: Callable[[], float] = perf_counter,
        polling: Poller | None = None,
        *,
        counts_suspension: bool = False,
    ) -> None:
        """Make a reactor without sockets; with `counts_suspension` turns are charged by `clock` alone."""
        self._clock = clock
        self._polling = polling or new_poller()
        self._watched: dict[int, Peer] = {}
        """Peers of the watched sockets, by descriptor."""
        self._readers: dict[int, _Reader] = {}
        self._partly_read: list[int] = []
        """Sockets that have more bytes than were read."""
        self._unread = set[int]()
        """Sockets without a reader that may have unread bytes; no further event reports those."""
        self._due = SocketQueue(RECEIVE_BYTES, FIRST_BUCKET_SECONDS, counts_suspension=counts_suspension)
        """Queue of sockets with unread bytes."""
        self._note_due = 0.0
        self._left_at = 0.0
        """Time at which other tasks began to run."""
        self._passing: _Reader | None = None
        """Reader whose function is being called, None outside such calls."""
        self._is_woken = False
        """True if the task of that reader was woken during the call."""

    @property
    def ready(self) -> int:
        return self._due.waiting or 1

    async def run(self) -> None:
        """Pass on arriving bytes, for ever."""
        if not isinstance(self._polling, EpollPoller) or not await trio_waits_by(self._polling, self._serve):
            await self._run_in_a_task()

    def _serve(self, host: int, seconds: float) -> WaitOutcome:
        """Pass on bytes that arrive within `seconds`, until the descriptor `host` has an event.

        Ends early where tasks may have become runnable.
        """
        due, clock = self._due, self._clock
        most = max(SLICE_SECONDS, (clock() - self._left_at) / OTHERS_PART)
        ended, left, has_served, is_host_ready = due.serve(
            self._polling.fileno(), host, seconds, SLICE_SECONDS, self._partly_read
        )
        self._partly_read.clear()
        if ended or left is not None:
            self._note_ends(ended)
            self._read_on(left, clock() + most)
        self._left_at = clock()
        return WaitOutcome(has_served, is_host_ready)

    def _read_on(self, left: Next | None, deadline: float, woken: int = 0) -> int:
        """Pass on the bytes left of a socket, and those of others until `deadline`.

        Returns the number of tasks woken in this pass, including the `woken` ones before.
        """
        due, clock = self._due, self._clock
        if left is None:
            left = due.next(deadline - clock())
        while left is not None:
            began = clock()
            is_woken = self._read(*left)
            now = clock()
            woken += is_woken
            seconds = deadline - now if now <= deadline and woken < WOKEN_AT_ONCE else None
            left = due.next(seconds, now - began, is_woken * WOKEN_SECONDS)
        return woken

    async def _run_in_a_task(self) -> None:
        while True:
            await self._wait_arrival()
            self._take_note()
            seconds = SLICE_SECONDS
            while self._hand_out(seconds):
                ended = self._clock()
                await trio.lowlevel.checkpoint()
                now = self._clock()
                seconds = max(SLICE_SECONDS, (now - ended) / OTHERS_PART)
                # New arrivals are queued between slices, so that a quick request does not wait until all
                # earlier ones have had their turns.
                if now >= self._note_due:
                    self._take_note()

    async def _wait_arrival(self) -> None:
        if self._partly_read:
            await trio.lowlevel.checkpoint()
        else:
            await trio.lowlevel.wait_readable(self._polling.fileno())

    def _take_note(self) -> bool:
        """Queue all ready sockets; return True if there are any."""
        began = self._clock()
        self._note_ends(self._due.add_all(self._polling.ready_sockets(), ARRIVED))
        # Partly read sockets queue behind the sockets whose bytes have arrived meanwhile.
        for descriptor in self._partly_read:
            self._due.add(descriptor)
        self._partly_read.clear()
        self._note_due = began + NOTE_PART * (self._clock() - began)
        return self._due.waiting > 0

    def _note_ends(self, descriptors: list[int]) -> None:
        """Record sockets whose ends have come, perhaps behind unread bytes."""
        for descriptor in descriptors:
            if (reader := self._readers.get(descriptor)) is None:
                self._unread.add(descriptor)
            else:
                reader.is_ending = True

    def _has_come_again(self) -> bool:
        """Return True if new bytes have arrived after all earlier ones were passed on."""
        return not (self._due.waiting or self._partly_read) and self._take_note()

    def _hand_out(self, seconds: float) -> bool:
        """Pass on arrived bytes for `seconds`; return True if more are waiting."""
        clock, woken = self._clock, 0
        now = clock()
        deadline, again = now + seconds, now + AGAIN_SECONDS
        while now <= deadline and woken < WOKEN_AT_ONCE:
            if self._due.waiting:
                woken = self._read_on(None, deadline, woken)
            elif woken or now > again or not self._has_come_again():
                break
            now = clock()
        return self._due.waiting > 0

    async def feed(
        self,
        connected: RecvSocket,
        take: Take,
        peer: Peer = None,
        plain: FastConnection | None = None,
        *,
        full: int = RECEIVE_BYTES,
    ) -> bool:
        """Pass arrived bytes of a socket to `take` until it returns False.

        Returns False once the socket has ended. `take` does not get calls that the engine answers for
        `plain`. A read of `full` bytes or more may leave further bytes.
        """
        if (descriptor := connected.fileno()) < 0:
            return False
        self._watch(descriptor, peer, plain)
        reader = self._readers[descriptor] = _Reader(self, descriptor, connected, take, full, plain)
        await trio.lowlevel.wait_task_rescheduled(reader.abort)
        if reader.failure is not None:
            raise reader.failure
        return not reader.ended

    def receive_nowait(self, connected: RecvSocket) -> bytes | None:
        """Return the bytes that have arrived at a socket without a reader.

        None if none have, empty at the end.
        """
        descriptor = connected.fileno()
        if (received := _received(connected)) is None:
            return None
        if descriptor in self._watched:
            # The socket may have more bytes, which an edge-triggered epoll does not report again.
            self._unread.add(descriptor)
        return received

    def feed_nowait(self, descriptor: int) -> bool:
        """Pass the bytes that have arrived at a socket to its reader, if it has one.

        Returns True if more bytes may be left.
        """
        if (reader := self._readers.get(descriptor)) is None or self._passing is not None:
            return False
        return not self._read(descriptor, None, None) and reader.has_more

    def _watch(self, descriptor: int, peer: Peer, plain: FastConnection | None) -> None:
        """Watch a socket; bytes that are unread already are reported as well."""
        is_known = descriptor in self._watched
        if not is_known:
            self._polling.watch(descriptor)
        elif descriptor in self._unread:
            self._polling.watch_again(descriptor)
        self._unread.discard(descriptor)
        if plain is not None or not is_known or self._watched[descriptor] != peer:
            self._due.watch(descriptor, peer, plain)
            self._watched[descriptor] = peer

    def wake(self, descriptor: int) -> None:
        """Make `feed` return True soon, if a task waits in it for this socket."""
        if (reader := self._readers.get(descriptor)) is None:
            return
        if reader is self._passing:
            self._is_woken = True
        else:
            self._let_go(descriptor, reader)

    def _let_go(self, descriptor: int, reader: "_Reader") -> None:
        self.leave(descriptor)
        trio.lowlevel.reschedule(reader.task)

    def leave(self, descriptor: int) -> None:
        """Remove the reader of a socket."""
        reader = self._readers.pop(descriptor)
        if reader.plain is not None:
            self._due.to_python(descriptor)
        if descriptor in self._watched and (reader.has_more or reader.is_ending):
            self._unread.add(descriptor)

    def forget(self, descriptor: int) -> None:
        """Stop watching a socket until `feed` is called for it again; needed before the socket is closed."""
        if descriptor in self._watched:
            del self._watched[descriptor]
            self._unread.discard(descriptor)
            self._due.forget(descriptor)
            self._polling.forget(descriptor)

    def _read(self, descriptor: int, received: bytes | None, unsent: bytes | None) -> bool:
        """Pass on the bytes of a socket that the engine left; return True if its task was woken."""
        if (reader := self._readers.get(descriptor)) is None:
            # `feed` watches the socket again, and finds its unread bytes, once a task reads it.
            self.forget(descriptor)
            return False
        self._passing, self._is_woken = reader, False
        takes_more = reader.pass_on(received, unsent) and not self._is_woken
        self._passing = None
        if takes_more:
            if reader.has_more:
                self._partly_read.append(descriptor)
            return False
        if reader.ended:
            self.forget(descriptor)
        self._let_go(descriptor, reader)
        return True

    def close(self) -> None:
        """Stop watching all sockets."""
        self._polling.close()


class _Reader:
    """Task that waits in `Reactor.feed`, with its function for the bytes of the socket."""

    # Nearly all of ten thousand connections have a reader waiting, so `abort` is a method: a closure takes
    # 300 bytes more.
    __slots__ = (
        "_connected",
        "_descriptor",
        "_full",
        "_reactor",
        "_take",
        "ended",
        "failure",
        "has_more",
        "is_ending",
        "plain",
        "task",
    )

    def __init__(
        self,
        reactor: Reactor,
        descriptor: int,
        connected: RecvSocket,
        take: Take,
        full: int,
        plain: FastConnection | None,
    ) -> None:
        self._reactor = reactor
        self._descriptor = descriptor
        self._connected = connected
        self._take = take
        self._full = full
        self.plain = plain
        self.task = trio.lowlevel.current_task()
        self.ended = False
        self.is_ending = False
        """True once the end has arrived, perhaps behind unread bytes."""
        self.has_more = False
        """True if more bytes may be left after the last read."""
        self.failure: Exception | None = None
        """Exception of `take`, for its own task to raise."""

    def abort(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._reactor.leave(self._descriptor)
        return trio.lowlevel.Abort.SUCCEEDED

    def pass_on(self, received: bytes | None, unsent: bytes | None) -> bool:
        """Pass on unsent replies and arrived bytes, which are read first if neither is given.

        Returns False when the task must act.
        """
        if received is None and unsent is None and (received := _received(self._connected)) is None:
            self.has_more = False
            return True
        self.has_more = self.is_ending or (received is not None and len(received) >= self._full)
        if received == b"":
            self.ended = True
            return False
        try:
            if unsent is not None and self.plain is not None:
                self.plain.post(unsent)
            return received is None or self._take(received)
        except Exception as error:
            self.failure = error
            return False


def _received(connected: RecvSocket) -> bytes | None:
    try:
        return connected.recv(RECEIVE_BYTES)
    except BlockingIOError:
        return None
    except (OSError, ValueError):
        return b""
