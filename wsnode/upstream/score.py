"""Score of an upstream: delay of its announcements, its response times, its failures."""

from collections import deque
from typing import Final

KEPT: Final = 128
"""Number of response times that are kept."""
WEIGHT: Final = 0.1
"""Weight of the newest value of a running average."""
USUAL_READ_SECONDS: Final = 0.25
"""Response time in seconds assumed of an upstream that has not answered yet."""
ERROR_SECONDS: Final = 10.0
"""Score in seconds of an upstream whose every call fails."""


class Score:
    """Running figures of one upstream."""

    def __init__(self) -> None:
        self.delay = 0.0
        """Mean seconds by which the upstream announces blocks after the first upstream."""
        self.errors = 0.0
        """Share of its answers that could not be used, from 0 to 1."""
        self.reads = 0
        self.failures = 0
        self._seconds: deque[float] = deque(maxlen=KEPT)

    def announced(self, behind: float) -> None:
        """Record a block announced `behind` seconds after the first upstream announced it."""
        self.delay += WEIGHT * (behind - self.delay)

    def answered(self, seconds: float) -> None:
        self.reads += 1
        self._seconds.append(seconds)
        self.errors -= WEIGHT * self.errors

    def failed(self) -> None:
        """Record a call without an answer, or with a wrong one."""
        self.failures += 1
        self.errors += WEIGHT * (1 - self.errors)

    @property
    def p95(self) -> float:
        """Return the 95th percentile of the response times, in seconds."""
        if not self._seconds:
            return USUAL_READ_SECONDS
        return sorted(self._seconds)[len(self._seconds) * 19 // 20]

    @property
    def cost(self) -> float:
        """Return the sum of delay, response time and penalty for errors, in seconds; less is better."""
        return self.delay + self.p95 + self.errors * ERROR_SECONDS
