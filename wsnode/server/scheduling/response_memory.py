"""Results in the making: how much of them there may be, and whose turn it is to make more."""

from typing import Any, Protocol

import trio

from wsnode.jsonrpc.client_quota import quota_key
from wsnode.jsonrpc.errors import RpcError, limit_exceeded
from wsnode.jsonrpc.work import CallTask
from wsnode.server.scheduling.memory_quota import MemoryQuota

AGAIN_SECONDS = 0.05
"""Seconds between two checks of a waiting call for replies that have been read."""
WOKEN_AT_ONCE = 4
"""Calls woken at each change. Every connection may have one, and a change makes room for few."""


class PendingReplies(Protocol):
    """The replies that wait for a client to read."""

    @property
    def output_bytes(self) -> int:
        """Their bytes."""
        ...

    async def wait_room(self) -> None:
        """Wait until the client may be given more."""
        ...


class ResponseMemory:
    """Bytes of partial results that the calls of all connections hold, beside unread replies.

    Both count in one quota. Beyond it, no call of a peer that holds more than its share makes more. If calls
    hold more than waiting replies do, one of the peer that holds most is refused: others can end.
    """

    def __init__(self, quota: MemoryQuota) -> None:
        self.quota = quota
        self.used = 0
        """Bytes that calls hold, part of the quota's total."""
        self.accounts: dict[ConnectionResponseMemory, None] = {}
        """The connections that have calls in flight."""
        self._reserved = 0
        self.refusable = MemoryQuota(quota.limit)
        """Bytes that refusing calls would release."""
        self._changed = trio.lowlevel.ParkingLot()

    def add(self, client: Any, size: int) -> None:
        """Count `size` bytes more, or less, as held for `client`."""
        self.used += size
        self.quota.add(client, size)
        if size < 0:
            self._changed.unpark(count=WOKEN_AT_ONCE)

    async def wait_change(self) -> None:
        """Wait until there may be room."""
        with trio.move_on_after(AGAIN_SECONDS):
            await self._changed.park()

    async def reserve(self, client: Any, size: int) -> None:
        """Wait until there is room for `size` bytes, and count them for `client`; `give_back` ends that.

        Of the quota half can be reserved at the most: it may all be for results that turn out small.
        """
        while not self._has_room(size):
            await self.wait_change()
        self._reserved += size
        self.add(client, size)

    def give_back(self, client: Any, size: int) -> None:
        """Release `size` reserved bytes."""
        self._reserved -= size
        self.add(client, -size)

    def _has_room(self, size: int) -> bool:
        limit = self.quota.limit
        if self._reserved and 2 * (self._reserved + size) > limit:
            return False
        return not self.quota.used or self.quota.used + size <= limit

    def shed(self) -> None:
        """Refuse the call that holds most, of the peer whose calls do, where that makes room."""
        if (peer := self.refusable.largest) is None:
            return
        made = self.refusable.held_by(peer)
        mine = [
            account
            for account in self.accounts
            if quota_key(account.client) == peer and not account.is_closed
        ]
        largest = max(mine, key=lambda account: account.made)
        kept = self.quota.used
        if self.quota.has_used_up(largest.client):
            kept = self.quota.held_by(largest.client)
        else:
            made = self.refusable.used
        # If unread replies or reservations are most of it, no refusal helps.
        if 2 * made >= kept:
            largest.refuse_largest()


class ConnectionResponseMemory:
    """The bytes that the calls of one connection hold, and the calls that may add to them."""

    __slots__ = (
        "_calls",
        "_limit",
        "_refused",
        "_response_memory",
        "_waiters",
        "_waiting",
        "client",
        "is_closed",
        "made",
    )

    def __init__(
        self,
        response_memory: ResponseMemory,
        limit: int,
        waiting: PendingReplies | None = None,
        client: Any = None,
    ) -> None:
        """Beyond `limit` bytes calls take turns; their bytes count for `client`."""
        self.client = self if client is None else client
        self._response_memory = response_memory
        self._limit = limit
        self._waiting = waiting
        self.is_closed = False
        """Whether its calls are about to end unanswered."""
        self.made = 0
        """Bytes that they hold."""
        # In the order in which they began.
        self._calls: dict[CallTask, int] = {}
        self._refused: dict[CallTask, None] = {}
        """The calls that are about to be refused."""
        self._waiters: dict[CallTask, trio.Event] = {}
        """The calls that wait for room. Only the first checks for room, the others sleep: hundreds of checks
        at each change would block the event loop."""

    def close(self) -> None:
        """Have no call make more: they are about to end unanswered, and there is nothing to refuse."""
        self.is_closed = True
        for call, made in self._calls.items():
            if call not in self._refused:
                self._refused[call] = None
                self._response_memory.refusable.add(self.client, -made)

    def begin(self, task: CallTask) -> None:
        """Take a call up."""
        self._response_memory.accounts[self] = None
        self._calls[task] = 0
        if self.is_closed:
            self._refused[task] = None
        self.note(task)

    def note(self, task: CallTask) -> None:
        """Update the bytes of a call."""
        if not (more := task.made - self._calls[task]):
            return
        self._calls[task] = task.made
        self.made += more
        self._response_memory.add(self.client, more)
        if task not in self._refused:
            self._response_memory.refusable.add(self.client, more)

    def end(self, task: CallTask) -> None:
        """Remove a call, whose reply is posted next."""
        size = self._calls.pop(task)
        self.made -= size
        self._response_memory.add(self.client, -size)
        if task in self._refused:
            del self._refused[task]
        else:
            self._response_memory.refusable.add(self.client, -size)
        if not self._calls:
            del self._response_memory.accounts[self]

    async def wait_turn(self, task: CallTask) -> RpcError | None:
        """Wait until the call may make more of its result; return why it is refused, if it is."""
        if self._waiting is not None:
            await self._waiting.wait_room()
        if not self._is_settled(task):
            try:
                await self._wait_settled(task)
            finally:
                self._waiters.pop(task, None)
                self._wake(next(iter(self._waiters), None))
        if task not in self._refused:
            return None
        return limit_exceeded("too many bytes of replies are being made, try again")

    def _is_settled(self, task: CallTask) -> bool:
        return not self.is_closed and (task in self._refused or self.may_go_on(task))

    async def _wait_settled(self, task: CallTask) -> None:
        while not self._is_settled(task):
            if self.is_closed:
                await trio.sleep_forever()
            if not self._response_memory.quota.allows(self.client):
                self._response_memory.shed()
            woken = self._waiters[task] = trio.Event()
            if next(iter(self._waiters)) is not task:
                await woken.wait()
            else:
                self._wake(self._first(task))
                await self._response_memory.wait_change()
            if self._waiting is not None:
                await self._waiting.wait_room()

    def _wake(self, call: CallTask | None) -> None:
        """Have a call look again, if it waits."""
        if call is not None and (waiter := self._waiters.get(call)) is not None:
            waiter.set()

    def refuse_largest(self) -> None:
        """Refuse the call that holds most."""
        if left := [call for call in self._calls if call not in self._refused]:
            largest = max(left, key=self._calls.__getitem__)
            self._refused[largest] = None
            self._response_memory.refusable.add(self.client, -self._calls[largest])
            self._wake(largest)

    @property
    def _kept(self) -> int:
        return self.made + (0 if self._waiting is None else self._waiting.output_bytes)

    def may_go_on(self, task: CallTask) -> bool:
        """Return whether the call may extend its result now."""
        if self.is_closed or not self._response_memory.quota.allows(self.client):
            return False
        if self._kept <= self._limit:
            return True
        return self._first(task) is task

    def _first(self, task: CallTask) -> CallTask:
        """Return the first of those that have begun to make something, `task` if none has."""
        return next((call for call, made in self._calls.items() if made), task)
