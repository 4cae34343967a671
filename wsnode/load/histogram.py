"""Latencies counted in buckets of equal relative width, as HdrHistogram does, at most 0.8 % from the truth.

A bucket is a 128th of the way from a power of two of microseconds to the next. So a histogram takes some
kilobytes whatever its number of latencies, and those of several processes are added up.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

PARTS: Final = (0.5, 0.9, 0.99, 0.999)
_BITS: Final = 7
_EXACT: Final = 1 << _BITS
"""Largest latency, in microseconds, with a bucket of its own."""


class Histogram(msgspec.Struct):
    """Distribution of latencies: `counts` has the number of latencies in each bucket, by the bucket's number;
    buckets of longer latencies are wider.
    """

    counts: dict[int, int] = {}
    total: int = 0
    greatest: int = 0
    """Greatest latency in microseconds."""

    def add(self, seconds: float) -> None:
        microseconds = max(0, round(seconds * 1e6))
        shift = max(0, microseconds.bit_length() - _BITS - 1)
        place = (shift << (_BITS + 1)) + (microseconds >> shift)
        self.counts[place] = self.counts.get(place, 0) + 1
        self.total += 1
        self.greatest = max(self.greatest, microseconds)

    def merge(self, other: "Histogram") -> None:
        for place, count in other.counts.items():
            self.counts[place] = self.counts.get(place, 0) + count
        self.total += other.total
        self.greatest = max(self.greatest, other.greatest)

    def __len__(self) -> int:
        return self.total

    def percentile(self, part: float) -> float:
        """Return the latency in milliseconds that `part` of all are below; NaN without latencies."""
        wanted = min(self.total - 1, int(self.total * part))
        for (low, high), count in self.buckets():
            wanted -= count
            if wanted < 0:
                return min((low + high) / 2, self.greatest / 1000)
        return float("nan")

    def percentiles(self, parts: tuple[float, ...] = PARTS) -> list[float]:
        """Return p50, p90, p99 and p99.9 in milliseconds."""
        return [self.percentile(part) for part in parts]

    def buckets(self) -> Iterator[tuple[tuple[float, float], int]]:
        """Yield the buckets in ascending order: begin and end in milliseconds, and the count."""
        for place, count in sorted(self.counts.items()):
            shift, value = place >> (_BITS + 1), place & (2 * _EXACT - 1)
            yield ((value << shift) / 1000, ((value + 1) << shift) / 1000), count


def percentile(ordered: Sequence[float], part: float) -> float:
    """Return a percentile, in milliseconds, of ascending latencies in seconds; NaN without latencies."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000 if ordered else float("nan")


def percentiles(latencies: Sequence[float], parts: Sequence[float] = PARTS) -> list[float]:
    """Return p50, p90, p99 and p99.9 in milliseconds of latencies in seconds."""
    ordered = sorted(latencies)
    return [percentile(ordered, part) for part in parts]
