"""Steps of a ramp: as lines, as JSON, and as charts."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from wsnode.load.mix.ramp import Ramp, RampStep, begins, falls_behind, has_errors, is_over
from wsnode.load.mix.window import LoadSettings
from wsnode.load.report import html_page
from wsnode.load.report.charts import Series, chart
from wsnode.load.report.formatting import NAMES, STYLES, ReportTable, decimal, finite, label, latency
from wsnode.load.report.plots import P50_AND_P99

UNANSWERED: Final = (
    "unanswered: requests that were due in a step and had no reply when it ended; a few are on their way, "
    "and many say that the node falls behind"
)
HEADS: Final = ("", "replies/s", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "errors", "unanswered")


def title(ramp: Ramp, pattern: LoadSettings) -> str:
    """Return the title of the section, and the heads of its columns."""
    return f"\nramp: {words(ramp, pattern)}\n{ReportTable(HEADS, []).line(HEADS)}"


def words(ramp: Ramp, pattern: LoadSettings) -> str:
    """Return the ramp as text."""
    span = f"{said(ramp, ramp.values[0])} to {said(ramp, ramp.values[-1])}"
    fixed = f"{pattern.connections} connections, " if ramp.what == "rate" else ""
    depth = "" if ramp.what == "rate" or pattern.rate else f", {pattern.depth} in flight on each"
    return f"{fixed}{span}{depth}, {len(ramp.values)} steps of {pattern.seconds:g} s"


def said(ramp: Ramp, value: float) -> str:
    """Return the value of a step as text."""
    noun = "a second" if ramp.what == "rate" else "connection" if value == 1 else "connections"
    return f"{value:,.0f} {noun}"


def line(ramp: Ramp, step: RampStep, number: int, nodes: int) -> str:
    """Return the line of a step on the node of that number."""
    return ReportTable(HEADS, []).line(_row(ramp, step, number, nodes))


def _row(ramp: Ramp, step: RampStep, number: int, nodes: int) -> list[str]:
    name, measured = label(said(ramp, step.value), number, nodes), step.measured
    if step.failure is not None:
        return [f"{name}: {step.failure}", *("" for _ in HEADS[1:])]
    times = [decimal(each) for each in measured.all_percentiles()]
    return [
        name,
        decimal(measured.rate, 0),
        *times,
        f"{measured.errors.total():,}",
        f"{measured.unanswered:,}",
    ]


def limits(steps: Sequence[Sequence[RampStep]], ramp: Ramp, limit_ms: float) -> Iterator[str]:
    """Yield, for each node, the first steps with p99 over the limit, errors, and a lag behind the rate."""
    if any(step.measured.unanswered for each in steps for step in each):
        yield UNANSWERED
    for number, each in enumerate(steps):
        for name, value in found_limits(each, ramp, limit_ms).items():
            shown = "in no step" if value is None else f"from {said(ramp, value)} on"
            yield f"{label(name, number, len(steps))}: {shown}"
        if limited := [step.value for step in each if step.measured.is_client_the_limit]:
            values = ", ".join(f"{value:,.0f}" for value in limited)
            yield label(f"the client or its machine was the limit: at {values}", number, len(steps))


def found_limits(steps: Sequence[RampStep], ramp: Ramp, limit_ms: float) -> dict[str, float | None]:
    """Return the value of the first step that reaches each limit, None where none does."""
    found = {
        f"p99 over {limit_ms:g} ms": begins(steps, is_over(limit_ms)),
        "errors": begins(steps, has_errors),
    }
    if ramp.what == "rate":
        found["less answered than asked"] = begins(steps, falls_behind)
    return found


def document(steps: Sequence[RampStep], ramp: Ramp, limit_ms: float) -> dict[str, Any]:
    """Return the steps of a node as a JSON object."""
    return {
        "what": ramp.what,
        "begins": found_limits(steps, ramp, limit_ms),
        "steps": [
            {
                "value": step.value,
                "replies_per_second": finite(step.measured.rate),
                "errors": step.measured.errors.total(),
                "unanswered": step.measured.unanswered,
                "failure": step.failure,
                "client_limit": step.measured.is_client_the_limit,
                **latency(step.measured.all_latencies),
            }
            for step in steps
        ],
    }


def sections(steps: Sequence[Sequence[RampStep]], ramp: Ramp, limit_ms: float) -> Iterator[str]:
    """Yield HTML: latency and rate by step, the table, and the steps that reach limits."""
    unit = "requests a second asked" if ramp.what == "rate" else "connections"
    yield "<h2>By step</h2>"
    yield _by_step(steps, (unit, "p50 and p99, ms"), P50_AND_P99, _times, is_logarithmic=True)
    yield _by_step(steps, (unit, "replies a second"), [("", "")], lambda step: [step.measured.rate])
    rows = [
        _row(ramp, each[place], number, len(steps))
        for place in range(max(map(len, steps)))
        for number, each in enumerate(steps)
        if place < len(each)
    ]
    yield ReportTable(HEADS, rows).html()
    yield html_page.notes(limits(steps, ramp, limit_ms))


def _times(step: RampStep) -> list[float]:
    return step.measured.all_latencies.percentiles((0.5, 0.99))


def _by_step(
    steps: Sequence[Sequence[RampStep]],
    labels: tuple[str, str],
    lines: Sequence[tuple[str, str]],
    values: Callable[[RampStep], list[float]],
    *,
    is_logarithmic: bool = False,
) -> str:
    series = [
        Series(name, style + dash, [(step.value, values(step)[place]) for step in each if not step.failure])
        for name, style, each in zip(NAMES, STYLES, steps, strict=False)
        for place, (_name, dash) in enumerate(lines)
    ]
    return chart(series, labels, up_is_logarithmic=is_logarithmic) + html_page.legend(lines)
