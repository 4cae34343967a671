"""Bytes that the process holds for its clients, and the rules for clients beyond the bounds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import trio

from wsnode.jsonrpc.resource_quota import ResourceQuota, quota_key

OVERFLOW_BYTES = 64 * 1024 * 1024
"""Bytes above a limit at which the largest holder is ended."""
AGAIN_SECONDS = 0.05
"""Seconds between two checks by a waiting call for room."""
WOKEN_AT_ONCE = 4
"""Calls woken at each change; every connection may have one, and a change makes room for few."""
GUARANTEED_BYTES = 64 * 1024
"""Bytes guaranteed to each peer even above the limit, so that none is starved by others."""


class MemoryQuota(ResourceQuota):
    """Quota of bytes held by connections; a client may hold `GUARANTEED_BYTES` even when it is used up."""

    __slots__ = ("on_overflow",)

    def __init__(self, limit: int) -> None:
        super().__init__(limit, little=GUARANTEED_BYTES)
        self.on_overflow: Callable[[], None] | None = None
        """Callback while the bytes exceed the limit by `OVERFLOW_BYTES`.

        Many clients may then get one more reply each.
        """

    def add(self, client: Any, size: int) -> None:
        """Count `size` bytes for `client`; a negative size releases bytes."""
        if size < 0:
            self.give_back(client, -size)
        elif size:
            self.take(client, size)
            if self.used > self.limit + OVERFLOW_BYTES and self.on_overflow is not None:
                self.on_overflow()

    @contextmanager
    def counted(self, client: Any, size: int) -> Iterator[None]:
        self.add(client, size)
        try:
            yield
        finally:
            self.add(client, -size)

    def has_used_up(self, client: Any) -> bool:
        """Return True if the peer of `client` holds half of the limit or more; False without a peer."""
        return quota_key(client) is not client and 2 * self.held_by(client) >= self.limit

    def is_ample(self, more: int) -> bool:
        """Return True if `more` bytes fit into half of the limit."""
        return 2 * (self.used + more) <= self.limit

    def allows(self, client: Any, more: int = 0) -> bool:
        """Return True if a connection of `client` may hold `more` bytes.

        Above `OVERFLOW_BYTES` beyond the limit no connection may, however little it holds.
        """
        if self.held_by(client) + more <= GUARANTEED_BYTES:
            return self.used <= self.limit + OVERFLOW_BYTES
        return self.admits(client)


class BufferOwner(Protocol):
    """Connection that keeps received bytes until its client acts; `InputQuota` calls `evict` on one of them
    while they keep too many.
    """

    @property
    def client(self) -> Any: ...

    def evict(self) -> None:
        """Release the bytes, because this connection was chosen while too many bytes are held."""
        ...


class InputQuota(MemoryQuota):
    """Quota of bytes held by connections for messages and calls.

    Beyond the limit, the largest connection of the peer with the most bytes is evicted; a peer with more than
    half loses its own largest connection.
    """

    __slots__ = ("_holders",)

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._holders: dict[BufferOwner, int] = {}

    def hold(self, holder: BufferOwner, size: int) -> None:
        """Set the bytes held by `holder` to `size`, and evict connections while a bound is exceeded."""
        before = self._holders.get(holder, 0)
        self._count(holder, size)
        if size > before:
            peer = quota_key(holder.client)
            while self.has_more_than_half(holder.client) and self._evict(peer):
                pass
            while self.used > self.limit and self._evict(self.largest):
                pass

    def has_more_than_half(self, client: Any) -> bool:
        """Return True if the peer of `client` holds more than half of the limit; False without a peer."""
        return quota_key(client) is not client and 2 * self.held_by(client) > self.limit

    def _count(self, holder: BufferOwner, size: int) -> None:
        more = size - self._holders.pop(holder, 0)
        if size:
            self._holders[holder] = size
        self.add(holder.client, more)

    def _evict(self, peer: Any) -> bool:
        """Evict the largest connection of a peer; return True if one was evicted.

        A peer with at most `GUARANTEED_BYTES` is spared until the limit is exceeded by `OVERFLOW_BYTES`.
        """
        mine = (holder for holder in self._holders if quota_key(holder.client) == peer)
        largest = max(mine, key=self._holders.__getitem__)
        if self.held_by(peer) <= GUARANTEED_BYTES and self.used <= self.limit + OVERFLOW_BYTES:
            return False
        self._count(largest, 0)
        largest.evict()
        return True


class ResultOwner(Protocol):
    """Connection whose calls hold bytes of partial results, as `OutputQuota` sees it; `ClientQuota`
    implements it.
    """

    @property
    def client(self) -> Any: ...

    @property
    def made(self) -> int:
        """Return the bytes held by its calls."""
        ...

    @property
    def is_closed(self) -> bool:
        """Return True if its calls are to end unanswered."""
        ...

    def refuse_largest(self) -> None:
        """Refuse the call that holds the most bytes."""
        ...


class OutputQuota(MemoryQuota):
    """Quota of bytes of replies: those that wait to be read, and partial results of calls.

    Once it is used up, no call of a peer with its full share adds to its result. If calls then hold more than
    unread replies do, one call of the peer with the most is refused, so that others can end.
    """

    __slots__ = ("_changed", "_reserved", "in_calls", "owners", "refusable")

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.in_calls = 0
        self.owners: dict[ResultOwner, None] = {}
        """Connections that have calls in flight."""
        self.refusable = MemoryQuota(limit)
        """Bytes that would be released by refusing calls."""
        self._reserved = 0
        self._changed = trio.lowlevel.ParkingLot()

    def add_result(self, client: Any, size: int) -> None:
        """Count `size` bytes of a partial result for `client`; a negative size releases bytes."""
        self.in_calls += size
        self.add(client, size)
        if size < 0:
            self._changed.unpark(count=WOKEN_AT_ONCE)

    async def wait_change(self) -> None:
        """Wait until a call releases bytes, `AGAIN_SECONDS` at most."""
        with trio.move_on_after(AGAIN_SECONDS):
            await self._changed.park()

    async def reserve(self, client: Any, size: int) -> None:
        """Wait until there is room for `size` bytes, and reserve them for `client` until `end_reservation`.

        At most half of the quota can be reserved, since the reserved results may turn out small.
        """
        while not self._has_room(size):
            await self.wait_change()
        self._reserved += size
        self.add_result(client, size)

    def end_reservation(self, client: Any, size: int) -> None:
        self._reserved -= size
        self.add_result(client, -size)

    def _has_room(self, size: int) -> bool:
        if self._reserved and 2 * (self._reserved + size) > self.limit:
            return False
        return not self.used or self.used + size <= self.limit

    def shed(self) -> None:
        """Refuse the largest call of the peer with the most bytes in calls, if that makes enough room."""
        if (peer := self.refusable.largest) is None:
            return
        made = self.refusable.held_by(peer)
        mine = [owner for owner in self.owners if quota_key(owner.client) == peer and not owner.is_closed]
        largest = max(mine, key=lambda owner: owner.made)
        kept = self.used
        if self.has_used_up(largest.client):
            kept = self.held_by(largest.client)
        else:
            made = self.refusable.used
        # Refusing calls helps only if calls hold at least half of the bytes. Unread replies or reservations
        # hold the rest.
        if 2 * made >= kept:
            largest.refuse_largest()
