"""Lock that serves calls in the order of arrival, in whatever tasks they run."""

from collections import deque
from types import TracebackType
from typing import Self

import trio


class FifoLock:
    """Line of tickets; the first ticket holds the lock until it is given up."""

    def __init__(self) -> None:
        self._places = deque[LockTicket]()

    def join(self) -> "LockTicket":
        """Return a new ticket at the end of the line."""
        place = LockTicket(self._places)
        self._places.append(place)
        return place


class LockTicket:
    """Place in a line, given up at the end of its `with` block."""

    def __init__(self, places: "deque[LockTicket]") -> None:
        self._places = places
        self._is_first = trio.Event()
        if not places:
            self._is_first.set()

    async def wait_turn(self) -> None:
        await self._is_first.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._places.remove(self)
        if self._places:
            self._places[0]._is_first.set()
