"""`wsnode verify`: case files against any node."""

from pathlib import Path
from typing import Annotated

import trio
import typer

from wsnode.terminal import one_line_failures
from wsnode.verify.addresses import AddressError, Addresses, addresses_of
from wsnode.verify.cases import read_cases
from wsnode.verify.run import Terms
from wsnode.verify.run import verify as verify_cases


def verify(
    url: Annotated[str, typer.Argument(metavar="URL", help="http:// or ws://; the other is derived.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", exists=True, file_okay=False)],
    http: Annotated[str | None, typer.Option(help="Where HTTP is answered.", metavar="URL")] = None,
    websocket: Annotated[
        str | None, typer.Option("--ws", help="Where WebSocket is answered.", metavar="URL")
    ] = None,
    messages: Annotated[bool, typer.Option("--messages", help="Compare error messages too.")] = False,
    text: Annotated[str, typer.Option("-k", help="Only cases whose name holds it.", metavar="TEXT")] = "",
    timeout: Annotated[float, typer.Option(help="Seconds to wait for a reply.", min=0.001)] = 30.0,
) -> None:
    """Run request/response case files (.io) against any node over HTTP and WebSocket; say what differs."""
    addresses = checked_addresses(url, http, websocket)
    with one_line_failures():
        cases = [case for case in read_cases(folder) if text in case.name]
        if not cases:
            raise typer.BadParameter(f"{folder} holds no .io files" + (f" with {text!r}" if text else ""))
        tally = trio.run(verify_cases, addresses, cases, Terms(messages, timeout), say)
    say(str(tally))
    if tally.failed:
        raise typer.Exit(1)


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def checked_addresses(url: str, http: str | None = None, websocket: str | None = None) -> Addresses:
    """Return a node's two addresses, or end as wrong usage does."""
    try:
        return addresses_of(url, http=http, websocket=websocket)
    except AddressError as error:
        raise typer.BadParameter(str(error)) from error
