"""Percentiles of latencies."""

from collections.abc import Sequence

from wsnode.load.histogram import PARTS


def percentile(ordered: Sequence[float], part: float) -> float:
    """Return a percentile, in milliseconds, of ascending latencies in seconds; NaN without latencies."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000 if ordered else float("nan")


def percentiles(latencies: Sequence[float], parts: Sequence[float] = PARTS) -> list[float]:
    """Return p50, p90, p99 and p99.9 in milliseconds of latencies in seconds."""
    ordered = sorted(latencies)
    return [percentile(ordered, part) for part in parts]
