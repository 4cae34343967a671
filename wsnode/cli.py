"""The command line: `wsnode demo`, `dev`, `import`, `serve`, `keys`, `outage`, `verify`, `bench`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import trio
import typer

from wsnode import cli_bench, cli_keys, cli_outage, cli_verify, config, node
from wsnode.demo.accounts import MNEMONIC, derived
from wsnode.demo.run import serve_demo, serve_development
from wsnode.demo.script import ETHER
from wsnode.ethereum.chain import Chain
from wsnode.networks import ETHEREUM_FOLDER
from wsnode.starknet.chain import Chain as StarknetChain
from wsnode.starknet.felt import felt_text
from wsnode.sync.importer import import_files
from wsnode.sync.starknet_folder import import_folder
from wsnode.terminal import (
    announce_head,
    announce_ready,
    one_line_failures,
    shown_alt_progress,
    shown_progress,
)

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
imports = typer.Typer(no_args_is_help=True, help="Import, verify and store a chain.")
app.add_typer(imports, name="import")
app.add_typer(cli_keys.app, name="keys")
app.command("outage")(cli_outage.outage)
app.command("verify")(cli_verify.verify)
app.command("bench")(cli_bench.bench)

DataFolder = Annotated[Path, typer.Option("--data", help="The folder of one network.", metavar="DIR")]
Listen = Annotated[str, typer.Option(help="Where to accept connections.", metavar="HOST:PORT")]
KeptIn = Annotated[
    Path | None,
    typer.Option("--data", help="Keep the chain here; otherwise it is gone at the end.", metavar="DIR"),
]
BlockTime = Annotated[
    float,
    typer.Option(
        help="From one block to the next; 0: a block for each transaction.", metavar="SECONDS", min=0
    ),
]


def main() -> None:
    """Run the command line."""
    app()


@imports.command("eth")
def import_ethereum(
    files: Annotated[list[str], typer.Argument(metavar="CHAIN.rlp …", help=".rlp or .rlp.gz; - is stdin.")],
    data: DataFolder,
    genesis: Annotated[
        Path | None,
        typer.Option(help="The genesis of a new chain, in geth's format.", metavar="FILE"),
    ] = None,
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


@imports.command("alt")
def import_alt(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="State updates, headers and classes.")],
    data: DataFolder,
    classes: Annotated[Path | None, typer.Option(help="More classes, by hash.", metavar="DIR")] = None,
    first_block: Annotated[
        int | None, typer.Option(help="Begin an empty chain here.", metavar="N", min=0)
    ] = None,
    chain_id: Annotated[str | None, typer.Option(help="Such as SN_MAIN.", metavar="NAME")] = None,
    trust_roots: Annotated[
        bool, typer.Option("--trust-roots", help="Check links, and no state roots.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take back stored blocks that the dump has otherwise.")
    ] = False,
) -> None:
    """Check and store a dump of Starknet's state updates and classes; importing again continues."""
    with one_line_failures(), StarknetChain.open(data, writer=True) as chain:
        try:
            with shown_alt_progress() as shown:
                work = partial(
                    import_folder,
                    chain,
                    folder,
                    classes,
                    first_block=first_block,
                    chain_id=chain_id,
                    verify_roots=not trust_roots,
                    replace=replace,
                    progress=shown,
                    report=shown.report,
                )
                trio.run(work)
        finally:
            announce_alt_head(chain)


@app.command()
def serve(
    data: Annotated[Path | None, typer.Option(help="The folder of one network.", metavar="DIR")] = None,
    listen: Annotated[
        str | None, typer.Option(help="Where to accept connections.", metavar="HOST:PORT")
    ] = None,
    unix_socket: Annotated[str | None, typer.Option(help="Listen there as well.", metavar="PATH")] = None,
    open_to_all: Annotated[bool, typer.Option("--open", help="Accept any key, and the bare path /.")] = False,
    tls_cert: Annotated[str | None, typer.Option(help="Encrypt; a PEM chain.", metavar="FILE")] = None,
    tls_key: Annotated[str | None, typer.Option(help="Its private key.", metavar="FILE")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(help="human or json.")] = None,
    file: Annotated[Path | None, typer.Option("--config", help="A wsnode.toml.", metavar="FILE")] = None,
) -> None:
    """Serve what was imported, over WebSocket and HTTP on one port."""
    if (data is None) == (file is None):
        raise typer.BadParameter("give either --data or --config")
    settings = {"listen": listen, "unix_socket": unix_socket, "open": open_to_all, "tls_cert": tls_cert}
    settings |= {"tls_key": tls_key, "log_level": log_level, "log_format": log_format}

    def read_config() -> config.Config:
        told = config.read(file) if file is not None else config.of_folder(data or Path())
        return config.overridden(told, **settings)

    with one_line_failures():
        trio.run(node.run, read_config(), announce_ready, read_config)


@app.command()
def demo(
    listen: Listen = config.DEFAULT_LISTEN,
    block_time: BlockTime = 2.0,
    data: KeptIn = None,
) -> None:
    """Serve a chain on which something happens in every block; nothing else is needed."""
    with one_line_failures():
        serve_demo(listen, data, block_time)


@app.command()
def dev(
    listen: Listen = config.DEFAULT_LISTEN,
    block_time: BlockTime = 0.0,
    data: KeptIn = None,
    accounts: Annotated[int, typer.Option(help="How many have ether.", metavar="N", min=1, max=1000)] = 10,
    balance: Annotated[int, typer.Option(help="How much each has.", metavar="ETHER", min=0)] = 10_000,
    mnemonic: Annotated[str, typer.Option(help="What they are derived from.", metavar="PHRASE")] = MNEMONIC,
) -> None:
    """Serve an empty chain to test against: funded accounts, and control of blocks and time."""
    with one_line_failures():
        owners = derived(mnemonic, accounts)
        serve_development(listen, data, block_time, owners, balance=balance * ETHER, mnemonic=mnemonic)


def announce_alt_head(chain: StarknetChain) -> None:
    """Say on standard output where the alt chain ends; nothing of an empty one."""
    with chain.snapshot() as snapshot:
        head = None if snapshot.head is None else snapshot.block(snapshot.head)
        if head is not None:
            announce_head(f"{snapshot.head} {felt_text(head.hash)}")


def read_genesis(path: Path | None) -> bytes | None:
    """Return the bytes of a genesis file, if one is named.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise config.ConfigurationError(f"{path}: {error.strerror}") from error
