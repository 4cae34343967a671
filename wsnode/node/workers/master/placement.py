"""Choice of the worker that gets the next connection."""

from collections.abc import Iterable
from typing import Protocol, TypeVar


class LoadedWorker(Protocol):
    """Worker with its connections."""

    @property
    def connections(self) -> int: ...

    @property
    def last_given(self) -> int:
        """Return the sequence number of the last connection that the worker was given."""
        ...


AnyLoadedWorker = TypeVar("AnyLoadedWorker", bound=LoadedWorker)


def by_load(workers: Iterable[AnyLoadedWorker]) -> list[AnyLoadedWorker]:
    """Return the workers in the order in which they should get the next connection.

    The worker with the fewest connections is first; among equals, the one whose last connection is oldest.
    """
    return sorted(workers, key=lambda worker: (worker.connections, worker.last_given))


class Pauses:
    """Pauses before a worker that has ended is replaced, in seconds."""

    FIRST, MAX_PAUSE = 0.1, 5.0
    LASTING = 10.0
    """Seconds of service after which the pauses begin again with the first one."""

    def __init__(self) -> None:
        self._next = self.FIRST

    def after(self, served: float) -> float:
        """Return the seconds to wait after a worker that served for `served` seconds."""
        if served >= self.LASTING:
            self._next = self.FIRST
        pause, self._next = self._next, min(2 * self._next, self.MAX_PAUSE)
        return pause
