"""The results of runs against a node."""

from collections import Counter

import msgspec

from wsnode.load.latencies import percentiles


class Measured(msgspec.Struct):
    """Latencies by method in seconds, and errors, of all runs against a node."""

    seconds: float = 0.0
    latencies: dict[str, list[float]] = {}
    errors: Counter[str] = msgspec.field(default_factory=Counter)
    first_errors: dict[str, str] = {}
    unanswered: int = 0
    """Requests that were due, and not answered in the end; only of runs at a rate."""

    @property
    def replies(self) -> int:
        """Return how many replies were counted."""
        return sum(map(len, self.latencies.values()))

    @property
    def rate(self) -> float:
        """Return the replies a second."""
        return self.replies / self.seconds if self.seconds else float("nan")

    def add(self, method: str, latency: float, error: str | None) -> None:
        """Count a reply."""
        self.latencies.setdefault(method, []).append(latency)
        if error is not None:
            self.errors[method] += 1
            self.first_errors.setdefault(method, error)

    def all_percentiles(self) -> list[float]:
        """Return p50, p90, p99 and p99.9 of all methods in milliseconds."""
        return percentiles([latency for each in self.latencies.values() for latency in each])
