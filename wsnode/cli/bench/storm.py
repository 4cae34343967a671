"""`wsnode bench storm`: many connections at the same time."""

from pathlib import Path

import click

from wsnode.cli.bench.running import (
    SectionCommand,
    connections_option,
    option,
    results_options,
    run_kind,
    urls_of,
)
from wsnode.cli.options import FiniteRange

STORM = "Storm"


@click.command(cls=SectionCommand)
@click.argument("url", metavar="URL")
@connections_option(STORM, 1000, "C")
@option(
    STORM,
    "--rate",
    type=FiniteRange(min=0.1),
    metavar="R",
    help="Connections opened a second; as fast as the node accepts them if not given.",
)
@option(
    STORM,
    "--opening",
    type=click.IntRange(1, 20_000),
    default=256,
    show_default=True,
    metavar="N",
    help="Maximum number of connections opening at the same time; ignored with --rate.",
)
@option(
    STORM,
    "--hold",
    type=FiniteRange(min=0),
    default=0.0,
    show_default=True,
    metavar="S",
    help="Seconds for which all connections stay open, before one more call on each.",
)
@option(
    STORM,
    "--timeout",
    type=FiniteRange(min=0.1),
    default=10.0,
    show_default=True,
    metavar="S",
    help="Seconds for opening a connection and answering its call; beyond them it counts as failed.",
)
@results_options
def storm(
    *,
    url: str,
    against: str | None,
    connections: int,
    rate: float | None,
    opening: int,
    hold: float,
    timeout: float,
    as_json: bool,
    page_file: Path | None,
) -> None:
    """Open many connections, and call once on each.

    Measures the time until each connection is open, and until its first answer; counts failures by kind.
    """
    from wsnode.load.report import storm as report
    from wsnode.load.storm.measure import StormPlan, measure_storm

    urls = urls_of(url, against)
    plan = StormPlan(connections, rate, opening, hold, timeout)
    run_kind(urls, plan, measure_storm, report, connections=connections, as_json=as_json, page_file=page_file)
