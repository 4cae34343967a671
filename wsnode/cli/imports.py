"""Command `wsnode import`, for chains from files."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wsnode.cli.options import FILE, Commands, StarknetChainId, data_option, journal_option
from wsnode.cli.terminal import (
    announce_head,
    one_line_failures,
    shown_progress,
    shown_starknet_progress,
)

if TYPE_CHECKING:
    from wsnode.starknet.chain import StarknetChain


@click.group("import", cls=Commands)
def app() -> None:
    """Import, verify and store a chain."""


@app.command("eth")
@click.argument("files", metavar="CHAIN.rlp …", nargs=-1, required=True)
@data_option
@click.option("--genesis", type=FILE, metavar="FILE", help="The genesis of a new chain, in geth's format.")
@journal_option
def import_ethereum(files: Sequence[str], data: Path, genesis: Path | None, journal: str | None) -> None:
    """Execute and verify every block of RLP files; importing again continues.

    The files are .rlp or .rlp.gz; - is stdin.
    """
    with one_line_failures():
        import trio

        from wsnode.ethereum.chain import Chain
        from wsnode.node.chains import ETHEREUM_FOLDER, read_genesis
        from wsnode.node.config_line import journal_config
        from wsnode.sync.importer import import_files

        journal_settings = journal_config(journal)
        with Chain.open(data / ETHEREUM_FOLDER, read_genesis(genesis), writer=True) as chain:
            chain.require_full()
            try:
                with shown_progress() as shown:
                    work = partial(import_files, chain, files, shown)
                    if journal_settings is None:
                        trio.run(work)
                    else:
                        from wsnode.node.services.journal import publishing

                        trio.run(publishing, chain, journal_settings, work)
            finally:
                announce_head(chain.head)
        give_back(chain.folder.release_free_pages)


@app.command("alt")
@click.argument("folder", metavar="FOLDER", type=FILE)
@data_option
@click.option("--classes", type=FILE, metavar="DIR", help="A folder of further class definitions.")
@click.option(
    "--first-block", type=click.IntRange(min=0), metavar="N", help="The number of a new chain's first block."
)
@click.option(
    "--chain-id",
    type=StarknetChainId(),
    metavar="NAME",
    help="The chain's name, such as SN_MAIN, or the same in hex.",
)
@click.option(
    "--trust-roots", is_flag=True, help="Check parent hashes only; do not recompute the dump's state roots."
)
@click.option("--replace", is_flag=True, help="Replace stored blocks that differ from the dump's.")
def import_alt(
    *,
    folder: Path,
    data: Path,
    classes: Path | None,
    first_block: int | None,
    chain_id: str | None,
    trust_roots: bool,
    replace: bool,
) -> None:
    """Check and store a dump of Starknet's state updates; importing again continues.

    FOLDER holds state updates, headers and classes.
    """
    with one_line_failures():
        import trio

        from wsnode.starknet.chain import StarknetChain, release_free_pages
        from wsnode.sync.starknet_folder import import_folder

        with StarknetChain.open(data, writer=True) as chain:
            try:
                with shown_starknet_progress() as shown:
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
                announce_starknet_head(chain)
        give_back(partial(release_free_pages, data))


def give_back(release_free_pages: Callable[[], object]) -> None:
    """Release free pages; a failure is only noted, since the imported blocks are stored."""
    from wsnode.store.environment import StoreError

    try:
        release_free_pages()
    except (OSError, StoreError) as error:
        print(f"note: free pages stay on the disk: {error}", file=sys.stderr)


def announce_starknet_head(chain: "StarknetChain") -> None:
    """Print the head of the Starknet chain on standard output, nothing for an empty chain."""
    from wsnode.starknet.felt import felt_text

    with chain.snapshot() as snapshot:
        head = None if snapshot.head is None else snapshot.block(snapshot.head)
        if head is not None:
            announce_head(f"{snapshot.head} {felt_text(head.hash)}")
