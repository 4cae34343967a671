"""A limited number of concurrent turns, granted in rotation."""

from collections import deque
from typing import Any

import trio

from wsnode.jsonrpc.share import Share, holder_of

SHORTEST_TURN = 0.0001
"""Seconds, for as many as sixteen quick calls."""


def first_turn(slice_seconds: float, ready: int) -> float:
    """Return the seconds of a turn that did not wait, while `ready` connections have requests.

    All of them run before any next request, so together they take about one slice.
    """
    return max(SHORTEST_TURN, slice_seconds / ready)


class _Waiters:
    """Tasks that wait for turns of one peer, or of one party without a peer; parties take turns."""

    def __init__(self) -> None:
        self._tasks: dict[Any, deque[trio.lowlevel.Task]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._tasks.values()))

    @property
    def first(self) -> Any:
        """The party whose turn is next."""
        return next(iter(self._tasks))

    def add(self, party: Any, task: trio.lowlevel.Task) -> None:
        """Have `task` wait behind the party's others."""
        self._tasks.setdefault(party, deque()).append(task)

    def pop(self) -> trio.lowlevel.Task:
        """Return the first task of the first party, which is the last one from then on."""
        tasks = self._tasks.pop(party := self.first)
        task = tasks.popleft()
        if tasks:
            self._tasks[party] = tasks
        return task

    def remove(self, party: Any, task: trio.lowlevel.Task) -> None:
        """Forget a task."""
        tasks = self._tasks[party]
        tasks.remove(task)
        if not tasks:
            del self._tasks[party]


class FairLimiter:
    """`capacity` concurrent turns, of which each peer has at most its share.

    Peers take turns, and so do the parties of one peer. A thousand waiters delay the first one of another
    peer by one turn, whether they wait on one connection or on a thousand.
    """

    def __init__(self, capacity: int) -> None:
        self._taken = Share(capacity, little=1)
        self._waiting: dict[Any, _Waiters] = {}
        """By what their turns count for (`holder_of`)."""

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return sum(map(len, self._waiting.values()))

    async def acquire(self, party: Any) -> None:
        """Wait for a turn on behalf of `party`; always a checkpoint."""
        holder = holder_of(party)
        if holder not in self._waiting and self._taken.admits(party) and not self._is_awaited():
            self._taken.take(party)
            try:
                await trio.lowlevel.checkpoint()
            except trio.Cancelled:
                self.release(party)
                raise
            return
        task = trio.lowlevel.current_task()
        self._waiting.setdefault(holder, _Waiters()).add(party, task)

        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            self._forget(holder, party, task)
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)

    def release(self, party: Any) -> None:
        """Release a turn to the admissible peer whose last turn is the oldest."""
        self._taken.give_back(party)
        self._hand_out()

    async def pass_through(self, party: Any) -> None:
        """Wait for a turn that ends at once: no other turn begins before the next checkpoint.

        For work that ends before the caller's next checkpoint, where `capacity` is 1.
        """
        await self.acquire(party)
        self.release(party)

    def resize(self, capacity: int) -> None:
        """Have another number of turns; those that are taken beyond it are not handed out again."""
        self._taken.limit = capacity
        self._hand_out()

    def _is_awaited(self) -> bool:
        return self._next() is not None

    def _hand_out(self) -> None:
        while self._waiting and self._taken.used < self._taken.limit:
            if (holder := self._next()) is None:
                return
            waiters = self._waiting.pop(holder)
            self._taken.take(waiters.first)
            trio.lowlevel.reschedule(waiters.pop())
            if waiters:
                self._waiting[holder] = waiters

    def _next(self) -> Any:
        """Return the first holder that may have a turn, None without one."""
        admits = self._taken.admits
        return next((holder for holder, waiters in self._waiting.items() if admits(waiters.first)), None)

    def _forget(self, holder: Any, party: Any, task: trio.lowlevel.Task) -> None:
        waiters = self._waiting[holder]
        waiters.remove(party, task)
        if not waiters:
            del self._waiting[holder]
