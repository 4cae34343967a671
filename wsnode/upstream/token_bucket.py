"""Rate of requests to an upstream: a token bucket that adapts to the upstream's refusals."""

from collections.abc import Callable
from typing import Final

import trio

MOST_PER_SECOND: Final = 2000.0
LEAST_PER_SECOND: Final = 1.0
BURST_SECONDS: Final = 0.5
"""Capacity of the bucket, in seconds at the current rate."""
RECOVERY: Final = 1.05
"""Factor by which the rate grows in each second without a refusal."""
LONGEST_PAUSE: Final = 60.0
"""Longest pause after a refusal in seconds, whatever the upstream asks for."""


class TokenBucket:
    """Token bucket of calls. A refusal halves its rate, at most once a second; it recovers with time."""

    def __init__(
        self, per_second: float = MOST_PER_SECOND, clock: Callable[[], float] = trio.current_time
    ) -> None:
        self._most = self._rate = per_second
        self._clock = clock
        self._spent_until = 0.0
        """Time at which the bucket is full again; each call moves it on by 1 / rate seconds."""
        self._paused_until = 0.0
        self._changed = 0.0

    @property
    def per_second(self) -> float:
        """Return the current rate, in calls a second."""
        seconds = max(0.0, self._clock() - self._changed)
        # Beyond this the power would overflow, and the rate is back long before.
        grown: float = self._rate * RECOVERY ** min(seconds, 1000.0)
        return min(self._most, grown)

    async def take(self, calls: int = 1) -> None:
        """Wait until `calls` more calls may be made."""
        await trio.sleep_until(self._due(calls))

    def _due(self, calls: int) -> float:
        now, rate = self._clock(), self.per_second
        self._spent_until = max(now, self._spent_until) + calls / rate
        return max(self._paused_until, self._spent_until - BURST_SECONDS)

    def refused(self, retry_after: float | None = None) -> None:
        """Reduce the rate to half, and allow no call for `retry_after` seconds."""
        now = self._clock()
        if retry_after is not None:
            self._paused_until = max(self._paused_until, now + min(retry_after, LONGEST_PAUSE))
        if now - self._changed >= 1.0 or self._rate == self._most:
            self._rate = max(LEAST_PER_SECOND, self.per_second / 2)
            self._changed = now
            # Tokens saved at the higher rate are lost.
            self._spent_until = max(self._spent_until, now + BURST_SECONDS)
