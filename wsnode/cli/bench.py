"""`wsnode bench`: load on any node."""

import click

from wsnode.cli.options import FiniteRange, checked_addresses
from wsnode.cli.terminal import one_line_failures, say


@click.command()
@click.argument("url", metavar="URL")
@click.option("--against", metavar="URL", help="Measure it by turns, too.")
@click.option(
    "--mix",
    metavar="METHOD=N,…",
    help="How often each is called; as applications do if not given.",
)
@click.option(
    "--connections", type=click.IntRange(1, 20_000), default=16, show_default=True, help="How many."
)
@click.option(
    "--depth",
    type=click.IntRange(1, 1024),
    default=4,
    show_default=True,
    help="Requests in flight on each.",
)
@click.option("--rate", type=FiniteRange(min=1), help="Requests a second in all, whatever the depth.")
@click.option(
    "--seconds",
    type=FiniteRange(min=0.1),
    default=5.0,
    show_default=True,
    help="How long the mix runs on a node.",
)
@click.option("--seed", default=1, show_default=True, help="The same seed asks the same.")
def bench(
    *,
    url: str,
    against: str | None,
    mix: str | None,
    connections: int,
    depth: int,
    rate: float | None,
    seconds: float,
    seed: int,
) -> None:
    """Put load on any node over WebSocket.

    A mix of calls, heavy calls beside cheap ones, a slow client. URL is ws://, or the http:// beside it.
    """
    from wsnode.load.mix import REAL_MIX, MixError, read_mix
    from wsnode.load.run import Plan, measure
    from wsnode.load.window import Pattern

    urls = [checked_addresses(each).websocket for each in (url, against) if each is not None]
    try:
        chosen = read_mix(REAL_MIX if mix is None else mix)
    except MixError as error:
        raise click.BadParameter(str(error), param_hint="--mix") from error
    with one_line_failures():
        measure(urls, Plan(chosen, Pattern(connections, depth, seconds, rate), seed), say)
