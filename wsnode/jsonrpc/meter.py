"""How long a method's calls took, counted in buckets."""

from bisect import bisect_left

BOUNDS = (
    *(0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005),
    *(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
"""The upper bounds of the buckets in seconds; one more bucket takes what is longer."""
FIRST_BOUND = BOUNDS[0]


class Meter:
    """Calls by their duration, and the time of all together."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float, calls: int = 1) -> None:
        """Count one call, or several that took so long together."""
        self.counts[bisect_left(BOUNDS, seconds / calls)] += calls
        self.seconds += seconds
