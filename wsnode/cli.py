"""The command line: `wsnode demo`, `import`, `serve`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import trio
import typer
from rich.console import Console

from wsnode import config, node
from wsnode.demo.run import serve_demo
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.failures import FAILURES
from wsnode.networks import ETHEREUM_FOLDER
from wsnode.sync import progress
from wsnode.sync.importer import import_files

INTERRUPTED = 130

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
imports = typer.Typer(no_args_is_help=True, help="Import, verify and store a chain.")
app.add_typer(imports, name="import")

DataFolder = Annotated[Path, typer.Option("--data", help="The folder of one network.", metavar="DIR")]
Listen = Annotated[str, typer.Option(help="Where to accept connections.", metavar="HOST:PORT")]


def main() -> None:
    """Run the command line."""
    app()


@imports.command("eth")
def import_ethereum(
    files: Annotated[list[str], typer.Argument(metavar="CHAIN.rlp …", help=".rlp or .rlp.gz; - is stdin.")],
    data: DataFolder,
    genesis: Annotated[Path, typer.Option(help="The chain's genesis in geth's format.", metavar="FILE")],
) -> None:
    """Execute and verify every block of RLP files; importing again continues."""
    with (
        one_line_failures(),
        Chain.open(data / ETHEREUM_FOLDER, read_genesis(genesis), writer=True) as chain,
    ):
        try:
            with shown_progress() as shown:
                trio.run(import_files, chain, files, shown)
        finally:
            announce_head(chain.head)


@app.command()
def serve(
    data: Annotated[Path | None, typer.Option(help="The folder of one network.", metavar="DIR")] = None,
    listen: Annotated[
        str | None, typer.Option(help="Where to accept connections.", metavar="HOST:PORT")
    ] = None,
    open_to_all: Annotated[
        bool, typer.Option("--open", help="Accept any API key, and the bare path / too.")
    ] = False,
    file: Annotated[Path | None, typer.Option("--config", help="A wsnode.toml.", metavar="FILE")] = None,
) -> None:
    """Serve what was imported, over WebSocket and HTTP on one port."""
    if (data is None) == (file is None):
        raise typer.BadParameter("give either --data or --config")
    with one_line_failures():
        told = config.read(file) if file is not None else config.of_folder(data or Path())
        trio.run(node.run, config.overridden(told, listen=listen, open_to_all=open_to_all), announce_ready)


@app.command()
def demo(
    listen: Listen = config.DEFAULT_LISTEN,
    data: Annotated[
        Path | None, typer.Option(help="Keep the chain here; otherwise it is gone at the end.", metavar="DIR")
    ] = None,
) -> None:
    """Serve a small development chain with funded accounts and a token; nothing else is needed."""
    with one_line_failures():
        serve_demo(listen, data)


def read_genesis(path: Path) -> bytes:
    """Return the bytes of a genesis file.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise config.ConfigurationError(f"{path}: {error.strerror}") from error


def announce_ready(address: config.Address) -> None:
    """Say on standard output where clients may connect."""
    print(f"ready ws://{address}/ws/v3/<API_KEY> http://{address}/v3/<API_KEY>", flush=True)


def announce_head(head: Head) -> None:
    """Say on standard output where the chain ends."""
    print(f"head {head}", flush=True)


@contextmanager
def one_line_failures() -> Iterator[None]:
    """Turn what is wrong with an input, a folder or an address into one line and exit status 1."""
    try:
        yield
    except* FAILURES as group:
        print(f"error: {first_leaf(group)}", file=sys.stderr)
        raise SystemExit(1) from None
    except* KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


def first_leaf(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception in a group of groups."""
    first = group.exceptions[0]
    return first_leaf(first) if isinstance(first, BaseExceptionGroup) else first


@contextmanager
def shown_progress() -> Iterator[progress.ImportProgress]:
    """Show progress as a bar on a terminal, as lines otherwise, on standard error."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield progress.Lines(sys.stderr)
        return
    with progress.Bar(console) as bar:
        yield bar
