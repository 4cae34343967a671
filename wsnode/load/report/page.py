"""Page of a measurement by a mix: latencies, time, methods, steps, intervals, and interference."""

from collections.abc import Iterator
from html import escape

from wsnode.load.plan import MixOutcome
from wsnode.load.report import html_page, intervals, plots, ramp, text
from wsnode.upstream.address import shown


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
