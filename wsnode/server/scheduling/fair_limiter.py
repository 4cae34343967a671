"""Limit of concurrent turns, granted to clients in rotation."""

from collections import deque
from typing import Any, NamedTuple, TypeAlias

import trio

from wsnode.jsonrpc.resource_quota import ResourceQuota, quota_key
from wsnode.jsonrpc.work import next_age

SHORTEST_TURN = 0.0001
"""Shortest turn in seconds, enough for sixteen quick calls."""


def first_turn(slice_seconds: float, ready: int) -> float:
    """Return the seconds of a turn that did not wait, while `ready` connections have requests.

    All of these turns run before the loop checks for new requests, so together they take about one slice.
    """
    return max(SHORTEST_TURN, slice_seconds / ready)


class _Waiter(NamedTuple):
    """Waiting task, with its age: the smallest age is the oldest."""

    age: int
    task: trio.lowlevel.Task


_Queue: TypeAlias = tuple[Any, bool]
"""Client, with True for its reader or False for its calls."""


class _Waiters:
    """Waiting tasks of one peer, or of one client without a peer; the clients of a peer take turns.

    The oldest call of a client goes first: if its calls took turns, all of them would end late. The client's
    reader, which answers quick requests, takes turns with its calls, like another client.
    """

    def __init__(self) -> None:
        self._queues: dict[_Queue, deque[_Waiter]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    @property
    def first(self) -> Any:
        return next(iter(self._queues))[0]

    def add(self, queue: _Queue, waiter: _Waiter) -> None:
        """Add a task to a queue, behind all older tasks."""
        waiters = self._queues.setdefault(queue, deque())
        place = len(waiters)
        while place and waiters[place - 1].age > waiter.age:
            place -= 1
        waiters.insert(place, waiter)

    def pop(self) -> trio.lowlevel.Task:
        """Return the first task of the first queue, and move that queue to the end."""
        queue = next(iter(self._queues))
        waiters = self._queues.pop(queue)
        task = waiters.popleft().task
        if waiters:
            self._queues[queue] = waiters
        return task

    def remove(self, queue: _Queue, waiter: _Waiter) -> None:
        waiters = self._queues[queue]
        waiters.remove(waiter)
        if not waiters:
            del self._queues[queue]


class FairLimiter:
    """Limit of `capacity` concurrent turns, with a share for each peer.

    Peers take turns, and so do the clients of one peer. A thousand waiting tasks of one peer delay another
    peer by one turn, on one connection as on a thousand.
    """

    def __init__(self, capacity: int) -> None:
        self._taken = ResourceQuota(capacity, little=1)
        self._waiting: dict[Any, _Waiters] = {}
        """Waiting tasks by holder (`quota_key`)."""

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def acquire(self, client: Any, age: int | None = None, *, is_reader: bool = False) -> None:
        """Wait for a turn on behalf of `client`; always a checkpoint.

        Among the client's calls the lowest `age` is next; by default the call counts as new. The client's
        reader takes turns with its calls.
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
        """End a turn, and grant it to the next admissible peer in rotation."""
        self._taken.give_back(client)
        self._hand_out()

    async def pass_through(self, client: Any) -> None:
        """Wait for a turn as a reader of `client`, and release it immediately.

        For work that ends before the caller's next checkpoint, where `capacity` is 1: no other turn begins
        before that checkpoint.
        """
        await self.acquire(client, is_reader=True)
        self.release(client)

    def resize(self, capacity: int) -> None:
        """Change the capacity; turns in use beyond it are not granted again."""
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
        """Return the next holder that may have a turn, or None."""
        admits = self._taken.admits
        return next((holder for holder, waiters in self._waiting.items() if admits(waiters.first)), None)

    def _forget(self, holder: Any, queue: _Queue, waiter: _Waiter) -> None:
        waiters = self._waiting[holder]
        waiters.remove(queue, waiter)
        if not waiters:
            del self._waiting[holder]
