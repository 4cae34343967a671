"""The regions of a run's time: as lines, as JSON, and as charts."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from wsnode.load.measured import Measured, Usage
from wsnode.load.mix.regions import Region, regions_of
from wsnode.load.report.charts import Series, chart
from wsnode.load.report.form import NAMES, STYLES, Table, decimal, finite, label, latency

HEADS: Final = ("", "replies/s", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "errors", "CPU %", "MiB")
MEBIBYTE: Final = 2**20


def lines(measured: Sequence[Measured], count: int) -> Iterator[str]:
    """Yield a table of `count` regions of each node, nothing if that is 0."""
    if count:
        yield "\nregions of time"
        yield from table(measured, count).lines()


def table(measured: Sequence[Measured], count: int) -> Table:
    """Return a row for each region of each node."""
    return Table(
        HEADS,
        [
            _row(region, number, len(measured))
            for number, each in enumerate(measured)
            for region in regions_of(each, count)
        ],
    )


def _row(region: Region, number: int, nodes: int) -> list[str]:
    return [
        label(f"{region.begin:,.1f} to {region.end:,.1f} s", number, nodes),
        decimal(region.rate, 0),
        *(decimal(each) for each in region.latencies.percentiles()),
        f"{region.errors:,}",
        decimal(None if region.cores is None else 100 * region.cores, 0),
        decimal(_mebibytes(region), 1),
    ]


def _mebibytes(region: Region) -> float | None:
    return None if region.memory is None else region.memory / MEBIBYTE


def document(measured: Measured, count: int) -> list[dict[str, Any]]:
    """Return the regions of a node as JSON objects."""
    return [
        {
            "from": region.begin,
            "to": region.end,
            "replies_per_second": finite(region.rate),
            "errors": region.errors,
            "cpu_cores": region.cores,
            "memory_bytes": region.memory,
            **latency(region.latencies),
        }
        for region in regions_of(measured, count)
    ]


def sections(measured: Sequence[Measured], count: int) -> Iterator[str]:
    """Yield HTML: the table of the regions, and what the nodes' processes took over time."""
    if count:
        yield "<h2>Regions of time</h2>"
        yield table(measured, count).html()
    if any(each.usage for each in measured):
        yield "<h2>Processes of the node</h2>"
        yield _usage(measured, "memory, MiB", lambda usage: usage.memory / MEBIBYTE)
        yield _usage(measured, "CPU, % of a core", lambda usage: 100 * usage.cores)


def _usage(measured: Sequence[Measured], words: str, value: Callable[[Usage], float]) -> str:
    series = [
        Series(name, style, [(usage.at, value(usage)) for usage in each.usage])
        for name, style, each in zip(NAMES, STYLES, measured, strict=False)
    ]
    return chart(series, ("s", words))
