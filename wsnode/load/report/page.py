"""A measurement as one page that needs nothing from elsewhere: histograms, percentiles, time, methods."""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from math import log2
from typing import Final

from wsnode.load.histogram import Histogram
from wsnode.load.measured import Measured
from wsnode.load.report import text
from wsnode.load.report.charts import Series, axis_of, chart
from wsnode.load.run import Outcome
from wsnode.upstream.address import shown

STYLE: Final = """
:root { color-scheme: light dark; --a: #1668c7; --b: #c4620a; --line: #8884; }
@media (prefers-color-scheme: dark) { :root { --a: #6db0ff; --b: #ffa45c; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: currentColor; }
svg text.label { font-weight: 600; } .grid { stroke: var(--line); }
polyline { fill: none; stroke-width: 1.6; } polygon { fill-opacity: .3; stroke-width: 1; }
.a { stroke: var(--a); } .b { stroke: var(--b); } .dashed { stroke-dasharray: 4 3; }
polygon.a { fill: var(--a); } polygon.b { fill: var(--b); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .5rem; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; } .key-a { color: var(--a); } .key-b { color: var(--b); }
.warning { border-left: .3rem solid var(--b); padding-left: .7rem; }
"""
STYLES: Final = ("a", "b")
SHORTEST_MS: Final = 1e-3
HALVES: Final = 8
"""Points of the curve of percentiles from one halving of what is left to the next."""


def page(outcome: Outcome) -> str:
    """Return the page as HTML."""
    body = "\n".join(_body(outcome))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>wsnode bench</title><style>{STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _body(outcome: Outcome) -> Iterator[str]:
    yield "<h1>wsnode bench</h1>"
    for number, node in enumerate(outcome.nodes):
        title = text.title("", shown(node.url), node.version, node.samples.head).strip()
        yield f'<p><b class="key-{STYLES[number]}">{text.NAMES[number]}</b> {escape(title)}</p>'
    yield f"<p>{escape(text.load(outcome.plan.pattern))}</p>"
    for name, measured in zip(text.NAMES, outcome.mix, strict=False):
        if measured.busy:
            kind = ' class="warning"' if measured.is_client_the_limit else ""
            yield f"<p{kind}>client of {name}: {escape(text.client(measured))}</p>"
    yield "<h2>Latency</h2>"
    yield _histograms([measured.all_latencies for measured in outcome.mix])
    yield "<h2>Latency by percentile</h2>"
    yield _percentiles([measured.all_latencies for measured in outcome.mix])
    yield "<h2>Over time</h2>"
    yield _over_time(outcome.mix, "replies a second", ("",), lambda piece, width: [len(piece) / width])
    yield _over_time(
        outcome.mix, "p50 and p99, ms", ("", " dashed"), lambda piece, _: [*piece.percentiles((0.5, 0.99))]
    )
    yield "<h2>By method</h2>"
    yield _table(outcome.mix)
    yield from _sections(outcome)


def _histograms(latencies: Sequence[Histogram]) -> str:
    """Return the share of replies by latency, each bucket as high as it would be were all equally wide."""
    series = [
        Series(name, style, _density(each), is_filled=True)
        for name, style, each in zip(text.NAMES, STYLES, latencies, strict=False)
    ]
    across = axis_of([x for each in series for x, _ in each.points], is_logarithmic=True)
    return chart(
        series, across, axis_of([y for each in series for _, y in each.points]), ("ms", "% of replies")
    )


def _density(latencies: Histogram, parts: int = 12) -> list[tuple[float, float]]:
    """Return for each twelfth of a power of two how much of the replies took that long."""
    counts = dict[int, int]()
    for (low, high), count in latencies.buckets():
        place = round(parts * log2(max((low + high) / 2, SHORTEST_MS)))
        counts[place] = counts.get(place, 0) + count
    if not counts:
        return []
    places = range(min(counts) - 1, max(counts) + 2)
    return [(2 ** (place / parts), 100 * counts.get(place, 0) / len(latencies)) for place in places]


def _percentiles(latencies: Sequence[Histogram]) -> str:
    series = [
        Series(name, style, _curve(each))
        for name, style, each in zip(text.NAMES, STYLES, latencies, strict=False)
    ]
    across = axis_of([x for each in series for x, _ in each.points], is_logarithmic=True)
    up = axis_of([y for each in series for _, y in each.points], is_logarithmic=True)
    return chart(series, across, up, ("one reply in …", "took longer than … ms"))


def _curve(latencies: Histogram) -> list[tuple[float, float]]:
    """Return what one reply in 2, 4, 8 … takes longer than."""
    points, one_in = [], 1.1
    while one_in <= len(latencies):
        points.append((one_in, latencies.percentile(1 - 1 / one_in)))
        one_in *= 2 ** (1 / HALVES)
    return points


def _over_time(
    measured: Sequence[Measured],
    label: str,
    dashes: Sequence[str],
    values: Callable[[Histogram, float], list[float]],
) -> str:
    series = list[Series]()
    for name, style, each in zip(text.NAMES, STYLES, measured, strict=False):
        # The last slice may be a short one.
        whole = [
            number
            for number in sorted(each.slices)
            if (number + 1) * each.slice_seconds <= each.seconds + 0.01
        ]
        for place, dash in enumerate(dashes):
            points = [
                (
                    number * each.slice_seconds,
                    values(each.slices[number].latencies, each.slice_seconds)[place],
                )
                for number in whole
            ]
            series.append(Series(name, style + dash, points))
    across = axis_of([x for each in series for x, _ in each.points])
    return chart(series, across, axis_of([y for each in series for _, y in each.points]), ("s", label))


def _table(measured: Sequence[Measured]) -> str:
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in text.cells(measured)
    )
    heads = "".join(
        f"<th>{head}</th>" for head in ("", "requests/s", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "errors")
    )
    return f"<table><tr>{heads}</tr>{rows}</table>"


def _sections(outcome: Outcome) -> Iterator[str]:
    for title, lines in (
        (text.HEAD_OF_LINE, text.lines_of(text.head_of_line, outcome.head_of_line)),
        (text.SLOW_CLIENT, text.lines_of(text.slow_client, outcome.slow_client)),
    ):
        if lines:
            name, _, words = title.strip().partition(": ")
            yield f"<h2>{escape(name.capitalize())}</h2><p>{escape(words)}</p>"
            yield f"<pre>{escape(chr(10).join(lines))}</pre>"
