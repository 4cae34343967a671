"""`wsnode verify`: case files against any node."""

from pathlib import Path

import click

from wsnode.cli.options import FiniteRange, checked_addresses
from wsnode.cli.terminal import one_line_failures, say


@click.command()
@click.argument("url", metavar="URL")
@click.argument("folder", metavar="FOLDER", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--http", metavar="URL", help="Where HTTP is answered.")
@click.option("--ws", "websocket", metavar="URL", help="Where WebSocket is answered.")
@click.option("--messages", is_flag=True, help="Compare error messages too.")
@click.option("-k", "text", metavar="TEXT", default="", help="Only cases whose name holds it.")
@click.option(
    "--timeout",
    type=FiniteRange(min=0.001),
    default=30.0,
    show_default=True,
    help="Seconds to wait for a reply.",
)
def verify(
    *,
    url: str,
    folder: Path,
    http: str | None,
    websocket: str | None,
    messages: bool,
    text: str,
    timeout: float,
) -> None:
    """Compare any node with request/response case files.

    The files (.io) of FOLDER are run over HTTP and over WebSocket; what differs is said. URL is http:// or
    ws://; the other is derived.
    """
    import trio

    from wsnode.verify.cases import read_cases
    from wsnode.verify.run import Terms
    from wsnode.verify.run import verify as verify_cases

    addresses = checked_addresses(url, http, websocket)
    with one_line_failures():
        cases = [case for case in read_cases(folder) if text in case.name]
        if not cases:
            raise click.UsageError(f"{folder} holds no .io files" + (f" with {text!r}" if text else ""))
        tally = trio.run(verify_cases, addresses, cases, Terms(messages, timeout), say)
    say(str(tally))
    if tally.failed:
        raise SystemExit(1)
