"""Deadlines of waits, spread so that few waits end in one pass of the scheduler.

Calls that began together would time out together, and ending each takes 0.1 ms: hundreds of them would keep
the loop from all other work.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Final

import trio

SLOT_SECONDS: Final = 0.002
MOST_IN_A_SLOT: Final = 8


class CoalescedDeadlines:
    """Deadlines of all calls of a server."""

    def __init__(self) -> None:
        self._taken = Counter[int]()
        """Number of waits that end in each slot of `SLOT_SECONDS`, by the slot's number."""

    @contextmanager
    def move_on_at(self, time: float) -> Iterator[trio.CancelScope]:
        """Cancel the block at `time` (trio's clock), or slightly later if many blocks end then; yield its
        `CancelScope`.

        Of N blocks with one deadline the last is cancelled N / 4 milliseconds later.
        """
        if time == inf:
            with trio.CancelScope() as scope:
                yield scope
            return
        slot = self._free_slot(int(time / SLOT_SECONDS))
        self._taken[slot] += 1
        try:
            with trio.CancelScope(deadline=max(time, slot * SLOT_SECONDS)) as scope:
                yield scope
        finally:
            self._give_back(slot)

    def _free_slot(self, slot: int) -> int:
        while self._taken.get(slot, 0) >= MOST_IN_A_SLOT:
            slot += 1
        return slot

    def _give_back(self, slot: int) -> None:
        self._taken[slot] -= 1
        if not self._taken[slot]:
            del self._taken[slot]
