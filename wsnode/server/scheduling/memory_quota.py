"""Bytes that the process holds for its clients, and the order in which clients wait or are closed beyond
them.
"""

from collections.abc import Callable
from typing import Any, Protocol

from wsnode.jsonrpc.client_quota import ClientQuota, quota_key

OVERFLOW_BYTES = 64 * 1024 * 1024
"""Bytes beyond a limit at which the largest holder is ended."""
SHARE_BYTES = 64 * 1024
"""Bytes that each peer may hold even then, so that no client can starve the others."""


class MemoryQuota(ClientQuota):
    """Bytes that connections keep, of which a client may hold a little even where there is no room."""

    __slots__ = ("on_overflow",)

    def __init__(self, limit: int) -> None:
        super().__init__(limit, little=SHARE_BYTES)
        self.on_overflow: Callable[[], None] | None = None
        """Called while far more is kept than there should be: many clients may get one more reply each."""

    def add(self, client: Any, size: int) -> None:
        """Count `size` bytes more, or less, as kept for `client`."""
        if size < 0:
            self.give_back(client, -size)
        elif size:
            self.take(client, size)
            if self.used > self.limit + OVERFLOW_BYTES and self.on_overflow is not None:
                self.on_overflow()

    def has_used_up(self, client: Any) -> bool:
        """Return whether the peer of `client`, if any, holds its full share."""
        return quota_key(client) is not client and 2 * self.held_by(client) >= self.limit

    def is_ample(self, more: int) -> bool:
        """Return whether `more` bytes fit, whichever client holds them."""
        return 2 * (self.used + more) <= self.limit

    def allows(self, client: Any, more: int = 0) -> bool:
        """Return whether a connection may hold `more` bytes, and then still more.

        While the overflow is used up, no connection may, however little it holds.
        """
        if self.held_by(client) + more <= SHARE_BYTES:
            return self.used <= self.limit + OVERFLOW_BYTES
        return self.admits(client)


class BufferOwner(Protocol):
    """A connection that keeps bytes which only its client can put an end to."""

    @property
    def client(self) -> Any:
        """The holder that its bytes count for."""
        ...

    def evict(self) -> None:
        """Release the bytes: this connection holds the most, and all together hold too many."""
        ...


class InputQuota(MemoryQuota):
    """Bytes that connections keep for messages and calls.

    Beyond the limit, and where one peer holds more than half, the largest connection goes of the peer that
    keeps most.
    """

    __slots__ = ("_holders",)

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._holders: dict[BufferOwner, int] = {}

    def hold(self, holder: BufferOwner, size: int) -> None:
        """Set the bytes of `holder` to `size`."""
        before = self._holders.get(holder, 0)
        self._count(holder, size)
        if size > before:
            peer = quota_key(holder.client)
            while self.has_more_than_half(holder.client) and self._evict(peer):
                pass
            while self.used > self.limit and self._evict(self.largest):
                pass

    def has_more_than_half(self, client: Any) -> bool:
        """Return whether the peer of `client`, if any, holds more than its share."""
        return quota_key(client) is not client and 2 * self.held_by(client) > self.limit

    def _count(self, holder: BufferOwner, size: int) -> None:
        more = size - self._holders.pop(holder, 0)
        if size:
            self._holders[holder] = size
        self.add(holder.client, more)

    def _evict(self, peer: Any) -> bool:
        """End the largest connection of a peer, except a small one while the total is not far beyond the
        limit.
        """
        mine = (holder for holder in self._holders if quota_key(holder.client) == peer)
        largest = max(mine, key=self._holders.__getitem__)
        if self.held_by(peer) <= SHARE_BYTES and self.used <= self.limit + OVERFLOW_BYTES:
            return False
        self._count(largest, 0)
        largest.evict()
        return True
