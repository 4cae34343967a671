"""`wsnode bench`: load on any node."""

from pathlib import Path

import click

from wsnode.cli.options import FILE, FiniteRange, checked_addresses
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
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    help="How many of the client; half of the cores if not given.",
)
@click.option("--http", "over_http", is_flag=True, help="Measure the mix over HTTP, a request at a time.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object instead of lines.")
@click.option("--html", "page_file", type=FILE, metavar="FILE", help="Write a page with charts there.")
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
    processes: int | None,
    over_http: bool,
    as_json: bool,
    page_file: Path | None,
    seed: int,
) -> None:
    """Put load on any node over WebSocket.

    A mix of calls, heavy calls beside cheap ones, a slow client. URL is ws://, or the http:// beside it.
    """
    import msgspec

    from wsnode.load.mix import REAL_MIX, MixError, read_mix
    from wsnode.load.processes import usual_processes
    from wsnode.load.report.document import document
    from wsnode.load.report.page import page
    from wsnode.load.run import Plan, measure
    from wsnode.load.window import Pattern

    addresses = [checked_addresses(each) for each in (url, against) if each is not None]
    urls = [each.http if over_http else each.websocket for each in addresses]
    try:
        chosen = read_mix(REAL_MIX if mix is None else mix)
    except MixError as error:
        raise click.BadParameter(str(error), param_hint="--mix") from error
    pattern = Pattern(connections, 1 if over_http else depth, seconds, rate)
    count = min(processes or usual_processes(connections), connections)
    with one_line_failures():
        outcome = measure(urls, Plan(chosen, pattern, seed, count), ignore if as_json else say)
        if page_file is not None:
            page_file.write_text(page(outcome))
    if as_json:
        say(msgspec.json.encode(document(outcome)).decode())


def ignore(_line: str) -> None:
    """Print nothing: the JSON object comes at the end."""
