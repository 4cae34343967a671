"""A limited number of turns, handed out in rotation among those who wait for them."""

from collections import deque
from collections.abc import Hashable

import trio


class FairLimiter:
    """`capacity` turns at once; a thousand waiters of one key delay another key's first by one turn."""

    def __init__(self, capacity: int) -> None:
        self._capacity = self._free = capacity
        self._waiting: dict[Hashable, deque[trio.lowlevel.Task]] = {}

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return sum(map(len, self._waiting.values()))

    async def acquire(self, key: Hashable) -> None:
        """Wait for a turn on behalf of `key`; always lets others run first."""
        if self._free > 0 and not self._waiting:
            self._free -= 1
            try:
                await trio.lowlevel.checkpoint()
            except trio.Cancelled:
                self.release()
                raise
            return
        task = trio.lowlevel.current_task()
        self._waiting.setdefault(key, deque()).append(task)

        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            self._forget(key, task)
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)

    def release(self) -> None:
        """Give a turn back: to the first waiter of the key that has waited longest since its last one."""
        self._free += 1
        if self._free > 0 and self._waiting:
            self._hand_out()

    def resize(self, capacity: int) -> None:
        """Have another number of turns; those that are taken beyond it are not handed out again."""
        self._free += capacity - self._capacity
        self._capacity = capacity
        while self._free > 0 and self._waiting:
            self._hand_out()

    def _hand_out(self) -> None:
        self._free -= 1
        key = next(iter(self._waiting))
        tasks = self._waiting.pop(key)
        task = tasks.popleft()
        if tasks:
            self._waiting[key] = tasks
        trio.lowlevel.reschedule(task)

    def _forget(self, key: Hashable, task: trio.lowlevel.Task) -> None:
        tasks = self._waiting[key]
        tasks.remove(task)
        if not tasks:
            del self._waiting[key]
