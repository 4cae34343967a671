"""`wsnode follow`: a chain that is live because other nodes' are."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wsnode.cli.imports import read_genesis
from wsnode.cli.options import (
    NodeUrl,
    address_options,
    data_option,
    fit_address,
    genesis_option,
    journal_option,
)
from wsnode.cli.serving import run_node, serving_options, serving_settings
from wsnode.cli.terminal import one_line_failures
from wsnode.node.addresses import DEFAULT_LISTEN

if TYPE_CHECKING:
    from wsnode.ethereum.storage.kind import Kind


@click.command()
@data_option
@genesis_option
@click.option(
    "--upstream",
    "upstreams",
    type=NodeUrl(),
    multiple=True,
    required=True,
    metavar="URL",
    help="A node to follow: ws://, wss://, http:// or https://; once or more.",
)
@click.option(
    "--agree",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many of them must have a block; 1, or 2 of three and more, if not given.",
)
@click.option("--light", is_flag=True, help="Keep a window of blocks, verified and not executed.")
@click.option(
    "--window",
    type=click.IntRange(min=1),
    metavar="BLOCKS",
    help="How many blocks a new folder keeps, 64 or more; if not given all, with --light 7200, a day.",
)
@click.option(
    "--checkpoint", metavar="HASH", help="With --light: the block to begin with, instead of a final one."
)
@click.option(
    "--chain",
    type=click.Choice(["mainnet", "sepolia", "hoodi"]),
    help="With --light: a network whose genesis is known, instead of --genesis.",
)
@click.option(
    "--accept-reorg",
    is_flag=True,
    help="Follow them even where they replace what is final here.",
)
@journal_option
@address_options
@serving_options
def follow(
    *,
    data: Path,
    genesis: Path | None,
    upstreams: tuple[str, ...],
    agree: int | None,
    accept_reorg: bool,
    light: bool,
    window: int | None,
    checkpoint: str | None,
    chain: str | None,
    journal: str | None,
    **options: Any,
) -> None:
    """Follow a live chain of other nodes, and serve it.

    Every block is fetched, from genesis on or from the head of DIR, executed and verified. With --light it
    begins at what is final by now, and blocks are verified by their headers instead.
    """
    address = fit_address(options["listen"], options["host"], options["port"], DEFAULT_LISTEN)
    if chain is not None and genesis is not None:
        raise click.UsageError("--chain and --genesis: one of them is enough")
    with one_line_failures():
        from wsnode.node import config, config_line

        told = config_line.follow_config(
            upstreams,
            agree,
            accept_reorg=accept_reorg,
            light=light,
            window=window,
            checkpoint=checkpoint,
            chain=chain,
        )
        published = config_line.journal_config(journal)
        settings = serving_settings(options) | {"listen": str(address)}

        def read_config() -> config.Config:
            return config_line.overridden(
                config_line.of_folder(data, options["vhost"], follow=told, journal=published), **settings
            )

        given = read_config()
        begin(data, read_genesis(genesis), told.kind)
        run_node(given, read_config)


def begin(data: Path, genesis: bytes | None, kind: "Kind") -> None:
    """Make the chain of a genesis in a folder, or check that it has that one and is of that kind."""
    from wsnode.ethereum.chain import Chain
    from wsnode.node.chains import ETHEREUM_FOLDER

    if genesis is not None:
        with Chain.open(data / ETHEREUM_FOLDER, genesis, writer=True, kind=kind):
            pass
