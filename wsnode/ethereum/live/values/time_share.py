"""Share of the engine's cores for live calls."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import trio

MIN_INTERVAL: Final = 0.05
"""Least seconds that are assumed between two blocks."""


class TimeShare:
    """Time that runs may take: a share of the time since the last block, on all cores."""

    def __init__(self, share: float) -> None:
        self._rate = share * (os.cpu_count() or 1)
        self._begun = self._interval = 0.0
        self._spent = 0.0

    def begin(self) -> None:
        """Begin with another block."""
        now = trio.current_time()
        self._interval = max(now - self._begun, MIN_INTERVAL)
        self._begun, self._spent = now, 0.0

    @contextmanager
    def work(self) -> Iterator[None]:
        before = trio.current_time()
        try:
            yield
        finally:
            self._spent += trio.current_time() - before

    def end(self, *, parts: int = 1) -> float:
        """Return when more may be spent, in trio's seconds, if one of `parts` parts is used up, else 0."""
        rate = self._rate / parts
        return self._begun + self._spent / rate if self._spent > rate * self._interval else 0.0
