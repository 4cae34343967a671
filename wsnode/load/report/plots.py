"""Sections of pages about latencies: their distribution, percentiles, over time, and by method."""

from collections.abc import Callable, Iterator, Sequence
from math import log2
from typing import Final

from wsnode.load.histogram import Histogram
from wsnode.load.measured import Measurement
from wsnode.load.report.charts import RangeBar, Series, chart, ranges
from wsnode.load.report.formatting import NAMES, STYLES, label
from wsnode.load.report.html_page import legend, note
from wsnode.load.report.text import client

P50_AND_P99: Final = (("p50", ""), ("p99", " dashed"))
"""Percentiles over time, and the dashes of their lines."""
SHORTEST_MS: Final = 1e-3
PARTS_OF_TWO: Final = 12
"""Bars of a distribution in a doubling of the latency."""
HALVES: Final = 8
"""Points of the curve of percentiles for each halving of the rest."""


def latency_sections(measured: Sequence[Measurement], noun: str = "replies") -> Iterator[str]:
    """Yield HTML: the latencies of each node as a distribution, by percentile, and over time."""
    latencies = [each.all_latencies for each in measured]
    yield "<h2>Latency</h2>"
    yield histograms(latencies, noun)
    yield "<h2>Latency by percentile</h2>"
    yield percentile_curves(latencies)
    yield "<h2>Over time</h2>"
    yield over_time(measured, f"{noun} a second", [("", "")], lambda piece, width: [len(piece) / width])
    yield over_time(
        measured, "p50 and p99, ms", P50_AND_P99, lambda piece, _: [*piece.percentiles((0.5, 0.99))]
    )


def clients(measured: Sequence[Measurement]) -> Iterator[str]:
    """Yield HTML: the client's own use of cores for each node, with a warning if it was the limit."""
    for name, each in zip(NAMES, measured, strict=False):
        if each.busy:
            yield note(f"client of {name}: {client(each)}", is_warning=each.is_client_the_limit)


def by_method(measured: Sequence[Measurement]) -> str:
    """Return a chart with a bar from p50 over p90 to p99 for each method and node."""
    methods = sorted({method for each in measured for method in each.latencies})
    bars = [
        RangeBar(
            label(method, number, len(measured)), STYLES[number], latencies.percentiles((0.5, 0.9, 0.99))
        )
        for method in methods
        for number, each in enumerate(measured)
        if (latencies := each.latencies.get(method))
    ]
    return ranges(bars, "p50, p90 and p99, ms")


def histograms(latencies: Sequence[Histogram], noun: str = "replies") -> str:
    """Return a chart of the share of replies by latency, normalised to buckets of equal width."""
    series = [
        Series(name, style, _density(each), is_filled=True)
        for name, style, each in zip(NAMES, STYLES, latencies, strict=False)
    ]
    return chart(series, ("ms", f"% of {noun}"), across_is_logarithmic=True)


def _density(latencies: Histogram) -> list[tuple[float, float]]:
    """Return the latency in milliseconds and the percentage of replies for each twelfth of a power of two."""
    counts = dict[int, int]()
    for (low, high), count in latencies.buckets():
        place = round(PARTS_OF_TWO * log2(max((low + high) / 2, SHORTEST_MS)))
        counts[place] = counts.get(place, 0) + count
    if not counts:
        return []
    places = range(min(counts) - 1, max(counts) + 2)
    return [(2 ** (place / PARTS_OF_TWO), 100 * counts.get(place, 0) / len(latencies)) for place in places]


def percentile_curves(latencies: Sequence[Histogram]) -> str:
    """Return a chart of the latency that one reply in ten, a hundred, a thousand … exceeds."""
    series = [
        Series(name, style, _curve(each)) for name, style, each in zip(NAMES, STYLES, latencies, strict=False)
    ]
    labels = "one reply in …", "took longer than … ms"
    return chart(series, labels, across_is_logarithmic=True, up_is_logarithmic=True)


def _curve(latencies: Histogram) -> list[tuple[float, float]]:
    """Return points of one reply in `n` and the latency in milliseconds that it exceeds."""
    points, one_in = [], 1.1
    while one_in <= len(latencies):
        points.append((one_in, latencies.percentile(1 - 1 / one_in)))
        one_in *= 2 ** (1 / HALVES)
    return points


def over_time(
    measured: Sequence[Measurement],
    words: str,
    lines: Sequence[tuple[str, str]],
    values: Callable[[Histogram, float], list[float]],
) -> str:
    """Return a chart of values of each node's slices; `lines` has name and dash of each value's line."""
    series = [
        Series(name, style + dash, [(at, found[place]) for at, found in _points(each, values)])
        for name, style, each in zip(NAMES, STYLES, measured, strict=False)
        for place, (_name, dash) in enumerate(lines)
    ]
    return chart(series, ("s", words)) + legend(lines)


def _points(
    measured: Measurement, values: Callable[[Histogram, float], list[float]]
) -> list[tuple[float, list[float]]]:
    """Return the beginning of each whole slice in seconds, and its values; a short last slice is left out."""
    width = measured.slice_seconds
    return [
        (number * width, values(piece.latencies, width))
        for number, piece in sorted(measured.slices.items())
        if (number + 1) * width <= measured.seconds + 0.01
    ]
