"""Lag of notifications: as lines, as JSON, and as a page."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from wsnode.load.histogram import Histogram
from wsnode.load.lag.measure import LagPlan, LagResult
from wsnode.load.lag.notice import CALLS, LOGS
from wsnode.load.measured import Measurement
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
from wsnode.upstream.address import shown

HEADS: Final = ("", "heard", "p50 ms", "p90 ms", "p99 ms", "max ms", "missed", "doubled")
VERSION: Final = 1


def title(plan: LagPlan) -> str:
    """Return the plan in words."""
    kinds = " and ".join(plan.kinds)
    calls = f" ({plan.calls:,} each)" if CALLS in plan.kinds else ""
    return f"lag: {plan.subscribers:,} subscribers of {kinds}{calls}, {plan.seconds:g} s"


def lines(found: Sequence[LagResult], plan: LagPlan) -> Iterator[str]:
    """Yield the results of all nodes as lines."""
    yield from node_lines(found)
    yield f"\n{title(plan)}"
    yield from labelled([[driven(lag, plan)] for lag in found])
    yield from table(found, plan).lines()
    yield from labelled([[*notes(lag), text.client_note(lag.tally.after_first)] for lag in found])


def driven(lag: LagResult, plan: LagPlan) -> str:
    """Return the number of blocks, and the way in which they were made, as text."""
    blocks = f"{lag.tally.blocks:,} blocks in {lag.seconds:.1f} s"
    if lag.drive is None:
        return f"{blocks}, made by others"
    logs = f", {plan.logs:,} logs each" if LOGS in plan.kinds else ""
    return f"{blocks}{logs}, by {lag.drive}, one each {plan.interval:g} s at most"


def table(found: Sequence[LagResult], plan: LagPlan) -> ReportTable:
    """Return a table of the lags of each kind on each node, after the first delivery and after the call."""
    rows = list[list[str]]()
    for kind in plan.kinds:
        for number, lag in enumerate(found):
            tally = lag.tally
            counts = [f"{tally.missed[kind]:,}", f"{tally.doubled[kind]:,}"]
            first = label(f"{kind} after the first", number, len(found))
            rows.append([first, f"{tally.heard[kind]:,}", *_times(tally.after_first, kind), *counts])
            if lag.drive is not None:
                called = label(f"{kind} after the call", number, len(found))
                rows.append([called, "", *_times(tally.after_call, kind), "", ""])
    return ReportTable(HEADS, rows)


def _times(measured: Measurement, kind: str) -> list[str]:
    return times(measured.latencies.get(kind, Histogram()))


def notes(lag: LagResult) -> Iterator[str]:
    """Yield remarks on the figures, such as lost connections."""
    tally = lag.tally
    if tally.before_reply:
        yield f"{tally.before_reply:,} notifications came before the reply to the call, which counts as 0 ms"
    if tally.unheard:
        yield f"{tally.unheard:,} calls made blocks that no subscriber heard of"
    if lag.lost:
        yield f"{len(lag.lost):,} connections were lost, the first one: {lag.lost[0]}"


def document(found: Sequence[LagResult], plan: LagPlan) -> dict[str, Any]:
    """Return the lags as a JSON object, in milliseconds; addresses without paths, which may hold keys."""
    return {
        "version": VERSION,
        **circumstance_members(),
        "lag": {
            "subscribers": plan.subscribers,
            "kinds": list(plan.kinds),
            "logs": plan.wanted_logs,
            **({"calls": plan.calls} if CALLS in plan.kinds else {}),
            "interval": plan.interval,
            "seconds": plan.seconds,
        },
        "nodes": [_node(lag, plan, number) for number, lag in enumerate(found)],
    }


def _node(lag: LagResult, plan: LagPlan, number: int) -> dict[str, Any]:
    tally = lag.tally
    return {
        **node_members(number, lag),
        "made_by": lag.drive,
        "seconds": lag.seconds,
        "blocks": tally.blocks,
        "before_reply": tally.before_reply,
        "unheard_calls": tally.unheard,
        "lost_connections": lag.lost,
        "client_limit": tally.after_first.is_client_the_limit,
        "kinds": {
            kind: {
                "heard": tally.heard[kind],
                "missed": tally.missed[kind],
                "doubled": tally.doubled[kind],
                "after_first": latency(tally.after_first.latencies.get(kind, Histogram())),
                "after_call": latency(tally.after_call.latencies.get(kind, Histogram())),
            }
            for kind in plan.kinds
        },
    }


def page(found: Sequence[LagResult], plan: LagPlan) -> str:
    """Return the lags as a page of HTML."""
    return html_page.page("wsnode bench lag", _sections(found, plan))


def _sections(found: Sequence[LagResult], plan: LagPlan) -> Iterator[str]:
    for number, lag in enumerate(found):
        yield html_page.key(number, f"{shown(lag.url)} {lag.version}: {driven(lag, plan)}")
    yield html_page.note(title(plan))
    yield table(found, plan).html()
    yield html_page.notes(labelled([notes(lag) for lag in found]))
    yield from plots.clients([lag.tally.after_first for lag in found])
    yield "<h2>By kind, after the first subscriber</h2>"
    yield plots.by_method([lag.tally.after_first for lag in found])
    yield from plots.latency_sections([lag.tally.after_first for lag in found], "notifications")
    if any(lag.drive is not None for lag in found):
        yield "<h2>By kind, after the call</h2>"
        yield plots.by_method([lag.tally.after_call for lag in found])
