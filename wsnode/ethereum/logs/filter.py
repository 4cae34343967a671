"""The filter of logs that requests, subscriptions, searches and matching share."""

from collections.abc import Sequence
from typing import Final

import msgspec

from wsnode.ethereum.codec.chain_tables import LogCriteria

MAX_TOPICS: Final = 4

Log = tuple[bytes, tuple[bytes, ...]]
"""A log's address and topics."""


class LogFilter(msgspec.Struct, frozen=True):
    """A filter of logs: of blocks `first` to `last`, both included, or of all blocks from `first` on.

    `addresses`: one of these, or any when empty. `topics`: for each position one of the values, or any
    when empty; a log with fewer topics than positions does not match.
    """

    addresses: Sequence[bytes] = ()
    topics: Sequence[Sequence[bytes]] = ()
    first: int = 0
    last: int | None = None

    def canonical(self) -> "LogFilter":
        """Return the filter in a form that is equal, with an equal hash, for equivalent filters."""
        topics = tuple(_sorted(alternatives) for alternatives in self.topics)
        return LogFilter(_sorted(self.addresses), topics, self.first, self.last)

    def between(self, first: int, last: int | None) -> "LogFilter":
        """Return the filter for other blocks."""
        return LogFilter(self.addresses, self.topics, first, last)

    def covers(self, number: int) -> bool:
        """Return whether logs of the block `number` can match."""
        return self.first <= number and (self.last is None or number <= self.last)

    def matches(self, log: Log) -> bool:
        """Return whether a log of these blocks matches."""
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
        """Return what it wants of a log, whatever the block, for a search."""
        return LogCriteria(self.addresses, self.topics)

    @property
    def parameter_count(self) -> int:
        """Return how many addresses and topics are named."""
        return len(self.addresses) + sum(map(len, self.topics))


def _sorted(values: Sequence[bytes]) -> tuple[bytes, ...]:
    return tuple(sorted(set(map(bytes, values))))
