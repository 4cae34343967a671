"""Filter of logs of requests, subscriptions and searches, and an index that matches logs with filters."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import Final, Generic, TypeVar

import msgspec
from pyroaring import BitMap

from wsnode.ethereum.codec.chain_tables import LogCriteria

MAX_TOPICS: Final = 4

Log = tuple[bytes, tuple[bytes, ...]]
"""Address and topics of a log."""


class LogFilter(msgspec.Struct, frozen=True):
    """Filter of logs in the blocks `first` to `last`, both included, or in all blocks from `first` on.

    `addresses`: the log's address is one of these, or any if empty. `topics`: for each position the log's
    topic is one of the values, or any if empty; a log with fewer topics than positions does not match.
    """

    addresses: Sequence[bytes] = ()
    topics: Sequence[Sequence[bytes]] = ()
    first: int = 0
    last: int | None = None

    def canonical(self) -> "LogFilter":
        """Return the filter in a canonical form, equal and with an equal hash for equivalent filters."""
        topics = tuple(_sorted(alternatives) for alternatives in self.topics)
        return LogFilter(_sorted(self.addresses), topics, self.first, self.last)

    def between(self, first: int, last: int | None) -> "LogFilter":
        return LogFilter(self.addresses, self.topics, first, last)

    def covers(self, number: int) -> bool:
        return self.first <= number and (self.last is None or number <= self.last)

    def matches(self, log: Log) -> bool:
        """Return True if a log in these blocks matches."""
        address, topics = log
        if self.addresses and address not in self.addresses:
            return False
        if len(topics) < len(self.topics):
            return False
        return all(
            not alternatives or topic in alternatives
            for topic, alternatives in zip(topics, self.topics, strict=False)
        )

    @property
    def criteria(self) -> LogCriteria:
        """Return its addresses and topics, without the range of blocks, for a search."""
        return LogCriteria(self.addresses, self.topics)

    @property
    def parameter_count(self) -> int:
        """Return the number of addresses and topics that it names."""
        return len(self.addresses) + sum(map(len, self.topics))


def _sorted(values: Sequence[bytes]) -> tuple[bytes, ...]:
    return tuple(sorted(set(map(bytes, values))))


Owner = TypeVar("Owner", bound=Hashable)


class _Place:
    """Index of filters by one condition, on a log's address or on its topic at one position: bitmaps of the
    filters' numbers by required value.
    """

    __slots__ = ("by_value", "open")

    def __init__(self) -> None:
        self.by_value: defaultdict[bytes, BitMap] = defaultdict(BitMap)
        self.open = BitMap()
        """Filters that accept any value."""

    def add(self, number: int, values: Iterable[bytes]) -> None:
        """Add a filter under its values; without values it accepts any."""
        names = tuple(values)
        if not names:
            self.open.add(number)
        for value in names:
            self.by_value[value].add(number)

    def discard(self, number: int, values: Iterable[bytes]) -> None:
        self.open.discard(number)
        for value in values:
            self.by_value[value].discard(number)
            if not self.by_value[value]:
                del self.by_value[value]

    def taking(self, value: bytes) -> BitMap:
        """Return the numbers of the filters that accept `value`."""
        named = self.by_value.get(value)
        return self.open if named is None else named | self.open


class FilterIndex(Generic[Owner]):
    """Index of filters, each with an owner, to find the owners of filters that match a log.

    Every filter has a number. For an address, and for a topic at a position, a bitmap holds the numbers of
    the filters with that value; another bitmap those of the filters without a value there. The matches of a
    log are an intersection of unions of these, one for the address and for each position. Each costs about a
    microsecond, with ten filters or ten thousand.
    """

    def __init__(self) -> None:
        self._owners: dict[int, tuple[LogFilter, Owner]] = {}
        self._free: list[int] = []
        self._addresses = _Place()
        self._topics = [_Place() for _ in range(MAX_TOPICS)]
        self._at_most = [BitMap() for _ in range(MAX_TOPICS + 1)]
        """Numbers of the filters with at most as many topics, by number of topics."""

    def __len__(self) -> int:
        return len(self._owners)

    def add(self, wanted: LogFilter, owner: Owner) -> int:
        number = self._free.pop() if self._free else len(self._owners)
        self._owners[number] = wanted, owner
        self._addresses.add(number, wanted.addresses)
        for place, values in zip(self._topics, _positions(wanted), strict=True):
            place.add(number, values)
        for count in range(len(wanted.topics), MAX_TOPICS + 1):
            self._at_most[count].add(number)
        return number

    def remove(self, number: int) -> None:
        wanted, _owner = self._owners.pop(number)
        self._free.append(number)
        self._addresses.discard(number, wanted.addresses)
        for place, values in zip(self._topics, _positions(wanted), strict=True):
            place.discard(number, values)
        for numbers in self._at_most:
            numbers.discard(number)

    def matching(self, logs: Iterable[Log]) -> dict[Owner, list[int]]:
        """Return, for each owner with a matching filter, the ascending indices of the logs that match."""
        # Many logs of a block match equal sets of filters, which are expanded to owners once.
        alike: dict[bytes, tuple[BitMap, list[int]]] = {}
        for place, log in enumerate(logs):
            if found := self._numbers(log):
                alike.setdefault(found.serialize(), (found, []))[1].append(place)
        matched: defaultdict[Owner, list[list[int]]] = defaultdict(list)
        for found, places in alike.values():
            for number in found:
                matched[self._owners[number][1]].append(places)
        return {
            owner: runs[0] if len(runs) == 1 else sorted(chain.from_iterable(runs))
            for owner, runs in matched.items()
        }

    def _numbers(self, log: Log) -> BitMap:
        address, topics = log
        found = self._addresses.taking(address) & self._at_most[len(topics)]
        for place, topic in zip(self._topics, topics, strict=False):
            if not found:
                break
            found &= place.taking(topic)
        return found


def _positions(wanted: LogFilter) -> list[Iterable[bytes]]:
    """Return the filter's values at each of the four positions of topics; empty for any value."""
    missing = MAX_TOPICS - len(wanted.topics)
    return [*wanted.topics, *[()] * missing]
