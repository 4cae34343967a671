"""A limited number of turns, handed out in rotation among those who wait for them."""

from collections import deque
from typing import Any

import trio

from wsnode.jsonrpc.share import Share


class FairLimiter:
    """`capacity` turns at once, of which nobody has more than a share.

    A thousand waiters of one party delay another party's first by one turn.
    """

    def __init__(self, capacity: int) -> None:
        self._taken = Share(capacity, little=1)
        self._waiting: dict[Any, deque[trio.lowlevel.Task]] = {}

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return sum(map(len, self._waiting.values()))

    async def acquire(self, party: Any) -> None:
        """Wait for a turn on behalf of `party`; always lets others run first."""
        if party not in self._waiting and self._taken.admits(party) and not self._is_awaited():
            self._taken.take(party)
            try:
                await trio.lowlevel.checkpoint()
            except trio.Cancelled:
                self.release(party)
                raise
            return
        task = trio.lowlevel.current_task()
        self._waiting.setdefault(party, deque()).append(task)

        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            self._forget(party, task)
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)

    def release(self, party: Any) -> None:
        """Give a turn back: to the party that has waited longest since its last one and may have it."""
        self._taken.give_back(party)
        self._hand_out()

    def resize(self, capacity: int) -> None:
        """Have another number of turns; those that are taken beyond it are not handed out again."""
        self._taken.limit = capacity
        self._hand_out()

    def _is_awaited(self) -> bool:
        return any(self._taken.admits(party) for party in self._waiting)

    def _hand_out(self) -> None:
        while self._waiting and self._taken.used < self._taken.limit:
            if (party := next(filter(self._taken.admits, self._waiting), None)) is None:
                return
            tasks = self._waiting.pop(party)
            task = tasks.popleft()
            if tasks:
                self._waiting[party] = tasks
            self._taken.take(party)
            trio.lowlevel.reschedule(task)

    def _forget(self, party: Any, task: trio.lowlevel.Task) -> None:
        tasks = self._waiting[party]
        tasks.remove(task)
        if not tasks:
            del self._waiting[party]
