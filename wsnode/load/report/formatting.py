"""Formats of figures: tables as lines and as HTML, percentiles as JSON, and the names of two nodes."""

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, Final, NamedTuple, Protocol

from wsnode.load.histogram import PARTS, Histogram
from wsnode.load.machine import circumstances
from wsnode.upstream.address import shown

NAMES: Final = ("A", "B")
"""Names of the node, and of the second node beside it."""
STYLES: Final = ("a", "b")
"""Classes of the two nodes in the style of a page."""
LABEL_WIDTH: Final = 34
CELL_WIDTH: Final = 10


class ReportTable(NamedTuple):
    """Table of a report, for text and for HTML: the heads of all columns, and rows of cells. The first column
    has the rows' labels.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def lines(self) -> Iterator[str]:
        yield self.line(self.heads)
        yield from map(self.line, self.rows)

    def line(self, cells: Sequence[str]) -> str:
        widths = [max(CELL_WIDTH, len(head) + 1) for head in self.heads[1:]]
        numbers = "".join(f"{cell:>{width}}" for cell, width in zip(cells[1:], widths, strict=True))
        return f"{cells[0]:{LABEL_WIDTH}}{numbers}".rstrip()

    def html(self) -> str:
        heads = "".join(f"<th>{escape(head)}</th>" for head in self.heads)
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self.rows)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        # A table that is wider than a phone scrolls by itself, and the page does not.
        return f'<div class="scroll"><table><tr>{heads}</tr>{body}</table></div>'


def label(text: str, number: int, nodes: int) -> str:
    """Return a text, prefixed with its node's name if there is more than one node."""
    return f"{NAMES[number]} {text}" if nodes > 1 else text


def labelled(texts: Sequence[Iterable[str]]) -> Iterator[str]:
    """Yield all nodes' texts in order, each prefixed with its node's name if there is more than one node."""
    for number, of_node in enumerate(texts):
        yield from (label(text, number, len(texts)) for text in of_node)


class NodeResult(Protocol):
    """Result of one measured node: its URL and its client version, by which reports name the node."""

    @property
    def url(self) -> str: ...

    @property
    def version(self) -> str: ...


def node_lines(found: Iterable[NodeResult]) -> Iterator[str]:
    """Yield a line for each node: its name, its URL without secrets, and its version."""
    for name, each in zip(NAMES, found, strict=False):
        yield f"{name}  {shown(each.url)}  {each.version}"


def node_members(number: int, found: NodeResult) -> dict[str, Any]:
    """Return the members of a JSON object that name the node of its results."""
    return {"name": NAMES[number], "address": shown(found.url), "client": found.version}


def times(latencies: Histogram) -> list[str]:
    """Return p50, p90, p99 and the greatest in milliseconds, as text."""
    found = [latencies.percentile(part) for part in (0.5, 0.9, 0.99)]
    return [*map(decimal, found), decimal(latencies.greatest / 1000 if latencies else None)]


def circumstance_members() -> dict[str, Any]:
    """Return `{"measured": …}` for a JSON report: the date and the machine of the measurement."""
    return {"measured": circumstances()._asdict()}


def decimal(value: float | None, digits: int = 3) -> str:
    """Return a number as text, a dash for None and NaN."""
    return "-" if value is None or math.isnan(value) else f"{value:,.{digits}f}"


def finite(value: float) -> float | None:
    """Return a number for JSON, None for NaN and infinity."""
    return value if math.isfinite(value) else None


def named(percentiles: Sequence[float]) -> dict[str, float | None]:
    """Return percentiles by their names."""
    return {f"p{part * 100:g}": finite(value) for part, value in zip(PARTS, percentiles, strict=True)}


def latency(latencies: Histogram) -> dict[str, Any]:
    """Return percentiles and the greatest in milliseconds, and the histogram as from, to and count."""
    return {
        "latency": {**named(latencies.percentiles()), "max": latencies.greatest / 1000},
        "histogram": [[low, high, count] for (low, high), count in latencies.buckets()],
    }
