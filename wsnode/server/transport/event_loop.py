"""Waits for sockets: pollers of the system, and a wait in place of trio's that also serves sockets.

trio's loop runs the runnable tasks, then waits by its epoll for descriptors, or for the next deadline. Where
a server runs, the engine waits instead: its own epoll watches trio's beside the sockets, and calls with
replies that need no task are answered without leaving the wait (decision 0067).
"""

import select
import selectors
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, NamedTuple, Protocol, TypeAlias

import outcome
import trio

from wsnode._native.wire import waiting_events

ARRIVED = getattr(select, "EPOLLIN", 1)
"""Event of arrived bytes alone, without an end of the stream."""


class Poller(Protocol):
    """Set of a server's watched sockets, by descriptor, which reports those with unread bytes; `EpollPoller`
    and `SelectPoller` implement it.
    """

    def fileno(self) -> int:
        """Return a descriptor that is readable while `ready_sockets` has sockets to return."""

    def watch(self, descriptor: int) -> None: ...

    def watch_again(self, descriptor: int) -> None:
        """Have `ready_sockets` return a watched socket once more if it has unread bytes."""

    def forget(self, descriptor: int) -> None: ...

    def ready_sockets(self) -> list[tuple[int, int]]:
        """Return descriptor and events of each ready socket.

        The events are `ARRIVED` for bytes alone, others at the end of the stream.
        """

    def close(self) -> None: ...


class EpollPoller:
    """Linux's epoll, edge-triggered: unread bytes that were reported once are not reported again.

    Ten thousand unread sockets would otherwise cost 10 ms in each call. The reader reads until a call returns
    fewer bytes than it asked for (epoll(7), question 9), and to the end of the stream if that has arrived.
    """

    _EVENTS = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET if hasattr(select, "epoll") else 0

    def __init__(self) -> None:
        self.epoll = select.epoll()
        self.fileno = self.epoll.fileno
        self.forget = self.epoll.unregister
        self.close = self.epoll.close

    def watch_host(self, epoll: int) -> None:
        """Begin to watch another epoll; it is reported for as long as it has events."""
        self.epoll.register(epoll, select.EPOLLIN)

    def watch(self, descriptor: int) -> None:
        self.epoll.register(descriptor, self._EVENTS)

    def watch_again(self, descriptor: int) -> None:
        self.epoll.modify(descriptor, self._EVENTS)

    def ready_sockets(self) -> list[tuple[int, int]]:
        return waiting_events(self.fileno())


class SelectPoller:
    """Poller of other systems: each call returns every socket with unread bytes."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self.close = self._selector.close

    def fileno(self) -> int:
        return int(self._selector.fileno())

    def watch(self, descriptor: int) -> None:
        self._selector.register(descriptor, selectors.EVENT_READ)

    def watch_again(self, descriptor: int) -> None:
        """Do nothing, since unread bytes are reported in any case."""

    def forget(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)

    def ready_sockets(self) -> list[tuple[int, int]]:
        """Return descriptor and `ARRIVED` of each socket with unread bytes or at the end of its stream.

        Unlike epoll's, the events do not distinguish the two.
        """
        return [(key.fd, ARRIVED) for key, _ in self._selector.select(0)]


def new_poller() -> Poller:
    """Return epoll where the system has it, else a poller of `selectors`."""
    return EpollPoller() if hasattr(select, "epoll") else SelectPoller()


_Events: TypeAlias = Iterable[tuple[int, int]]


class WaitOutcome(NamedTuple):
    """Outcome of one wait."""

    has_served: bool
    """True if any socket was ready."""
    is_host_ready: bool
    """True if trio's epoll may have events."""


Serve: TypeAlias = Callable[[int, float], WaitOutcome]
"""Function that serves sockets for some seconds, or until the descriptor of trio's epoll has an event."""


async def trio_waits_by(poller: EpollPoller, serve: Serve) -> bool:
    """Replace trio's wait by `serve`, for ever; return False immediately if that is not possible.

    It is not where trio has no epoll, or while another server of this loop has replaced the wait.

    Raises:
        Exception: The exception that `serve` raised.
    """
    runner = _runner()
    manager: Any = getattr(runner, "io_manager", None)
    epoll = getattr(manager, "_epoll", None)
    if type(epoll) is not type(poller.epoll):
        return False
    poller.watch_host(epoll.fileno())
    manager._epoll = _ReplacedEpoll(epoll, runner, serve, trio.lowlevel.current_task())
    try:
        await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.SUCCEEDED)
    finally:
        manager._epoll = epoll
        poller.forget(epoll.fileno())
    return True


def _runner() -> Any:
    """Return trio's runner, the owner of its tasks, deadlines and epoll; trio does not document it."""
    context = getattr(getattr(trio._core, "_run", None), "GLOBAL_RUN_CONTEXT", None)
    return getattr(context, "runner", None)


class _ReplacedEpoll:
    """Stand-in for trio's epoll object: its wait also serves this server's sockets, and all other methods are
    those of the epoll.
    """

    def __init__(self, epoll: Any, runner: Any, serve: Serve, task: trio.lowlevel.Task) -> None:
        self._poll = epoll.poll
        self._host = epoll.fileno()
        self._runnable = runner.runq
        self._next_deadline = runner.deadlines.next_deadline
        self._serve: Serve | None = serve
        self._task = task
        self.register = epoll.register
        self.modify = epoll.modify
        self.unregister = epoll.unregister
        self.fileno = epoll.fileno
        self.close = epoll.close

    def poll(self, seconds: float, most: int) -> _Events:
        """Return at most `most` of trio's events; a false value if none came within `seconds`."""
        if self._serve is None:
            events: _Events = self._poll(seconds, most)
            return events
        try:
            has_served, is_host_ready = self._wait(self._serve, seconds)
        except Exception as error:
            # The error is raised in the task that serves, because here it would end trio's loop.
            self._serve = None
            trio.lowlevel.reschedule(self._task, outcome.Error(error))
            return iter(())
        events = self._poll(0, most) if is_host_ready else []
        # trio takes a false value for the end of `seconds`. An empty iterator is true, so the result after
        # serving is one.
        return events or (iter(()) if has_served else [])

    def _wait(self, serve: Serve, seconds: float) -> WaitOutcome:
        """Serve sockets until trio has work: events, runnable tasks, or a deadline."""
        deadline, end = self._next_deadline(), perf_counter() + seconds
        waited = serve(self._host, seconds)
        # Serving again here saves a pass through trio's scheduler, which would take a fifth of a quick
        # request.
        while waited.has_served and not waited.is_host_ready and not self._runnable:
            if self._next_deadline() < deadline or (rest := end - perf_counter()) <= 0:
                break
            waited = WaitOutcome(True, serve(self._host, rest).is_host_ready)
        return waited
