"""Outcomes of watched calls at earlier states, from which subscriptions resume."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from wsnode.ethereum.live.values.cursor import StateCursor
from wsnode.ethereum.live.values.feed import is_known
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import StateError

MAX_ATTEMPTS: Final = 3
"""Maximum number of blocks that may interrupt the run of a call at an earlier state."""


class HistoricalOutcomes:
    """Outcomes at an earlier state, from which a subscription resumes."""

    def __init__(self, number: int, cursor: StateCursor, count: int) -> None:
        self.number = number
        """Number of the list of calls in the engine."""
        self.cursor = cursor
        self.count = count
        self.found = b""
        """Digests of the outcomes found so far."""
        self.attempts = 0
        self.is_over = False
        """True once all outcomes are found, or their state is pruned."""

    @property
    def digests(self) -> bytes | None:
        """Return the digests of all outcomes, 8 bytes each; None until all are found."""
        return self.found if len(self.found) == 8 * self.count else None

    async def extend(self, view: Snapshot, digests: Callable[[bytes, int], Awaitable[bytes]]) -> bool:
        """Find some more outcomes unless their state is pruned, and return True if any were found.

        `digests` returns the digests after the block of a header's row, as many as fit into a slice of time,
        from the call of an index on.
        """
        row = view.header(self.cursor.head.number) if is_known(view, self.cursor) else None
        before = len(self.found)
        if row is not None:
            with suppress(StateError):
                self.found += await digests(row, before // 8)
        self.attempts += 1
        return len(self.found) > before
