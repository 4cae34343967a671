"""Storm of connections: as lines, as JSON, and as a page."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from wsnode.load.histogram import Histogram
from wsnode.load.report import html_page, plots, text
from wsnode.load.report.formatting import (
    ReportTable,
    circumstance_members,
    label,
    labelled,
    latency,
    node_lines,
    node_members,
    times,
)
from wsnode.load.storm.measure import FIRST, LAST, OPEN, StormPlan, StormResult

HEADS: Final = ("", "connections", "p50 ms", "p90 ms", "p99 ms", "max ms")
VERSION: Final = 1


def title(plan: StormPlan) -> str:
    """Return the plan as text."""
    pace = f"{plan.rate:,g} a second" if plan.rate is not None else f"{plan.opening:,} being opened at once"
    hold = f", held for {plan.hold:g} s" if plan.hold else ""
    return f"storm: {plan.connections:,} connections, {pace}{hold}"


def lines(found: Sequence[StormResult], plan: StormPlan) -> Iterator[str]:
    """Yield the results of all nodes as lines."""
    yield from node_lines(found)
    yield f"\n{title(plan)}"
    yield from table(found, plan).lines()
    yield from labelled([[*notes(storm, plan), text.client_note(storm.opened)] for storm in found])


def table(found: Sequence[StormResult], plan: StormPlan) -> ReportTable:
    """Return the table of the times of each node's connections."""
    return ReportTable(
        HEADS,
        [
            [label(name, number, len(found)), f"{len(latencies):,}", *times(latencies)]
            for name in (OPEN, FIRST, *((LAST,) if plan.hold else ()))
            for number, storm in enumerate(found)
            for latencies in [_latencies(storm, name)]
        ],
    )


def _latencies(storm: StormResult, name: str) -> Histogram:
    found = storm.opened.latencies | storm.answered.latencies
    return found.get(name, Histogram())


def notes(storm: StormResult, plan: StormPlan) -> Iterator[str]:
    """Yield the outcomes of the connections as text."""
    rate = storm.opened.replies / storm.seconds if storm.seconds else 0.0
    done = f"{storm.opened.replies:,} of {plan.connections:,} open and answered"
    yield f"{done} after {storm.seconds:.2f} s: {rate:,.0f} a second"
    yield from _counted("failed", storm.failures)
    yield from _counted("lost later", storm.lost)
    if plan.hold:
        yield f"{storm.held:,} open after {plan.hold:g} s"


def _counted(words: str, failures: Counter[str]) -> Iterator[str]:
    for reason, count in failures.most_common():
        yield f"{words}: {count:,}: {reason}"


def document(found: Sequence[StormResult], plan: StormPlan) -> dict[str, Any]:
    """Return the storms as a JSON object, in milliseconds; addresses without paths, which may hold keys."""
    return {
        "version": VERSION,
        **circumstance_members(),
        "storm": {
            "connections": plan.connections,
            "rate": plan.rate,
            "opening": plan.opening if plan.rate is None else None,
            "hold": plan.hold,
            "timeout": plan.timeout,
        },
        "nodes": [
            {
                **node_members(number, storm),
                "seconds": storm.seconds,
                "open": latency(_latencies(storm, OPEN)),
                "first_answer": latency(_latencies(storm, FIRST)),
                "answer_after_hold": latency(_latencies(storm, LAST)) if plan.hold else None,
                "opened": storm.opened.replies,
                "failures": dict(storm.failures),
                "lost": dict(storm.lost),
                "held": storm.held,
                "client_limit": storm.opened.is_client_the_limit,
            }
            for number, storm in enumerate(found)
        ],
    }


def page(found: Sequence[StormResult], plan: StormPlan) -> str:
    """Return the storms as a page of HTML."""
    return html_page.page("wsnode bench storm", _sections(found, plan))


def _sections(found: Sequence[StormResult], plan: StormPlan) -> Iterator[str]:
    yield from html_page.keys(found)
    yield html_page.note(title(plan))
    yield table(found, plan).html()
    yield html_page.notes(labelled([notes(storm, plan) for storm in found]))
    yield from plots.clients([storm.opened for storm in found])
    yield from plots.latency_sections([storm.opened for storm in found], "connections")
    yield "<h2>Calls</h2>"
    yield plots.by_method([storm.answered for storm in found])
