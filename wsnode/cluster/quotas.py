"""Rates of keys over all nodes of a journal: the messages that nodes exchange."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec

MAX_SPENDINGS: Final = 1000
"""Maximum number of keys in one exchange."""
MAX_OWING: Final = 65_536
"""Maximum number of keys with missing credits that are returned."""
MAX_SINCE_SECONDS: Final = 1.0
"""Longest time, in seconds, in which reported credits can have been spent."""

MAX_OWING_SECONDS: Final = 1e9
"""Seconds of missing credits beyond which they count as back, thirty years: the limit of a server's clock."""


class KeySpending(msgspec.Struct, frozen=True):
    """Credits of a key that a node has spent since its last report."""

    digest: str
    """Hash of the key; the key itself is never sent."""
    seconds: float
    """Seconds in which the spent credits come back; 0 if the node has no earlier report of the key."""
    since: float
    """Seconds in which the credits were spent."""
    own: float
    """Seconds until all credits are back by the node's own count; may be negative."""


class QuotaExchange(Protocol):
    """Count of credits over all nodes."""

    async def exchange(self, spendings: Sequence[KeySpending]) -> Mapping[str, float]:
        """Count spent credits, and return the seconds until all credits of each key are back.

        A key that is not returned misses no credits.

        Raises:
            JournalUnavailableError: It cannot be reached; the credits may have been counted.
        """
        ...
