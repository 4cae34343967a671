"""Replay: as lines, as JSON, and as a page."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from wsnode.load.replay.measure import ReplayPlan, ReplayResult
from wsnode.load.report import html_page, plots, text
from wsnode.load.report.formatting import circumstance_members, labelled, node_lines, node_members
from wsnode.load.report.mix import mix_document

VERSION: Final = 1


def title(plan: ReplayPlan, *, is_paced: bool) -> str:
    """Return the plan as text."""
    if plan.rate is not None:
        pace = f"{plan.rate:,g} requests a second"
    elif is_paced:
        pace = "with its times" if plan.speed == 1 else f"with its times, {plan.speed:g} times as fast"
    else:
        pace = f"{plan.depth} in flight on each"
    return f"replay: {plan.file.name}, {plan.connections} connections, {pace}"


def lines(found: Sequence[ReplayResult], plan: ReplayPlan) -> Iterator[str]:
    """Yield the results of all nodes as lines."""
    yield from node_lines(found)
    yield f"\n{title(plan, is_paced=found[0].is_paced)}\n{text.COLUMNS}"
    yield from text.mix([replay.measured for replay in found])
    yield from _all_notes(found)


def _all_notes(found: Sequence[ReplayResult]) -> Iterator[str]:
    # All nodes were sent the lines of one file, so only the first node's notes name the malformed lines.
    return labelled([notes(found[0]), *(islice(notes(replay), 1) for replay in found[1:])])


def notes(replay: ReplayResult) -> Iterator[str]:
    """Yield the number of sent requests, and the malformed lines."""
    yield f"{replay.sent:,} requests sent in {replay.measured.seconds:.2f} s"
    if replay.malformed:
        yield f"{replay.malformed:,} of {replay.lines:,} lines are no requests"
        yield from replay.shown


def document(found: Sequence[ReplayResult], plan: ReplayPlan) -> dict[str, Any]:
    """Return the replays as a JSON object, in milliseconds; addresses without paths, which may hold keys."""
    return {
        "version": VERSION,
        **circumstance_members(),
        "replay": {
            "file": plan.file.name,
            "connections": plan.connections,
            "depth": None if found[0].is_paced else plan.depth,
            "rate": plan.rate,
            "speed": plan.speed,
        },
        "nodes": [
            {
                **node_members(number, replay),
                "sent": replay.sent,
                "lines": replay.lines,
                "malformed": replay.malformed,
                "malformed_lines": replay.shown,
                **mix_document(replay.measured),
            }
            for number, replay in enumerate(found)
        ],
    }


def page(found: Sequence[ReplayResult], plan: ReplayPlan) -> str:
    """Return the replays as a page of HTML."""
    return html_page.page("wsnode bench replay", _sections(found, plan))


def _sections(found: Sequence[ReplayResult], plan: ReplayPlan) -> Iterator[str]:
    yield from html_page.keys(found)
    yield html_page.note(title(plan, is_paced=found[0].is_paced))
    yield html_page.notes(_all_notes(found))
    measured = [replay.measured for replay in found]
    yield from plots.clients(measured)
    yield from plots.latency_sections(measured)
    yield "<h2>By method</h2>"
    yield plots.by_method(measured)
    yield text.table(measured).html()
