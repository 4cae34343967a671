"""Times at which waits end, spread so that few of them end in one pass of the scheduler.

Calls that began together would be out of time together, and each takes 0.1 ms to end: hundreds of them would
keep the loop from everything else.
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
    """The deadlines of all calls of a server."""

    def __init__(self) -> None:
        self._taken = Counter[int]()
        """How many waits end in a slot of time, by its number."""

    @contextmanager
    def move_on_at(self, time: float) -> Iterator[trio.CancelScope]:
        """Cancel what is within at `time` (seconds of trio's clock), or once few others end: a `CancelScope`.

        Of N waits that end at the same time the last is cancelled N / 4 milliseconds later.
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
