"""Feed of pending transactions; the store has none, so the last ones are kept here for filters."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final, Protocol

import msgspec

from wsnode.ethereum.live.contents import PendingIndex, TransactionFilter
from wsnode.ethereum.live.notices import Message, notification
from wsnode.pubsub.fan_out import FanOut, Group
from wsnode.pubsub.subscription import PART_BYTES, Event

KEPT: Final = 16_384
"""Number of transactions kept for filters that are behind."""
KEPT_BYTES: Final = 32 * 1024 * 1024


class PendingTransaction(Protocol):
    """Transaction to publish to subscriptions to pending transactions; implemented by `PooledTransaction`,
    for one added to the pool, and by transactions received from followed nodes.
    """

    @property
    def hash(self) -> bytes: ...

    @property
    def size(self) -> int:
        """Return the transaction's size on the network, in bytes."""

    @property
    def sender(self) -> bytes: ...

    @property
    def to(self) -> bytes | None:
        """Return the receiver's address, None for the creation of a contract."""


class PendingSpec(msgspec.Struct, frozen=True):
    """Filter of a subscription's pending transactions, and their form: hashes, or objects if `full`."""

    full: bool = False
    wanted: TransactionFilter = TransactionFilter()


class PendingEvents:
    """Group of the subscribers with one `PendingSpec`, with `count`, the number of transactions published to
    it, and `holders`, the number of subscriptions.
    """

    __slots__ = ("count", "group", "holders")

    def __init__(self, fan_out: FanOut) -> None:
        self.group = Group(fan_out)
        self.count = 0
        """Number of transactions so far."""
        self.holders = 0


class LaggedError(Exception):
    """Error: more transactions came than are kept; `count` of them are lost."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


class PendingFeed:
    """Publisher of new pending transactions, numbered in the order of arrival."""

    def __init__(self, fan_out: FanOut) -> None:
        self.count = 0
        """Number of transactions so far."""
        self._fan_out = fan_out
        self._events: dict[PendingSpec, PendingEvents] = {}
        self._index = PendingIndex()
        """Filters of the subjects that do not select all transactions."""
        self._kept: deque[PendingTransaction] = deque()
        self._kept_bytes = 0
        self._heard: dict[bytes, None] = {}
        """Hashes of transactions announced by other nodes that have not entered the pool since."""
        self._pooled: dict[bytes, None] | None = None
        """Hashes in the pool that no other node announced since; None without a subscription to one."""
        self.render: Callable[[Any], bytes] = render_hash
        """Function that renders a whole transaction."""

    def hold(self, subject: PendingSpec) -> PendingEvents:
        """Return the events of a subject; each call is undone by one of `release`."""
        if (events := self._events.get(subject)) is None:
            events = self._events[subject] = PendingEvents(self._fan_out)
            self._index.add(subject.wanted)
        events.holders += 1
        return events

    def release(self, subject: PendingSpec) -> None:
        """Undo a call of `hold`; the last one drops the subject's events."""
        events = self._events[subject]
        events.holders -= 1
        if events.holders:
            return
        del self._events[subject]
        if PendingSpec(not subject.full, subject.wanted) not in self._events:
            self._index.remove(subject.wanted)

    @property
    def is_watched(self) -> bool:
        return bool(self._events or self._index)

    def hear(self, arrivals: Sequence[PendingTransaction]) -> None:
        """Publish other nodes' pending transactions, each once even if the pool has it before or later."""
        if self._pooled is None:
            self._pooled = dict.fromkeys(arrival.hash for arrival in self._kept)
        news = _without(arrivals, self._pooled)
        self._tell(news)
        _remember(self._heard, news)

    def announce(self, arrivals: Sequence[PendingTransaction]) -> None:
        """Publish transactions that have just come into the pool."""
        news = _without(arrivals, self._heard)
        self._tell(news)
        if self._pooled is not None:
            _remember(self._pooled, news)

    def _tell(self, arrivals: Sequence[PendingTransaction]) -> None:
        if not arrivals:
            return
        for wanted, some in self._selected(arrivals):
            for full, render in ((False, render_hash), (True, self.render)):
                if (events := self._events.get(PendingSpec(full, wanted))) is not None:
                    _publish(events, render, some)
        self.count += len(arrivals)
        for arrival in arrivals:
            self._keep(arrival)

    def _selected(
        self, arrivals: Sequence[PendingTransaction]
    ) -> Iterable[tuple[TransactionFilter, Sequence[PendingTransaction]]]:
        """Return the filters that select any of these transactions, each with those it selects."""
        selected: defaultdict[TransactionFilter, list[PendingTransaction]] = defaultdict(list)
        if self._index:
            for arrival in arrivals:
                for wanted in self._index.matching(arrival.sender, arrival.to):
                    selected[wanted].append(arrival)
        return [(TransactionFilter(), arrivals), *selected.items()]

    def since(self, count: int) -> Sequence[PendingTransaction]:
        """Return the transactions after the first `count`.

        Raises:
            LaggedError: Some of them are no longer kept.
        """
        wanted = self.count - count
        if wanted > len(self._kept):
            raise LaggedError(wanted - len(self._kept))
        return list(islice(self._kept, len(self._kept) - wanted, None))

    @property
    def oldest(self) -> int:
        """Return the number of transactions before the first kept one."""
        return self.count - len(self._kept)

    def _keep(self, arrival: PendingTransaction) -> None:
        self._kept.append(arrival)
        self._kept_bytes += arrival.size
        while len(self._kept) > KEPT or self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= self._kept.popleft().size


def _publish(
    events: PendingEvents,
    render: Callable[[PendingTransaction], bytes],
    arrivals: Sequence[PendingTransaction],
) -> None:
    before = events.count
    events.count += len(arrivals)
    if not len(events.group):
        return
    messages: list[Message] = []
    size = 0
    for number, arrival in enumerate(arrivals, before):
        if size >= PART_BYTES:
            events.group.publish(Event(messages), before)
            messages, size, before = [], 0, number
        messages.append(message := notification(render(arrival)))
        size += len(message[0]) + len(message[1])
    events.group.publish(Event(messages), before)


def _without(
    arrivals: Sequence[PendingTransaction], known: dict[bytes, None]
) -> Sequence[PendingTransaction]:
    """Return the arrivals whose hashes are not in `known`; the others are removed from `known`."""
    if not known:
        return arrivals
    return [arrival for arrival in arrivals if known.pop(arrival.hash, arrival) is arrival]


def _remember(known: dict[bytes, None], arrivals: Sequence[PendingTransaction]) -> None:
    for arrival in arrivals:
        known[arrival.hash] = None
    while len(known) > KEPT:
        del known[next(iter(known))]


def render_hash(arrival: PendingTransaction) -> bytes:
    """Return the JSON text of a transaction's hash."""
    return b'"0x%b"' % arrival.hash.hex().encode()
