"""`wsnode bench`: load on any node."""

from typing import Annotated

import typer

from wsnode.cli_verify import checked_addresses, say
from wsnode.load.mix import REAL_MIX, MixError, read_mix
from wsnode.load.run import Plan, measure
from wsnode.load.window import Pattern
from wsnode.terminal import one_line_failures


def bench(
    url: Annotated[str, typer.Argument(metavar="URL", help="ws://, or the http:// beside it.")],
    against: Annotated[str | None, typer.Option(help="Measure it by turns, too.", metavar="URL")] = None,
    mix: Annotated[
        str,
        typer.Option(
            help="How often each is called.", metavar="METHOD=N,…", show_default="as applications do"
        ),
    ] = REAL_MIX,
    connections: Annotated[int, typer.Option(help="How many.", min=1, max=20_000)] = 16,
    depth: Annotated[int, typer.Option(help="Requests in flight on each.", min=1, max=1024)] = 4,
    rate: Annotated[
        float | None, typer.Option(help="Requests a second in all, whatever the depth.", min=1)
    ] = None,
    seconds: Annotated[float, typer.Option(help="How long the mix runs on a node.", min=0.1)] = 5.0,
    seed: Annotated[int, typer.Option(help="The same seed asks the same.")] = 1,
) -> None:
    """Put load on any node over WebSocket: a mix of calls, heavy calls beside cheap ones, a slow client."""
    urls = [checked_addresses(each).websocket for each in (url, against) if each is not None]
    try:
        plan = Plan(read_mix(mix), Pattern(connections, depth, seconds, rate), seed)
    except MixError as error:
        raise typer.BadParameter(str(error)) from error
    with one_line_failures():
        measure(urls, plan, say)
