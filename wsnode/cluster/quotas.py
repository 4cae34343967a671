"""The rates of keys that all nodes of a journal count together: what a node says, and what it hears."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec

MOST_SPENDINGS: Final = 1000
"""In one exchange."""
MOST_OWING: Final = 65_536
"""Keys with missing credits that are returned."""
LONGEST_SINCE_SECONDS: Final = 1.0
"""How long ago credits can have been spent that are said now."""

LONGEST_OWING_SECONDS: Final = 1e9
"""After which credits count as back, thirty years: what a server's clock can take."""


class KeySpending(msgspec.Struct, frozen=True):
    """What a node has spent of a key since it said so last."""

    digest: str
    """The hash of the key; the key itself is never said."""
    seconds: float
    """The time in which the credits that were spent come back; 0 if the node has heard of no other yet."""
    since: float
    """The seconds in which they were spent."""
    own: float
    """The seconds until all credits are back by the node's own count, which can be below 0."""


class QuotaExchange(Protocol):
    """One count of credits for all nodes."""

    async def exchange(self, spendings: Sequence[KeySpending]) -> Mapping[str, float]:
        """Count what was spent, and return the seconds until all credits of each key are back.

        Of keys that are not returned no credits are missing.

        Raises:
            JournalUnavailableError: It cannot be reached; what was spent may have been counted.
        """
        ...
