"""The use of a key: its credits, its calls of the last second, its connections and its subscriptions."""

import math
from typing import Protocol

import msgspec


class Rate(msgspec.Struct, frozen=True):
    """The credits of a key."""

    per_second: float
    """How many come back each second."""
    burst: float
    """How many can be saved up."""
    dearest: float = 1.0
    """The cost of the dearest call."""


class Uses(Protocol):
    """Counts the use of one key, in this process alone or in several together."""

    @property
    def connections(self) -> int:
        """Return how many connections are open."""
        ...

    @property
    def subscriptions(self) -> int:
        """Return how many subscriptions are open."""
        ...

    def add_connections(self, count: int) -> None:
        """Count more connections of this process, or fewer."""
        ...

    def add_subscriptions(self, count: int) -> None:
        """Count more subscriptions of this process, or fewer."""
        ...

    def charge(self, now: float, rate: Rate, cost: float) -> float:
        """Charge credits, and return 0, or the seconds after which there will be enough of them.

        A call dearer than all that can be saved up needs that much, or it could never be made.
        """
        ...

    def count_call(self, second: int) -> None:
        """Count a call of this process in a second of the clock; seconds only advance."""
        ...

    def calls_in(self, second: int) -> int:
        """Return how many calls were made in `second`, which is the last one or the one before it."""
        ...


class OwnUses:
    """Counts the use of a key in this process."""

    def __init__(self) -> None:
        self.connections = self.subscriptions = 0
        self.second = self.count = self.previous = 0
        """The last second with a call, its calls, and those of the second before it."""
        self._credits, self._filled = math.inf, -math.inf

    def add_connections(self, count: int) -> None:
        """Count more connections, or fewer."""
        self.connections += count

    def add_subscriptions(self, count: int) -> None:
        """Count more subscriptions, or fewer."""
        self.subscriptions += count

    def charge(self, now: float, rate: Rate, cost: float) -> float:
        """Charge credits, and return 0, or the seconds after which there will be enough of them."""
        there = rate.burst
        if self._credits < there:
            there = min(there, self._credits + (now - self._filled) * rate.per_second)
        needed = min(cost, rate.burst)
        self._filled = now
        self._credits = there if there < needed else there - cost
        if there >= needed:
            return 0.0
        return (needed - there) / rate.per_second if rate.per_second else math.inf

    def count_call(self, second: int) -> None:
        """Count a call in a second of the clock."""
        if second != self.second:
            self.previous = self.count if second == self.second + 1 else 0
            self.second, self.count = second, 0
        self.count += 1

    def calls_in(self, second: int) -> int:
        """Return how many calls were made in `second`, which is the last one or the one before it."""
        if second == self.second:
            return self.count
        return self.previous if second == self.second - 1 else 0
