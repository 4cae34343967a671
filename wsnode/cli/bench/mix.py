"""`wsnode bench URL`: a mix of calls."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wsnode.cli.bench.running import (
    SectionCommand,
    connections_option,
    depth_option,
    end,
    http_option,
    option,
    results_options,
    urls_of,
)
from wsnode.cli.options import FiniteRange
from wsnode.cli.terminal import PassingLine, one_line_failures, say

if TYPE_CHECKING:
    from wsnode.load.mix.ramp import Ramp
    from wsnode.load.plan import MixPlan

LOAD, TIME = "Load", "Ramp and intervals"


@click.command(cls=SectionCommand)
@click.argument("url", metavar="URL")
@option(
    LOAD,
    "--mix",
    "shares",
    metavar="METHOD=N,…",
    help="The share of each method; those of real applications if not given.",
)
@connections_option(LOAD, 16)
@depth_option(LOAD, "Requests in flight on each.")
@option(
    LOAD, "--rate", type=FiniteRange(min=1), metavar="N", help="Requests a second in all, whatever the depth."
)
@option(
    LOAD,
    "--seconds",
    type=FiniteRange(min=0.1),
    default=5.0,
    show_default=True,
    metavar="S",
    help="Seconds of measurement on each node, or of each step of a ramp.",
)
@option(
    LOAD,
    "--processes",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Processes of the client; half of the cores if not given.",
)
@http_option(LOAD, "Over HTTP, a request at a time.")
@option(
    LOAD,
    "--seed",
    metavar="N",
    default=1,
    show_default=True,
    help="Seed of the random requests: the same seed makes the same requests.",
)
@option(
    TIME,
    "--ramp",
    metavar="WHAT=VALUES",
    help="Let the load grow in steps: connections=1,8,64 or rate=1000..8000/8. Requests of a rate that "
    "were due in a step and had no reply when it ended count as unanswered.",
)
@option(
    TIME,
    "--p99-limit",
    type=FiniteRange(min=0.001),
    default=100.0,
    show_default=True,
    metavar="MS",
    help="Name the first step with a p99 over this.",
)
@option(
    TIME,
    "--intervals",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Report the results of N equal parts of the time.",
)
@option(
    TIME,
    "--pid",
    "pids",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="PID",
    help="Memory and CPU of the node's process; a second one is of --against.",
)
@results_options
def mix(
    *,
    url: str,
    against: str | None,
    shares: str | None,
    connections: int,
    depth: int,
    rate: float | None,
    seconds: float,
    processes: int | None,
    over_http: bool,
    ramp: str | None,
    p99_limit: float,
    intervals: int | None,
    pids: tuple[int, ...],
    as_json: bool,
    page_file: Path | None,
    seed: int,
) -> None:
    """Measure a node's throughput and latency under a mix of calls."""
    from wsnode.load.mix.processes import usual_processes
    from wsnode.load.mix.window import LoadSettings
    from wsnode.load.plan import MixPlan

    urls = urls_of(url, against, over_http=over_http)
    if len(pids) > len(urls):
        raise click.UsageError("--pid: give at most one for each node, in the order of the URLs")
    growth = None if ramp is None else _ramp(ramp)
    if growth is not None and intervals is not None:
        raise click.UsageError("--ramp and --intervals exclude each other: the steps are the intervals")
    pattern = LoadSettings(connections, 1 if over_http else depth, seconds, rate)
    fewest = pattern.connections if growth is None else growth.least_connections(pattern)
    count = min(processes or usual_processes(fewest), fewest)
    plan = MixPlan(_mix(shares), pattern, seed, count, growth, p99_limit, intervals or 0, list(pids))
    _run(urls, plan, as_json=as_json, page_file=page_file)


def _mix(text: str | None) -> dict[str, float]:
    from wsnode.load.mix.requests import REAL_MIX, MixError, read_mix

    try:
        return read_mix(REAL_MIX if text is None else text)
    except MixError as error:
        raise click.BadParameter(str(error), param_hint="--mix") from error


def _ramp(text: str) -> "Ramp":
    from wsnode.load.mix.ramp import Ramp, RampError

    try:
        return Ramp.parse(text)
    except RampError as error:
        raise click.BadParameter(str(error), param_hint="--ramp") from error


def _run(urls: Sequence[str], plan: "MixPlan", *, as_json: bool, page_file: Path | None) -> None:
    import msgspec

    from wsnode.load.machine import allow_connections
    from wsnode.load.report.mix import document, page
    from wsnode.load.run import measure

    with one_line_failures(), PassingLine(sys.stderr) as line:
        allow_connections(plan.most_connections)
        outcome = measure(urls, plan, ignore if as_json else line.say, line.show)
        if page_file is not None:
            page_file.write_text(page(outcome))
    if as_json:
        say(msgspec.json.encode(document(outcome)).decode())
    end(line, outcome.failure)


def ignore(_line: str) -> None:
    """Do nothing, since the JSON object is printed at the end."""
