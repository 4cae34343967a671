"""Bytes that the process holds for its clients, and the order in which clients wait or are closed beyond
them.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from wsnode.jsonrpc.share import Share, holder_of

OVERFLOW_BYTES = 64 * 1024 * 1024
"""Bytes beyond a limit at which the largest holder is ended."""
SHARE_BYTES = 64 * 1024
"""Bytes that each peer may hold even then, so that no client can starve the others."""


class Budget:
    """A bound on bytes kept by many connections together, of which each peer has a share (see `Share`)."""

    __slots__ = ("_share", "on_overflow")

    def __init__(self, limit: int) -> None:
        self._share = Share(limit, little=SHARE_BYTES)
        self.on_overflow: Callable[[], None] | None = None
        """Called while far more is kept than there should be: many clients may get one more reply each."""

    @property
    def limit(self) -> int:
        """The most bytes to hold."""
        return self._share.limit

    @limit.setter
    def limit(self, limit: int) -> None:
        self._share.limit = limit

    @property
    def used(self) -> int:
        """The bytes held now."""
        return self._share.used

    def add(self, party: Any, size: int) -> None:
        """Count `size` bytes more, or less, as kept for `party`."""
        if size < 0:
            self._share.give_back(party, -size)
        elif size:
            self._share.take(party, size)
            if self.used > self.limit + OVERFLOW_BYTES and self.on_overflow is not None:
                self.on_overflow()

    def kept_for(self, party: Any) -> int:
        """Return how much is kept for the peer of `party`, on all of its connections."""
        return self._share.held_by(party)

    def has_used_up(self, party: Any) -> bool:
        """Return whether the peer of `party`, if any, holds its full share."""
        return holder_of(party) is not party and 2 * self.kept_for(party) >= self.limit

    def is_ample(self, more: int) -> bool:
        """Return whether `more` bytes fit, whichever client holds them."""
        return 2 * (self.used + more) <= self.limit

    def allows(self, party: Any, more: int = 0) -> bool:
        """Return whether a connection may hold `more` bytes, and then still more.

        While the overflow is used up, no connection may, however little it holds.
        """
        if self.kept_for(party) + more <= SHARE_BYTES:
            return self.used <= self.limit + OVERFLOW_BYTES
        return self._share.admits(party)


class Holder(Protocol):
    """A connection that keeps bytes which only its client can put an end to."""

    @property
    def party(self) -> Any:
        """The holder that its bytes count for."""
        ...

    def give_up(self) -> None:
        """Release the bytes: this connection holds the most, and all together hold too many."""
        ...


class Held:
    """Bytes that connections keep for messages and calls, half of them for one peer at most.

    Beyond that the largest connection goes, of the peer that keeps most.
    """

    __slots__ = ("_by_peer", "_holders", "limit", "used")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._holders: dict[Holder, int] = {}
        self._by_peer = Counter[Any]()

    def hold(self, holder: Holder, size: int) -> None:
        """Set the bytes of `holder` to `size`."""
        before = self._holders.get(holder, 0)
        self._count(holder, size)
        if size > before:
            peer = holder_of(holder.party)
            while peer is not holder.party and 2 * self._by_peer[peer] > self.limit and self._give_up(peer):
                pass
            while self.used > self.limit and self._give_up(max(self._by_peer, key=self._by_peer.__getitem__)):
                pass

    def _count(self, holder: Holder, size: int) -> None:
        more = size - self._holders.pop(holder, 0)
        if size:
            self._holders[holder] = size
        self.used += more
        self._by_peer[peer := holder_of(holder.party)] += more
        if not self._by_peer[peer]:
            del self._by_peer[peer]

    def _give_up(self, peer: Any) -> bool:
        """End the largest connection of a peer, except a small one while the total is not far beyond the
        limit.
        """
        mine = (holder for holder in self._holders if holder_of(holder.party) == peer)
        largest = max(mine, key=self._holders.__getitem__)
        if self._by_peer[peer] <= SHARE_BYTES and self.used <= self.limit + OVERFLOW_BYTES:
            return False
        self._count(largest, 0)
        largest.give_up()
        return True
