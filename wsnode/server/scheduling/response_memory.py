"""Memory of results in the making: its bound, and the order in which calls may use it."""

from typing import Any, Protocol

import trio

from wsnode.jsonrpc.client_quota import quota_key
from wsnode.jsonrpc.errors import RpcError, limit_exceeded
from wsnode.jsonrpc.work import CallTask
from wsnode.server.scheduling.memory_quota import MemoryQuota

AGAIN_SECONDS = 0.05
"""Seconds between two checks by a waiting call for room."""
WOKEN_AT_ONCE = 4
"""Calls woken at each change. Every connection may have one, and a change makes room for few."""


class PendingReplies(Protocol):
    """Replies that wait for a client to read."""

    @property
    def output_bytes(self) -> int:
        """Return their size in bytes."""
        ...

    async def wait_room(self) -> None:
        """Wait until the client may be given more."""
        ...


class ResponseMemory:
    """Bytes of partial results that calls of all connections hold, in one quota with unread replies.

    Once the quota is used up, no call of a peer with its full share makes more. If then calls hold more than
    unread replies do, one call of the peer with the most is refused, so that others can end.
    """

    def __init__(self, quota: MemoryQuota) -> None:
        self.quota = quota
        self.used = 0
        """Bytes held by calls, a part of the quota's total."""
        self.accounts: dict[ConnectionResponseMemory, None] = {}
        """Connections that have calls in flight."""
        self._reserved = 0
        self.refusable = MemoryQuota(quota.limit)
        """Bytes that would be released by refusing calls."""
        self._changed = trio.lowlevel.ParkingLot()

    def add(self, client: Any, size: int) -> None:
        """Count `size` bytes for `client`; a negative size releases bytes."""
        self.used += size
        self.quota.add(client, size)
        if size < 0:
            self._changed.unpark(count=WOKEN_AT_ONCE)

    async def wait_change(self) -> None:
        """Wait for a release of bytes, `AGAIN_SECONDS` at most."""
        with trio.move_on_after(AGAIN_SECONDS):
            await self._changed.park()

    async def reserve(self, client: Any, size: int) -> None:
        """Wait until there is room for `size` bytes, and reserve them for `client` until `give_back`.

        At most half of the quota can be reserved, since the reserved results may turn out small.
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
        """Refuse the largest call of the peer with the most bytes in calls, if its bytes make enough room."""
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
    """Bytes held by the calls of one connection, and the order of its calls."""

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
        """Make an account; above `limit` bytes its calls take turns. Its bytes are counted for `client`."""
        self.client = self if client is None else client
        self._response_memory = response_memory
        self._limit = limit
        self._waiting = waiting
        self.is_closed = False
        """True once its calls are about to end unanswered."""
        self.made = 0
        """Bytes held by its calls."""
        # In the order in which they began.
        self._calls: dict[CallTask, int] = {}
        self._refused: dict[CallTask, None] = {}
        """Calls that are about to be refused."""
        self._waiters: dict[CallTask, trio.Event] = {}
        """Calls that wait for room. Only the first checks for room, the others sleep: hundreds of checks at
        each change would block the event loop.
        """

    def close(self) -> None:
        """Stop all calls from making more: they are about to end unanswered, and none is to be refused."""
        self.is_closed = True
        for call, made in self._calls.items():
            if call not in self._refused:
                self._refused[call] = None
                self._response_memory.refusable.add(self.client, -made)

    def begin(self, task: CallTask) -> None:
        """Add a call."""
        self._response_memory.accounts[self] = None
        self._calls[task] = 0
        if self.is_closed:
            self._refused[task] = None
        self.note(task)

    def note(self, task: CallTask) -> None:
        """Update the bytes that a call holds."""
        if not (more := task.made - self._calls[task]):
            return
        self._calls[task] = task.made
        self.made += more
        self._response_memory.add(self.client, more)
        if task not in self._refused:
            self._response_memory.refusable.add(self.client, more)

    def end(self, task: CallTask) -> None:
        """Remove a call; its reply is posted next."""
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
        """Wait until the call may make more of its result; return None if it may, or the error with which it
        is refused.
        """
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
        """Have a waiting call check again."""
        if call is not None and (waiter := self._waiters.get(call)) is not None:
            waiter.set()

    def refuse_largest(self) -> None:
        """Refuse the call of this connection that holds the most bytes."""
        if left := [call for call in self._calls if call not in self._refused]:
            largest = max(left, key=self._calls.__getitem__)
            self._refused[largest] = None
            self._response_memory.refusable.add(self.client, -self._calls[largest])
            self._wake(largest)

    @property
    def _kept(self) -> int:
        return self.made + (0 if self._waiting is None else self._waiting.output_bytes)

    def may_go_on(self, task: CallTask) -> bool:
        """Return True if the call may add to its result now."""
        if self.is_closed or not self._response_memory.quota.allows(self.client):
            return False
        if self._kept <= self._limit:
            return True
        return self._first(task) is task

    def _first(self, task: CallTask) -> CallTask:
        """Return the oldest call that holds bytes, `task` if none does."""
        return next((call for call, made in self._calls.items() if made), task)
