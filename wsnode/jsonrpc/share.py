"""Shares of what all clients of a process draw on, so that none of them can take all of it."""

from typing import Any

from wsnode.jsonrpc.errors import limit_exceeded

KEPT_BACK = 4
"""One part in `KEPT_BACK` of a bound is reserved for parties that hold little of it."""
LITTLE = 16


class Party:
    """One connection, and the peer whose share it counts against as well."""

    __slots__ = ("_keyed", "peer")

    def __init__(self, peer: str | None = None) -> None:
        self.peer = peer
        """A key or an address; None for connections of this machine, each of which may be another user's."""
        self._keyed: dict[str, Party] | None = None

    def of(self, key: str) -> "Party":
        """Return what stands for the connection where it uses a key, which then is the peer."""
        if self._keyed is None:
            self._keyed = {}
        if (party := self._keyed.get(key)) is None:
            party = self._keyed[key] = Party(key)
        return party


def holder_of(party: Any) -> Any:
    """Return the holder that a party counts for: its peer, or itself without one."""
    peer = getattr(party, "peer", None)
    return party if peer is None else peer


class Share:
    """A bound on what all parties hold together, of which each has a part.

    One peer holds at most half. The last quarter is for peers, and parties without one, that hold fewer than
    `little`: a newcomer finds room while others hold all that they may, on however many connections.
    """

    __slots__ = ("_held", "_little", "limit", "used")

    def __init__(self, limit: int, little: int = LITTLE) -> None:
        self.limit = limit
        self.used = 0
        self._little = little
        # A `Counter` deletes and looks up in Python, which every slice and every reply would wait for.
        self._held = dict[Any, int]()
        """By holder."""

    def admits(self, party: Any) -> bool:
        """Return whether `party` may hold one more."""
        # Asked in each turn, and nearly always so: what all hold is less than what one may.
        if 2 * self.used < self.limit:
            return True
        if self.used >= self.limit:
            return False
        held = self._held.get(holder := holder_of(party), 0)
        if holder is not party and held >= max(1, self.limit // 2):
            return False
        return self.used < self.limit - self.limit // KEPT_BACK or held < self._little

    def held_by(self, party: Any) -> int:
        """Return how much the peer of `party` holds, on all of its connections."""
        return self._held.get(holder_of(party), 0)

    def take(self, party: Any, count: int = 1) -> None:
        """Count `count` more for `party`, admitted or not."""
        self.used += count
        holder = holder_of(party)
        self._held[holder] = self._held.get(holder, 0) + count

    def take_or_refuse(self, party: Any, message: str) -> None:
        """Count one more of `party`.

        Raises:
            RpcError: `party` may not hold one more (-32005 with `message`).
        """
        if not self.admits(party):
            raise limit_exceeded(message, {"limit": self.limit})
        self.take(party)

    def give_back(self, party: Any, count: int = 1) -> None:
        """Count `count` fewer for `party`."""
        self.used -= count
        holder = holder_of(party)
        if left := self._held.get(holder, 0) - count:
            self._held[holder] = left
        else:
            self._held.pop(holder, None)
