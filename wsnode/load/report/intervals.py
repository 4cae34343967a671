"""Intervals of a run's time: as lines, as JSON, and as charts."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from wsnode.load.measured import Measurement, ProcessUsage
from wsnode.load.mix.intervals import IntervalResult, interval_results
from wsnode.load.report.charts import Series, chart
from wsnode.load.report.formatting import NAMES, STYLES, ReportTable, decimal, finite, label, latency

HEADS: Final = ("", "replies/s", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "errors", "CPU %", "MiB")
MEBIBYTE: Final = 2**20


def lines(measured: Sequence[Measurement], count: int) -> Iterator[str]:
    """Yield a table of `count` intervals of each node, nothing if `count` is 0."""
    if count:
        yield "\nintervals of time"
        yield from table(measured, count).lines()


def table(measured: Sequence[Measurement], count: int) -> ReportTable:
    """Return a table with a row for each interval of each node."""
    return ReportTable(
        HEADS,
        [
            _row(interval, number, len(measured))
            for number, each in enumerate(measured)
            for interval in interval_results(each, count)
        ],
    )


def _row(interval: IntervalResult, number: int, nodes: int) -> list[str]:
    return [
        label(f"{interval.begin:,.1f} to {interval.end:,.1f} s", number, nodes),
        decimal(interval.rate, 0),
        *(decimal(each) for each in interval.latencies.percentiles()),
        f"{interval.errors:,}",
        decimal(None if interval.cores is None else 100 * interval.cores, 0),
        decimal(_mebibytes(interval), 1),
    ]


def _mebibytes(interval: IntervalResult) -> float | None:
    return None if interval.memory is None else interval.memory / MEBIBYTE


def document(measured: Measurement, count: int) -> list[dict[str, Any]]:
    """Return a node's results in `count` equal parts of the run, each as a JSON object."""
    return [
        {
            "from": interval.begin,
            "to": interval.end,
            "replies_per_second": finite(interval.rate),
            "errors": interval.errors,
            "cpu_cores": interval.cores,
            "memory_bytes": interval.memory,
            **latency(interval.latencies),
        }
        for interval in interval_results(measured, count)
    ]


def sections(measured: Sequence[Measurement], count: int) -> Iterator[str]:
    """Yield HTML: the table of the intervals, and memory and cores of the nodes' processes over time."""
    if count:
        yield "<h2>Intervals of time</h2>"
        yield table(measured, count).html()
    if any(each.usage for each in measured):
        yield "<h2>Processes of the node</h2>"
        yield _usage(measured, "memory, MiB", lambda usage: usage.memory / MEBIBYTE)
        yield _usage(measured, "CPU, % of a core", lambda usage: 100 * usage.cores)


def _usage(measured: Sequence[Measurement], words: str, value: Callable[[ProcessUsage], float]) -> str:
    series = [
        Series(name, style, [(usage.at, value(usage)) for usage in each.usage])
        for name, style, each in zip(NAMES, STYLES, measured, strict=False)
    ]
    return chart(series, ("s", words))
