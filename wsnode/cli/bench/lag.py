"""`wsnode bench lag`: how late subscribers receive blocks, logs and outcomes of calls."""

from pathlib import Path

import click

from wsnode.cli.bench.running import SectionCommand, option, results_options, run_kind, urls_of
from wsnode.cli.options import FiniteRange

KINDS = ("newHeads", "logs", "calls")
LISTEN, BLOCKS = "Subscribers", "Blocks"


@click.command(cls=SectionCommand)
@click.argument("url", metavar="URL")
@option(
    LISTEN,
    "--subscribers",
    type=click.IntRange(1, 10_000),
    default=16,
    show_default=True,
    metavar="N",
    help="Subscribers, each on a connection of its own.",
)
@option(
    LISTEN,
    "--subscribe",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    default=("newHeads",),
    show_default=True,
    help="A kind of notification to subscribe to; once or more.",
)
@option(
    LISTEN,
    "--seconds",
    type=FiniteRange(min=0.1),
    default=10.0,
    show_default=True,
    metavar="S",
    help="Seconds of measurement on each node.",
)
@option(
    BLOCKS,
    "--drive",
    type=click.Choice(["auto", "mine", "send", "none"]),
    default="auto",
    show_default=True,
    help="Make blocks by evm_mine, by transactions of the node's account, or none; auto: the first "
    "that works.",
)
@option(
    BLOCKS,
    "--logs",
    type=click.IntRange(1, 10_000),
    default=10,
    show_default=True,
    metavar="K",
    help="Logs of each block made, with --subscribe logs.",
)
@option(
    LISTEN,
    "--calls",
    type=click.IntRange(1, 1_000),
    default=100,
    show_default=True,
    metavar="N",
    help="Calls of each subscriber, with --subscribe calls; a block changes one of them.",
)
@option(
    BLOCKS,
    "--interval",
    type=FiniteRange(min=0),
    default=0.1,
    show_default=True,
    metavar="S",
    help="Seconds between blocks; each waits until one subscriber has received the last.",
)
@results_options
def lag(
    *,
    url: str,
    against: str | None,
    subscribers: int,
    kinds: tuple[str, ...],
    seconds: float,
    drive: str,
    logs: int,
    calls: int,
    interval: float,
    as_json: bool,
    page_file: Path | None,
) -> None:
    """Measure the seconds until subscribers receive new blocks, logs and outcomes of calls.

    The time counts from the first notification of a block at any subscriber, and from the reply to the call
    that made it. A development node is made to produce blocks; with any other this listens.
    """
    from wsnode.load.lag.measure import LagPlan, measure_lag
    from wsnode.load.report import lag as report

    urls = urls_of(url, against)
    plan = LagPlan(subscribers, tuple(dict.fromkeys(kinds)), logs, calls, drive, interval, seconds)
    run_kind(urls, plan, measure_lag, report, connections=subscribers, as_json=as_json, page_file=page_file)
