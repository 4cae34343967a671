"""Pending transactions as they come: they are in no store, so the last ones are kept for filters."""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final, Protocol

from wsnode.ethereum.live.notices import Message, notification
from wsnode.pubsub.event import PART_BYTES, Event
from wsnode.pubsub.fan_out import FanOut
from wsnode.pubsub.group import Group

KEPT: Final = 16_384
"""Transactions kept for filters that are behind."""
KEPT_BYTES: Final = 32 * 1024 * 1024


class Arrival(Protocol):
    """A transaction that came into the pool."""

    @property
    def hash(self) -> bytes:
        """Return its hash."""
        ...

    @property
    def size(self) -> int:
        """Return its bytes on the network."""
        ...


class MissedError(Exception):
    """More transactions came than are kept: `count` of them are gone."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


class PendingFeed:
    """Publishes new pending transactions, numbered in the order of their arrival."""

    def __init__(self, fan_out: FanOut) -> None:
        self.count = 0
        """The number of transactions so far."""
        self.hashes = Group(fan_out)
        self.full = Group(fan_out)
        self._kept: deque[Arrival] = deque()
        self._kept_bytes = 0
        self._heard: dict[bytes, None] = {}
        """Hashes of what was heard of, and has not come into the pool since."""
        self._pooled: dict[bytes, None] | None = None
        """Hashes of what came into the pool, and was not heard of since; None where nothing is heard."""
        self.render: Callable[[Any], bytes] = render_hash
        """Renders a whole transaction."""

    def hear(self, arrivals: Sequence[Arrival]) -> None:
        """Publish what other nodes have pending; that the pool gets it later, or had it, is no news."""
        if self._pooled is None:
            self._pooled = dict.fromkeys(arrival.hash for arrival in self._kept)
        news = _without(arrivals, self._pooled)
        self._tell(news)
        _remember(self._heard, news)

    def announce(self, arrivals: Sequence[Arrival]) -> None:
        """Publish transactions that have just become pending."""
        news = _without(arrivals, self._heard)
        self._tell(news)
        if self._pooled is not None:
            _remember(self._pooled, news)

    def _tell(self, arrivals: Sequence[Arrival]) -> None:
        if not arrivals:
            return
        self._publish(self.hashes, render_hash, arrivals)
        self._publish(self.full, self.render, arrivals)
        self.count += len(arrivals)
        for arrival in arrivals:
            self._keep(arrival)

    def since(self, count: int) -> Sequence[Arrival]:
        """Return what came behind the first `count`.

        Raises:
            MissedError: Some of it is not kept any more.
        """
        wanted = self.count - count
        if wanted > len(self._kept):
            raise MissedError(wanted - len(self._kept))
        return list(islice(self._kept, len(self._kept) - wanted, None))

    @property
    def oldest(self) -> int:
        """Return how many came before the first that is kept."""
        return self.count - len(self._kept)

    def _publish(self, group: Group, render: Callable[[Arrival], bytes], arrivals: Sequence[Arrival]) -> None:
        if not len(group):
            return
        messages: list[Message] = []
        size, before = 0, self.count
        for number, arrival in enumerate(arrivals, self.count):
            if size >= PART_BYTES:
                group.publish(Event(messages), before)
                messages, size, before = [], 0, number
            messages.append(message := notification(render(arrival)))
            size += len(message[0]) + len(message[1])
        group.publish(Event(messages), before)

    def _keep(self, arrival: Arrival) -> None:
        self._kept.append(arrival)
        self._kept_bytes += arrival.size
        while len(self._kept) > KEPT or self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= self._kept.popleft().size


def _without(arrivals: Sequence[Arrival], known: dict[bytes, None]) -> Sequence[Arrival]:
    """Return those that are not known; what comes once more after this is news."""
    if not known:
        return arrivals
    return [arrival for arrival in arrivals if known.pop(arrival.hash, arrival) is arrival]


def _remember(known: dict[bytes, None], arrivals: Sequence[Arrival]) -> None:
    for arrival in arrivals:
        known[arrival.hash] = None
    while len(known) > KEPT:
        del known[next(iter(known))]


def render_hash(arrival: Arrival) -> bytes:
    """Return the JSON text of a transaction's hash."""
    return b'"0x%b"' % arrival.hash.hex().encode()
