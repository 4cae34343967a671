"""Use of an API key: its credits, its calls in the last second, its connections and its subscriptions."""

import math
from typing import NamedTuple, Protocol

import msgspec


class CreditRate(msgspec.Struct, frozen=True):
    """Rate of a key in credits: `per_second` are granted each second, and up to `burst` can be saved."""

    per_second: float
    burst: float
    """Maximum number of credits that can be saved."""
    dearest: float = 1.0
    """Cost of the most expensive call."""


class RateLimiter(Protocol):
    """Counters of one key's connections, subscriptions, calls and credits. `LocalRateLimiter` counts in this
    process alone, `SharedRateLimiter` in several together.
    """

    @property
    def connections(self) -> int: ...

    @property
    def subscriptions(self) -> int: ...

    def add_connections(self, count: int) -> None:
        """Add `count` connections of this process; `count` may be negative."""
        ...

    def add_subscriptions(self, count: int) -> None:
        """Add `count` subscriptions of this process; `count` may be negative."""
        ...

    def charge(self, now: float, rate: CreditRate, cost: float) -> float:
        """Charge `cost` credits if available; return 0, else the seconds until they are.

        A call that costs more than `burst` needs only `burst` credits, or it could never be made; it is
        charged in full.
        """
        ...

    @property
    def spent(self) -> float | None:
        """Return the credits charged so far; None if other machines do not count them."""
        ...

    def full_at(self, rate: CreditRate) -> float:
        """Return the time, on the limiter's clock in seconds, at which all credits will be back, or were."""
        ...

    def settle(self, rate: CreditRate, full_at: float) -> None:
        """Set the time at which all credits will be back; until then they grow from zero or below."""
        ...

    def count_call(self, second: int) -> None:
        """Count a call of this process in the second `second` of the clock; seconds only advance."""
        ...

    def calls_in(self, second: int) -> int:
        """Return the number of calls in `second`, either the last second with a call or the one before."""
        ...


class LocalRateLimiter:
    """Counts of a key's use by this process."""

    def __init__(self) -> None:
        self.connections = self.subscriptions = 0
        self.second = self.count = self.previous = 0
        """Last second with a call, the calls in it, and the calls in the second before it."""
        self._credits, self._filled = math.inf, -math.inf

    def add_connections(self, count: int) -> None:
        self.connections += count

    def add_subscriptions(self, count: int) -> None:
        self.subscriptions += count

    def charge(self, now: float, rate: CreditRate, cost: float) -> float:
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
        return None

    def full_at(self, rate: CreditRate) -> float:
        return self._filled + (rate.burst - self._credits) / rate.per_second

    def settle(self, rate: CreditRate, full_at: float) -> None:
        self._credits, self._filled = 0.0, full_at - rate.burst / rate.per_second

    def count_call(self, second: int) -> None:
        if second != self.second:
            self.previous = self.count if second == self.second + 1 else 0
            self.second, self.count = second, 0
        self.count += 1

    def calls_in(self, second: int) -> int:
        if second == self.second:
            return self.count
        return self.previous if second == self.second - 1 else 0


class CreditCountingRateLimiter(LocalRateLimiter):
    """Rate limiter of a key in this process alone that also sums the spent credits, because other machines
    count them too.
    """

    def __init__(self) -> None:
        super().__init__()
        self._spent = 0.0

    @property
    def spent(self) -> float:
        return self._spent

    def charge(self, now: float, rate: CreditRate, cost: float) -> float:
        seconds = super().charge(now, rate, cost)
        if not seconds:
            self._spent += cost
        return seconds


class KeyAccount(NamedTuple):
    """Credits of a key that several machines count together: its limiter in this node, and its rate, always
    above 0.
    """

    rate_limiter: RateLimiter
    rate: CreditRate

    @property
    def per_second(self) -> float:
        return self.rate.per_second

    @property
    def spent(self) -> float:
        """Return the credits that this machine has charged so far."""
        return self.rate_limiter.spent or 0.0

    @property
    def full_at(self) -> float:
        """Return the time, in seconds of the limiter's clock, at which all credits will be back.

        Credits that other machines have charged since the last `settle` are not counted.
        """
        return self.rate_limiter.full_at(self.rate)

    def settle(self, full_at: float) -> None:
        self.rate_limiter.settle(self.rate, full_at)
