"""Report of a mix of calls: as a JSON object, for later comparison, and as a page."""

import math
from collections.abc import Iterator
from html import escape
from typing import Any, Final

from wsnode.load.histogram import Histogram
from wsnode.load.measured import Measurement
from wsnode.load.plan import MixOutcome
from wsnode.load.report import html_page, intervals, plots, ramp, text
from wsnode.load.report.formatting import circumstance_members, finite, latency, named, node_members
from wsnode.upstream.address import shown

VERSION: Final = 1
"""Version of the object's form; members may be added without another version."""


def document(outcome: MixOutcome) -> dict[str, Any]:
    """Return the results as JSON, latencies in milliseconds; addresses without paths, which may hold keys."""
    pattern = outcome.plan.pattern
    return {
        "version": VERSION,
        **circumstance_members(),
        "load": {
            "connections": pattern.connections,
            "depth": pattern.depth if pattern.rate is None else None,
            "rate": pattern.rate,
            "seconds": pattern.seconds,
            "seed": outcome.plan.seed,
            "processes": outcome.plan.processes,
            "mix": outcome.plan.mix,
        },
        "nodes": [_node(outcome, number) for number in range(len(outcome.nodes))],
    }


def _node(outcome: MixOutcome, number: int) -> dict[str, Any]:
    node, measured = outcome.nodes[number], outcome.mix[number]
    found: dict[str, Any] = {
        **node_members(number, node),
        "head": node.samples.head,
        "mix": mix_document(measured),
    }
    if outcome.plan.ramp is not None:
        found["ramp"] = ramp.document(outcome.steps[number], outcome.plan.ramp, outcome.plan.limit_ms)
    if outcome.plan.intervals:
        found["intervals"] = intervals.document(measured, outcome.plan.intervals)
    if outcome.head_of_line:
        heavy = outcome.head_of_line[number]
        found["head_of_line"] = {
            "alone": named(heavy.alone),
            "same_connection": named(heavy.beside),
            "another_connection": named(heavy.elsewhere),
            "heavy_answered": heavy.heavy_answered,
            "heavy_seconds": heavy.heavy_seconds,
            "heavy_result": heavy.heavy_says,
        }
    if outcome.slow_client:
        slow = outcome.slow_client[number]
        found["slow_client"] = {"before": named(slow.before), "meanwhile": named(slow.meanwhile)}
    return found


def mix_document(measured: Measurement) -> dict[str, Any]:
    """Return the results of calls as a JSON object."""
    return {
        "seconds": measured.seconds,
        **_row(measured, measured.all_latencies, measured.errors.total()),
        "unanswered": measured.unanswered,
        "failure": measured.failure,
        "client_limit": measured.is_client_the_limit,
        "client_cores": measured.busy,
        "machine": measured.machine or None,
        "methods": {
            method: {
                **_row(measured, latencies, measured.errors[method]),
                "first_error": measured.first_errors.get(method),
            }
            for method, latencies in sorted(measured.latencies.items())
        },
        "over_time": [
            {
                "from": place * measured.slice_seconds,
                "replies": len(piece.latencies),
                "errors": piece.errors,
                "p50": piece.latencies.percentile(0.5),
                "p99": piece.latencies.percentile(0.99),
            }
            for place, piece in sorted(measured.slices.items())
        ],
        "slice_seconds": measured.slice_seconds,
    }


def _row(measured: Measurement, latencies: Histogram, errors: int) -> dict[str, Any]:
    return {
        "replies": len(latencies),
        "requests_per_second": finite(len(latencies) / measured.seconds if measured.seconds else math.nan),
        "errors": errors,
        **latency(latencies),
    }


def page(outcome: MixOutcome) -> str:
    """Return the page as HTML."""
    return html_page.page("wsnode bench", _body(outcome))


def _body(outcome: MixOutcome) -> Iterator[str]:
    for number, node in enumerate(outcome.nodes):
        yield html_page.key(number, text.title("", shown(node.url), node.version, node.samples.head).strip())
    pattern, growth = outcome.plan.pattern, outcome.plan.ramp
    yield html_page.note(text.load(pattern) if growth is None else ramp.words(growth, pattern))
    yield from plots.clients(outcome.mix)
    if growth is not None:
        yield from ramp.sections(outcome.steps, growth, outcome.plan.limit_ms)
    yield from plots.latency_sections(outcome.mix)
    yield "<h2>By method</h2>"
    yield plots.by_method(outcome.mix)
    yield text.table(outcome.mix).html()
    yield from intervals.sections(outcome.mix, outcome.plan.intervals)
    yield from _interference(outcome)


def _interference(outcome: MixOutcome) -> Iterator[str]:
    for title, lines in (
        (text.HEAD_OF_LINE, text.lines_of(text.head_of_line, outcome.head_of_line)),
        (text.SLOW_CLIENT, text.lines_of(text.slow_client, outcome.slow_client)),
    ):
        if lines:
            name, _, words = title.strip().partition(": ")
            yield f"<h2>{escape(name.capitalize())}</h2><p>{escape(words)}</p>"
            yield f"<pre>{escape(chr(10).join(lines))}</pre>"
