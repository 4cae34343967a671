"""The use of a key: its credits, its calls of the last second, its connections and its subscriptions."""

import math
from typing import NamedTuple, Protocol

import msgspec


class CreditRate(msgspec.Struct, frozen=True):
    """The credits of a key."""

    per_second: float
    """How many come back each second."""
    burst: float
    """How many can be saved up."""
    dearest: float = 1.0
    """The cost of the dearest call."""


class RateLimiter(Protocol):
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

    def charge(self, now: float, rate: CreditRate, cost: float) -> float:
        """Charge credits, and return 0, or the seconds after which there will be enough of them.

        A call dearer than all that can be saved up needs that much, or it could never be made.
        """
        ...

    @property
    def spent(self) -> float | None:
        """Return the credits charged so far; None where they count for this machine alone."""
        ...

    def full_at(self, rate: CreditRate) -> float:
        """Return the time at which all credits will be back, or were."""
        ...

    def settle(self, rate: CreditRate, full_at: float) -> None:
        """Have all credits be back at a time, however many are missing until then."""
        ...

    def count_call(self, second: int) -> None:
        """Count a call of this process in a second of the clock; seconds only advance."""
        ...

    def calls_in(self, second: int) -> int:
        """Return how many calls were made in `second`, which is the last one or the one before it."""
        ...


class LocalRateLimiter:
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

    def charge(self, now: float, rate: CreditRate, cost: float) -> float:
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

    @property
    def spent(self) -> float | None:
        """Return None: the credits count for this machine alone."""
        return None

    def full_at(self, rate: CreditRate) -> float:
        """Return the time at which all credits will be back, or were."""
        return self._filled + (rate.burst - self._credits) / rate.per_second

    def settle(self, rate: CreditRate, full_at: float) -> None:
        """Have all credits be back at a time, however many are missing until then."""
        self._credits, self._filled = 0.0, full_at - rate.burst / rate.per_second

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


class CreditCountingRateLimiter(LocalRateLimiter):
    """Counts the use of a key in this process, and the credits that it has spent."""

    def __init__(self) -> None:
        super().__init__()
        self._spent = 0.0

    @property
    def spent(self) -> float:
        """Return the credits charged so far."""
        return self._spent

    def charge(self, now: float, rate: CreditRate, cost: float) -> float:
        """Charge credits, and return 0, or the seconds after which there will be enough of them."""
        seconds = super().charge(now, rate, cost)
        if not seconds:
            self._spent += cost
        return seconds


class KeyAccount(NamedTuple):
    """The credits of a key that several machines count together; all come back at a rate above 0."""

    rate_limiter: RateLimiter
    rate: CreditRate

    @property
    def per_second(self) -> float:
        """Return how many credits come back each second."""
        return self.rate.per_second

    @property
    def spent(self) -> float:
        """Return the credits that this machine has charged so far."""
        return self.rate_limiter.spent or 0.0

    @property
    def full_at(self) -> float:
        """Return the time at which all credits will be back, as this machine knows it."""
        return self.rate_limiter.full_at(self.rate)

    def settle(self, full_at: float) -> None:
        """Have all credits be back at a time."""
        self.rate_limiter.settle(self.rate, full_at)
