"""Replacement of trio's wait for events by one that also serves sockets.

trio's loop runs the runnable tasks, then waits by its epoll for descriptors, or for the next deadline. Where
a server runs, the engine waits instead: its own epoll watches trio's beside the sockets, and calls with
replies that need no task are answered without leaving the wait (decision 0067).
"""

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import outcome
import trio

from wsnode.server.transport.epoll import EpollPoller

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
    """trio's epoll with another wait; all other methods are those of the epoll."""

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
            # trio's loop must not end by it: the task that serves does.
            self._serve = None
            trio.lowlevel.reschedule(self._task, outcome.Error(error))
            return iter(())
        events = self._poll(0, most) if is_host_ready else []
        # An iterator is true, and has nothing: time has not run out.
        return events or (iter(()) if has_served else [])

    def _wait(self, serve: Serve, seconds: float) -> WaitOutcome:
        """Serve sockets until trio has work: events, runnable tasks, or a deadline."""
        deadline, end = self._next_deadline(), perf_counter() + seconds
        waited = serve(self._host, seconds)
        # A pass through trio's scheduler would take a fifth of a quick request.
        while waited.has_served and not waited.is_host_ready and not self._runnable:
            if self._next_deadline() < deadline or (rest := end - perf_counter()) <= 0:
                break
            waited = WaitOutcome(True, serve(self._host, rest).is_host_ready)
        return waited
