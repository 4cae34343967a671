"""Sockets that wait to be read, in the order of what their peers have taken of the time so far.

Weighted fair queuing with equal weights: each place in the queue has the (virtual) time at which its work
would end if all places ran side by side, and the earliest comes first. A peer that asks for little waits for
little, even beside peers with ten thousand sockets or with long bursts, which wait for each other.

Places whose last burst was quick wait in a line, all others in a heap: with 256 of them the heap took a
seventh of the time of a quick call. One that takes its turn from the line, and is quick again, owes nothing
more than the line's common price, which `pop` has charged.
"""

from collections import OrderedDict, deque
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
MOST_KNOWN = 16_384
"""Places that came last and are remembered, with up to as many others."""

_NEW = (0.0, UNKNOWN_COST)
_QUICK = (0.0, QUICK_COST)
_Waiting = tuple[float, int, float, Place]
"""Expected end, order of arrival, start, place."""


class FairQueue:
    """A queue of sockets by their descriptors, in which a peer has one place however many it has."""

    __slots__ = (
        "_former",
        "_has_rest",
        "_history",
        "_line",
        "_now",
        "_others",
        "_queued",
        "_sequence",
        "_start",
        "_turn",
        "is_paid",
        "waiting",
    )

    def __init__(self) -> None:
        self.waiting = 0
        """The number of places that wait."""
        self._line: deque[Place] = deque()
        """Those whose last burst was quick, in their order."""
        self._others: list[_Waiting] = []
        """All others, as a heap."""
        self._queued: dict[Place, OrderedDict[int, None] | None] = {}
        """The sockets of each peer in the queue; None for a socket that stands for itself."""
        self._history: dict[Place, tuple[float, float]] = {}
        """The virtual time at which the last burst of a place ended, and what it cost, in seconds."""
        self._former: dict[Place, tuple[float, float]] = {}
        """Those of places that have not come since `_history` began anew."""
        self._now = 0.0
        self._sequence = 0
        self.is_paid = False
        """Whether the turn that `pop` began is paid for if it takes `QUICK_COST` seconds at most."""
        self._turn: Place | None = None
        """The place that `pop` took last, when its turn began, and whether it has more sockets."""
        self._start = 0.0
        self._has_rest = False

    @property
    def known(self) -> int:
        """Return of how many places it remembers what they have taken."""
        return len(self._history) + len(self._former)

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
        self.waiting += 1
        known = self._history.get(place) or self._recall(place)
        if known is _QUICK:
            self._line.append(place)
            return
        self._sequence += 1
        end, cost = known
        start = end if end > self._now else self._now
        heappush(self._others, (start + cost, self._sequence, start, place))

    def pop(self) -> int:
        """Remove and return the first socket of the first place.

        `charge` is to follow, unless the turn `is_paid` and was quick.

        Raises:
            IndexError: None waits.
        """
        line, others = self._line, self._others
        if line and not (others and others[0][0] < self._now + QUICK_COST):
            self._turn = place = line.popleft()
            self._start = self._now
            # When all in the line have had a turn, each has taken as much.
            self._now += QUICK_COST / (len(line) + 1)
            is_quick = True
        else:
            _, _, self._start, place = heappop(others)
            self._turn, self._now = place, max(self._now, self._start)
            is_quick = False
        self.waiting -= 1
        if (waiting := self._queued[place]) is None:
            del self._queued[place]
            self._has_rest, self.is_paid = False, is_quick
            assert isinstance(place, int)
            return place
        descriptor, _ = waiting.popitem(last=False)
        if not waiting:
            del self._queued[place]
        self._has_rest, self.is_paid = bool(waiting), is_quick and not waiting
        return descriptor

    def charge(self, seconds: float) -> None:
        """Have the place of the last socket pay for its turn, and wait again if it has more."""
        if (place := self._turn) is None:
            return
        if seconds <= QUICK_COST:
            self._history[place] = _QUICK
        else:
            cost = min(seconds, max(QUICK_COST, LONGEST_PENALTY / (self.waiting + 1)))
            self._history[place] = (self._start + cost, cost)
        if self._has_rest:
            self._push(place)
        if len(self._history) > MOST_KNOWN:
            # A place that was quick must not wait behind thousands that are new.
            self._former, self._history = self._history, {}

    def _recall(self, place: Place) -> tuple[float, float]:
        """Return what is known of a place from before `_history` began anew, and keep that longer."""
        if (known := self._former.pop(place, None)) is None:
            return _NEW
        self._history[place] = known
        return known

    def forget(self, descriptor: int) -> None:
        """Drop what is known of a socket that stands for itself."""
        self._history.pop(descriptor, None)
        self._former.pop(descriptor, None)
        if self._turn == descriptor:
            self._turn = None
