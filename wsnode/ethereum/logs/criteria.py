"""Which logs a subscriber wants, in the one form that equal filters share."""

from collections.abc import Sequence

import msgspec

from wsnode.ethereum.logs.index import LogCriteria

Log = tuple[bytes, tuple[bytes, ...]]
"""A log's address and topics."""


class LogWish(msgspec.Struct, frozen=True):
    """Criteria, and the blocks between which logs count: `first` to `last`, both included."""

    criteria: LogCriteria
    first: int = 0
    last: int | None = None

    def covers(self, number: int) -> bool:
        """Tell whether logs of the block `number` count."""
        return self.first <= number and (self.last is None or number <= self.last)

    @property
    def parameter_count(self) -> int:
        """Return how many addresses and topics are named."""
        return len(self.criteria.addresses) + sum(map(len, self.criteria.topics))


def canonical(criteria: LogCriteria) -> LogCriteria:
    """Return what is equal and has an equal hash for all criteria that ask the same."""
    topics = tuple(_sorted(alternatives) for alternatives in criteria.topics)
    return LogCriteria(_sorted(criteria.addresses), topics)


def _sorted(values: Sequence[bytes]) -> tuple[bytes, ...]:
    return tuple(sorted(set(map(bytes, values))))


def meets(log: Log, criteria: LogCriteria) -> bool:
    """Tell whether one log is wanted."""
    address, topics = log
    if criteria.addresses and address not in criteria.addresses:
        return False
    if len(topics) < len(criteria.topics):
        return False
    return all(
        not alternatives or topic in alternatives
        for topic, alternatives in zip(topics, criteria.topics, strict=False)
    )
