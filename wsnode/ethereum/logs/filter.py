"""Filter of logs, shared by requests, subscriptions, searches and matching."""

from collections.abc import Sequence
from typing import Final

import msgspec

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
