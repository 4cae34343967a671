"""The score of an upstream: delay of announcements, response times, failures."""

from collections import deque
from typing import Final

KEPT: Final = 128
"""Read times that are looked at."""
SHARE: Final = 0.1
"""Weight of the newest value of a running average."""
USUAL_READ_SECONDS: Final = 0.25
"""Taken for the read time of an upstream that has not answered yet."""
ERROR_SECONDS: Final = 10.0
"""The score in seconds of an upstream that always fails."""


class Score:
    """Running figures of one upstream."""

    def __init__(self) -> None:
        self.delay = 0.0
        """Seconds that it announces behind the first."""
        self.errors = 0.0
        """The share of its answers that could not be used, from 0 to 1."""
        self.reads = 0
        self.failures = 0
        self._seconds: deque[float] = deque(maxlen=KEPT)

    def announced(self, behind: float) -> None:
        """Record a block that it announced `behind` seconds after the first upstream."""
        self.delay += SHARE * (behind - self.delay)

    def answered(self, seconds: float) -> None:
        """Take note of an answer."""
        self.reads += 1
        self._seconds.append(seconds)
        self.errors -= SHARE * self.errors

    def failed(self) -> None:
        """Take note of a question without an answer, or with one that is wrong."""
        self.failures += 1
        self.errors += SHARE * (1 - self.errors)

    @property
    def p95(self) -> float:
        """Return the seconds that 19 of 20 answers take."""
        if not self._seconds:
            return USUAL_READ_SECONDS
        return sorted(self._seconds)[len(self._seconds) * 19 // 20]

    @property
    def cost(self) -> float:
        """Return one figure in seconds: less is better."""
        return self.delay + self.p95 + self.errors * ERROR_SECONDS
