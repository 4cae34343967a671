"""Decides which worker gets the next connection."""

from collections.abc import Iterable
from typing import Protocol, TypeVar


class LoadedWorker(Protocol):
    """A worker with connections."""

    @property
    def connections(self) -> int:
        """Return how many connections it has."""
        ...

    @property
    def last_given(self) -> int:
        """Return the number of the last connection that was given to it."""
        ...


AnyLoadedWorker = TypeVar("AnyLoadedWorker", bound=LoadedWorker)


def by_load(workers: Iterable[AnyLoadedWorker]) -> list[AnyLoadedWorker]:
    """Return the workers, first the one that is to get the next connection.

    It has the fewest connections; among equals, it has waited longest for one.
    """
    return sorted(workers, key=lambda worker: (worker.connections, worker.last_given))


class Pauses:
    """The pauses before a worker that has ended is replaced, in seconds."""

    FIRST, LONGEST = 0.1, 5.0
    LASTING = 10.0
    """A worker that served for these seconds is replaced after the first pause again."""

    def __init__(self) -> None:
        self._next = self.FIRST

    def after(self, served: float) -> float:
        """Return the pause after a worker that served for `served` seconds."""
        if served >= self.LASTING:
            self._next = self.FIRST
        pause, self._next = self._next, min(2 * self._next, self.LONGEST)
        return pause
