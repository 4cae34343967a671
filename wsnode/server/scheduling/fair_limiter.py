"""A limited number of concurrent turns, granted in rotation."""

from collections import deque
from typing import Any, NamedTuple, TypeAlias

import trio

from wsnode.jsonrpc.client_quota import ClientQuota, quota_key
from wsnode.jsonrpc.work import next_age

SHORTEST_TURN = 0.0001
"""Seconds, for as many as sixteen quick calls."""


def first_turn(slice_seconds: float, ready: int) -> float:
    """Return the seconds of a turn that did not wait, while `ready` connections have requests.

    All of them run before any next request, so together they take about one slice.
    """
    return max(SHORTEST_TURN, slice_seconds / ready)


class _Waiter(NamedTuple):
    """A task, and the place among all others of what it does."""

    age: int
    task: trio.lowlevel.Task


_Queue: TypeAlias = tuple[Any, bool]
"""A client, and whether its readers wait there, or its calls."""


class _Waiters:
    """Tasks that wait for turns of one peer, or of one client without a peer; clients take turns.

    Of one client the first goes first: if its calls took turns, all of them would end late. Its reader,
    which answers quick requests, takes turns with its calls, as another client would.
    """

    def __init__(self) -> None:
        self._queues: dict[_Queue, deque[_Waiter]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    @property
    def first(self) -> Any:
        """The client whose turn is next."""
        return next(iter(self._queues))[0]

    def add(self, queue: _Queue, waiter: _Waiter) -> None:
        """Have a task wait in a queue behind what began before."""
        waiters = self._queues.setdefault(queue, deque())
        place = len(waiters)
        while place and waiters[place - 1].age > waiter.age:
            place -= 1
        waiters.insert(place, waiter)

    def pop(self) -> trio.lowlevel.Task:
        """Return the first task of the first queue, which is the last one from then on."""
        queue = next(iter(self._queues))
        waiters = self._queues.pop(queue)
        task = waiters.popleft().task
        if waiters:
            self._queues[queue] = waiters
        return task

    def remove(self, queue: _Queue, waiter: _Waiter) -> None:
        """Forget a task."""
        waiters = self._queues[queue]
        waiters.remove(waiter)
        if not waiters:
            del self._queues[queue]


class FairLimiter:
    """`capacity` concurrent turns, of which each peer has at most its share.

    Peers take turns, and so do the clients of one peer. A thousand waiters delay the first one of another
    peer by one turn, whether they wait on one connection or on a thousand.
    """

    def __init__(self, capacity: int) -> None:
        self._taken = ClientQuota(capacity, little=1)
        self._waiting: dict[Any, _Waiters] = {}
        """By what their turns count for (`quota_key`)."""

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return sum(map(len, self._waiting.values()))

    async def acquire(self, client: Any, age: int | None = None, *, is_reader: bool = False) -> None:
        """Wait for a turn on behalf of `client`; always a checkpoint.

        Of the client's waiters the one of the lowest `age` is next, by default that of now; its reader takes
        turns with them.
        """
        holder = quota_key(client)
        if holder not in self._waiting and self._taken.admits(client) and not self._is_awaited():
            self._taken.take(client)
            try:
                await trio.lowlevel.checkpoint()
            except trio.Cancelled:
                self.release(client)
                raise
            return
        queue = client, is_reader
        waiter = _Waiter(next_age() if age is None else age, trio.lowlevel.current_task())
        self._waiting.setdefault(holder, _Waiters()).add(queue, waiter)

        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            self._forget(holder, queue, waiter)
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)

    def release(self, client: Any) -> None:
        """Release a turn to the admissible peer whose last turn is the oldest."""
        self._taken.give_back(client)
        self._hand_out()

    async def pass_through(self, client: Any) -> None:
        """Wait, as a reader of `client`, for a turn that ends at once: no other begins before the next
        checkpoint.

        For work that ends before the caller's next checkpoint, where `capacity` is 1.
        """
        await self.acquire(client, is_reader=True)
        self.release(client)

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

    def _forget(self, holder: Any, queue: _Queue, waiter: _Waiter) -> None:
        waiters = self._waiting[holder]
        waiters.remove(queue, waiter)
        if not waiters:
            del self._waiting[holder]
