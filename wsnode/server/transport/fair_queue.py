"""Sockets that wait to be read, in the order of what their peers have taken of the time so far.

Weighted fair queuing with equal weights: each place in the queue has the (virtual) time at which its work
would end if all places ran side by side, and the earliest comes first. A peer that asks for little waits for
little, even beside peers with ten thousand sockets or with long bursts, which wait for each other.
"""

from collections import OrderedDict
from heapq import heappop, heappush

Peer = str | None
"""A key or an address; None for a socket that stands for itself."""
Place = int | str
"""A socket without a peer, or a peer with all of its sockets."""

UNKNOWN_COST = 0.002
"""Seconds that the first burst of a place is expected to take."""
QUICK_COST = 0.0002
"""Seconds that every quick burst costs alike, so that quick places take turns in their order."""
LONGEST_PENALTY = 0.02
"""Seconds that a longer burst, or a pause within one, keeps its place waiting beside others at the most."""
MOST_KNOWN = 4096
"""Places remembered, at least, before those are dropped whose time has passed."""

_NEW = (0.0, UNKNOWN_COST)


class FairQueue:
    """A queue of sockets by their descriptors, in which a peer has one place however many it has."""

    __slots__ = (
        "_has_rest",
        "_history",
        "_most_known",
        "_now",
        "_queued",
        "_sequence",
        "_start",
        "_turn",
        "places",
    )

    def __init__(self) -> None:
        self.places: list[tuple[float, int, float, Place]] = []
        """Those that wait, as a heap: expected end, order of arrival, start, place."""
        self._queued: dict[Place, OrderedDict[int, None] | None] = {}
        """The sockets of each peer in the queue; None for a socket that stands for itself."""
        self._history: dict[Place, tuple[float, float]] = {}
        """The virtual time at which the last burst of a place ended, and what it cost, in seconds."""
        self._most_known = MOST_KNOWN
        self._now = 0.0
        self._sequence = 0
        self._turn: Place | None = None
        """The place that `pop` took last, when its turn began, and whether it has more sockets."""
        self._start = 0.0
        self._has_rest = False

    @property
    def known(self) -> int:
        """Return of how many places it remembers what they have taken."""
        return len(self._history)

    def add(self, descriptor: int, peer: Peer) -> None:
        """Have a socket wait behind its peer's others, if it does not wait already."""
        if peer is None:
            if descriptor not in self._queued:
                self._queued[descriptor] = None
                self._push(descriptor)
        elif (waiting := self._queued.get(peer)) is not None:
            waiting[descriptor] = None
        else:
            self._queued[peer] = OrderedDict({descriptor: None})
            self._push(peer)

    def _push(self, place: Place) -> None:
        end, cost = self._history.get(place, _NEW)
        start = end if end > self._now else self._now
        self._sequence += 1
        heappush(self.places, (start + cost, self._sequence, start, place))

    def pop(self) -> int:
        """Remove and return the first socket of the first place; `charge` is to follow.

        Raises:
            IndexError: None waits.
        """
        _, _, start, place = heappop(self.places)
        self._turn, self._start = place, start
        if start > self._now:
            self._now = start
        waiting = self._queued[place]
        descriptor = place if waiting is None else waiting.popitem(last=False)[0]
        assert isinstance(descriptor, int)
        self._has_rest = bool(waiting)
        if not waiting:
            del self._queued[place]
        return descriptor

    def charge(self, seconds: float) -> None:
        """Have the place of the last socket pay for its turn, and wait again if it has more."""
        if (place := self._turn) is None:
            return
        cost = QUICK_COST
        if seconds > QUICK_COST:
            most = max(QUICK_COST, LONGEST_PENALTY / (len(self.places) + 1))
            cost = min(seconds, most)
        self._history[place] = (self._start + cost, cost)
        if self._has_rest:
            self._push(place)
        if len(self._history) > self._most_known:
            self._drop_passed()

    def forget(self, descriptor: int) -> None:
        """Drop what is known of a socket that stands for itself."""
        self._history.pop(descriptor, None)
        if self._turn == descriptor:
            self._turn = None

    def _drop_passed(self) -> None:
        """Drop what is known of places that would begin anew anyway."""
        self._history = {place: known for place, known in self._history.items() if known[0] > self._now}
        self._most_known = max(MOST_KNOWN, 2 * len(self._history))
