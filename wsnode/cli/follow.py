"""`wsnode follow`: a chain that is live because other nodes' are."""

from pathlib import Path
from typing import Any

import click

from wsnode.cli.imports import read_genesis
from wsnode.cli.options import (
    FILE,
    address_options,
    data_option,
    fit_address,
    guest_options,
    journal_option,
    log_level_option,
)
from wsnode.cli.terminal import one_line_failures
from wsnode.node.addresses import DEFAULT_LISTEN, announce_ready


@click.command()
@data_option
@click.option("--genesis", type=FILE, metavar="FILE", help="The genesis of a new chain, in geth's format.")
@click.option(
    "--upstream",
    "upstreams",
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
    help="With --light: how many blocks to keep; 7200, a day, if not given.",
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
@click.option(
    "--workers", type=click.IntRange(1, 64), metavar="N", help="Processes that serve; 1 if not given."
)
@address_options
@click.option("--open", "open_to_all", is_flag=True, help="Accept any key, and the bare path /.")
@log_level_option
@click.option("--log-format", type=click.Choice(["human", "json"]), help="How; human if not given.")
@guest_options
@click.option("--metrics-listen", metavar="HOST:PORT", help="Where operators find metrics and health.")
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
    open_to_all: bool,
    **options: Any,
) -> None:
    """Follow a live chain of other nodes, and serve it.

    Every block is fetched, from genesis on or from the head of DIR, executed and verified. With --light it
    begins at what is final by now, and blocks are verified by their headers instead.
    """
    address = fit_address(options["listen"], options["host"], options["port"], DEFAULT_LISTEN)
    require_addresses(upstreams)
    if chain is not None and genesis is not None:
        raise click.UsageError("--chain and --genesis: one of them is enough")
    with one_line_failures():
        import trio

        from wsnode.node import config

        told = config.follow_config(
            upstreams,
            agree,
            accept_reorg=accept_reorg,
            light=light,
            window=window,
            checkpoint=checkpoint,
            chain=chain,
        )
        published = config.journal_config(journal)
        settings = {
            "listen": str(address),
            "open": open_to_all,
            "workers": options["workers"],
            "log_level": options["log_level"],
            "log_format": options["log_format"],
            "origins": options["origin"],
            "metrics_listen": options["metrics_listen"],
        }

        def read_config() -> config.Config:
            return config.overridden(
                config.of_folder(data, options["vhost"], follow=told, journal=published), **settings
            )

        given = read_config()
        begin(data, read_genesis(genesis), told.keeps)
        if given.workers > 1:
            from wsnode.node.workers import run as several

            trio.run(several.run, given, announce_ready, read_config)
        else:
            from wsnode.node import run

            trio.run(run.run, given, announce_ready, read_config)


def require_addresses(upstreams: tuple[str, ...]) -> None:
    """End as wrong usage does if an upstream is no URL of a node."""
    from wsnode.upstream.address import UpstreamAddress
    from wsnode.upstream.errors import AddressError

    for url in upstreams:
        try:
            UpstreamAddress.parse(url)
        except AddressError as error:
            raise click.BadParameter(str(error), param_hint="--upstream") from None


def begin(data: Path, genesis: bytes | None, keeps: int | None) -> None:
    """Make the chain of a genesis in a folder, or check that it has that one."""
    from wsnode.ethereum.chain import Chain
    from wsnode.node.networks import ETHEREUM_FOLDER

    if genesis is not None:
        with Chain.open(data / ETHEREUM_FOLDER, genesis, writer=True, keeps=keeps):
            pass
