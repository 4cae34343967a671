"""Figures as lines of text."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from wsnode.load.histogram import Histogram
from wsnode.load.interference import CALLS, HeadOfLineResult, SlowClientResult
from wsnode.load.measured import Measurement
from wsnode.load.mix.window import LoadSettings
from wsnode.load.report.formatting import ReportTable, decimal, label

COLUMNS = (
    f"{'':28} {'requests/s':>12} {'p50 ms':>9} {'p90 ms':>9} {'p99 ms':>9} {'p99.9 ms':>9} {'errors':>8}"
)
HEAD_OF_LINE = (
    f"\nhead of line: a hundred cheap calls a second, beside {CALLS} heavy ones in flight on one connection"
)
SLOW_CLIENT = "\nslow client: a hundred cheap calls a second, beside a client that reads none of its replies"

IN_FLIGHT = 0.01
"""Part of the requests that may be in flight when a run at a rate ends, without a remark."""

Found = TypeVar("Found")


def title(name: str, url: str, version: str, head: int) -> str:
    """Return the line that names a measured node and its head."""
    return f"{name}  {url}  {version}  head {head}"


def mix_title(pattern: LoadSettings) -> str:
    """Return the title of the first section, and its columns."""
    return f"\nmix: {load(pattern)}\n{COLUMNS}"


def load(pattern: LoadSettings) -> str:
    """Return a pattern as text."""
    depth = "1 request" if pattern.depth == 1 else f"{pattern.depth} requests"
    depth = f"{depth} in flight on each"
    asked = depth if pattern.rate is None else f"{pattern.rate:,g} requests a second in all"
    return f"{pattern.connections} connections, {asked}, {pattern.seconds:g} s"


def mix(measured: Sequence[Measurement]) -> Iterator[str]:
    """Yield a line for all methods and one for each, for every node and as ratios; then the errors."""
    for method in _methods(measured):
        rows = [_row(each, method) for each in measured]
        for number, (each, row) in enumerate(zip(measured, rows, strict=True)):
            errors = each.errors.total() if method is None else each.errors[method]
            yield _line(label(method or "all", number, len(measured)), row) + f" {errors:8,}"
        if len(rows) == 2:
            yield _ratios(rows)
    for number, each in enumerate(measured):
        if not each.seconds:
            yield label("ended in the first tenth of its time, which does not count", number, len(measured))
        for method, text in sorted(each.first_errors.items()):
            yield f"first error of {label(method, number, len(measured))}: {text}"
        if each.unanswered > each.replies * IN_FLIGHT:
            yield f"{label('unanswered in the end', number, len(measured))}: {each.unanswered:,}"
    for number, each in enumerate(measured):
        if each.busy:
            yield label(client_note(each), number, len(measured))


def _methods(measured: Sequence[Measurement]) -> list[str | None]:
    """Return None for all methods together, then the methods by their number of requests."""
    methods = {method for each in measured for method in each.latencies}
    counts = {
        method: sum(len(each.latencies.get(method, Histogram())) for each in measured) for method in methods
    }
    return [None, *sorted(methods, key=lambda method: (-counts[method], method))]


def table(measured: Sequence[Measurement]) -> ReportTable:
    """Return the table of all methods together and of each, for every node."""
    heads = ("", "requests/s", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "errors")
    return ReportTable(heads, list(_cells(measured)))


def _cells(measured: Sequence[Measurement]) -> Iterator[list[str]]:
    for method in _methods(measured):
        for number, each in enumerate(measured):
            rate, *times = _row(each, method)
            errors = each.errors.total() if method is None else each.errors[method]
            name = label(method or "all", number, len(measured))
            yield [name, f"{rate:,.0f}", *(decimal(time) for time in times), f"{errors:,}"]


def client_note(measured: Measurement) -> str:
    """Return the line about the client itself."""
    return f"client: {client(measured)}"


def client(measured: Measurement) -> str:
    """Return the client's own use of cores as text, with a remark if it was the limit."""
    processes = "1 process" if len(measured.busy) == 1 else f"{len(measured.busy)} processes"
    text = f"{processes}, the busiest used {measured.busy[-1]:.0%} of a core"
    if measured.machine:
        text += f", {measured.machine:.0%} of all cores here were in use"
    if len(measured.lateness):
        text += f", a request in a hundred was sent {measured.lateness.percentile(0.99):.1f} ms late"
    # A node on this machine has used the rest of the cores, so the text names the machine as well.
    return f"{text}: the client or its machine was the limit" if measured.is_client_the_limit else text


def _row(measured: Measurement, method: str | None) -> list[float]:
    if method is None:
        return [measured.rate, *measured.all_percentiles()]
    latencies = measured.latencies.get(method, Histogram())
    return [len(latencies) / measured.seconds if measured.seconds else float("nan"), *latencies.percentiles()]


def _line(label: str, row: Sequence[float]) -> str:
    return f"{label:28} {row[0]:12,.0f} " + " ".join(f"{each:9.3f}" for each in row[1:])


def _ratios(rows: Sequence[Sequence[float]]) -> str:
    times = [_ratio(one, other) for one, other in zip(*rows, strict=True)]
    return f"{'  A / B':28} {times[0]:>12} " + " ".join(f"{each:>9}" for each in times[1:])


def _ratio(one: float, other: float) -> str:
    return f"{one / other:.2f}" if other else "-"


def say_all(
    say: Callable[[str], None], rows_of: Callable[[Found], dict[str, list[float]]], found: Sequence[Found]
) -> None:
    """Pass lines with the percentiles of every node, and ratios of two, to `say`."""
    say(f"{'':41} {'p50 ms':>9} {'p90 ms':>9} {'p99 ms':>9} {'p99.9 ms':>9}")
    tables = [rows_of(each) for each in found]
    for place in range(len(tables[0])):
        rows = []
        for number, table in enumerate(tables):
            text, row = list(table.items())[place]
            rows.append(row)
            say(f"{label(text, number, len(tables)):41} " + " ".join(f"{each:9.3f}" for each in row))
        if len(rows) == 2:
            say(f"{'  A / B':41} " + " ".join(f"{_ratio(*pair):>9}" for pair in zip(*rows, strict=True)))


def lines_of(rows_of: Callable[[Found], dict[str, list[float]]], found: Sequence[Found]) -> list[str]:
    """Return the lines of a section, none if it was not measured."""
    lines: list[str] = []
    if found:
        say_all(lines.append, rows_of, found)
    return lines


def head_of_line(found: HeadOfLineResult) -> dict[str, list[float]]:
    """Return the percentiles of a node in milliseconds, by their labels."""
    heavy = f"{found.heavy_answered} of {CALLS} in {found.heavy_seconds:.2f} s"
    return {
        "alone": found.alone,
        f"same connection ({heavy})": found.beside,
        "another connection": found.elsewhere,
    }


def heavy_answers(found: Sequence[HeadOfLineResult]) -> Iterator[str]:
    """Yield the results of each node's heavy calls."""
    for number, each in enumerate(found):
        yield f"{label('heavy calls', number, len(found))}: {each.heavy_says}"


def slow_client(found: SlowClientResult) -> dict[str, list[float]]:
    """Return the percentiles of a node in milliseconds, by their labels."""
    unread = f"{found.requests:,} blocks of {found.reply_bytes / 1024:,.0f} KiB"
    return {"before": found.before, f"meanwhile ({unread})": found.meanwhile}
