"""Commands `wsnode follow` and `replica`, for chains that other nodes write, and `chains`, for their list."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wsnode.cli.options import (
    ChainName,
    JournalUrl,
    NodeUrl,
    WindowLength,
    address_options,
    data_option,
    fit_address,
    genesis_option,
    journal_option,
)
from wsnode.cli.serving import run_node, serving_options, serving_settings
from wsnode.cli.terminal import one_line_failures
from wsnode.node.listen_address import DEFAULT_LISTEN

if TYPE_CHECKING:
    from wsnode.ethereum.networks.row import Network
    from wsnode.ethereum.storage.folder_kind import FolderKind


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
    type=WindowLength(),
    metavar="BLOCKS",
    help="How many blocks a new folder keeps, 64 or more, or with --light of how much time (2h, 1d); "
    "if not given all, with --light 7200, a day, and two hours or more.",
)
@click.option(
    "--checkpoint",
    metavar="HASH",
    help="With --light: the block to begin with, instead of a final one. With --beacon: the root of the "
    "beacon block from which on the head is proved.",
)
@click.option(
    "--beacon",
    "beacons",
    type=NodeUrl(),
    multiple=True,
    metavar="URL",
    help="A beacon node that proves the head, http:// or https://; once or more.",
)
@click.option(
    "--head",
    type=click.Choice(["proved", "announced"]),
    help="With --beacon: serve the proved head, the default, or what upstreams announce on top of it.",
)
@click.option(
    "--beacon-config",
    type=click.Path(dir_okay=False, exists=True),
    metavar="FILE",
    help="With --beacon: config.yaml of a chain that is not known, or the same as JSON.",
)
@click.option(
    "--old-checkpoint",
    is_flag=True,
    help="With --beacon: accept a checkpoint older than the weak subjectivity period, on which a "
    "chain could be forged.",
)
@click.option(
    "--chain",
    type=ChainName(),
    metavar="NAME",
    help="A chain of `wsnode chains`, or any chain id, instead of --genesis; light unless --full. Or "
    "starknet, starknet-sepolia, starknet:CHAIN_ID.",
)
@click.option(
    "--pre-confirmed-interval",
    type=click.FloatRange(0, 60),
    metavar="SECONDS",
    help="Of Starknet chains: seconds between requests for the pre-confirmed block; 0 for none.",
)
@click.option("--full", is_flag=True, help="Execute every block, from genesis on; so without --chain, too.")
@click.option(
    "--accept-finalized-reorg",
    is_flag=True,
    help="Follow the upstreams even if they replace a finalized block.",
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
    accept_finalized_reorg: bool,
    light: bool,
    window: int | str | None,
    checkpoint: str | None,
    beacons: tuple[str, ...],
    head: str | None,
    beacon_config: str | None,
    old_checkpoint: bool,
    chain: str | None,
    pre_confirmed_interval: float | None,
    full: bool,
    journal: str | None,
    **options: Any,
) -> None:
    """Follow a live chain of other nodes, and serve it.

    Every block is fetched, from genesis on or from the head of DIR, executed and verified. With --light it
    begins at what is final by now, and blocks are verified by their headers instead.
    """
    address = fit_address(options["listen"], options["host"], options["port"], DEFAULT_LISTEN)
    if chain is not None and genesis is not None:
        raise click.UsageError("give either --chain or --genesis")
    with one_line_failures():
        from wsnode.node import config, config_line
        from wsnode.sync.starknet.settings import is_starknet

        settings = serving_settings(options) | {"listen": str(address)}
        if chain is not None and is_starknet(chain):
            ethereum_only = {
                "--beacon": beacons,
                "--head": head,
                "--beacon-config": beacon_config,
                "--old-checkpoint": old_checkpoint,
                "--accept-finalized-reorg": accept_finalized_reorg,
                "--journal": journal,
            }
            if used := [name for name, value in ethereum_only.items() if value]:
                raise click.UsageError(f"{', '.join(used)}: not of Starknet chains")
            followed = config_line.follow_starknet_config(
                chain,
                upstreams,
                agree,
                light=light,
                full=full,
                window=window,
                checkpoint=checkpoint,
                pre_confirmed_interval=pre_confirmed_interval,
            )

            def read_starknet_config() -> config.Config:
                return config_line.overridden(
                    config_line.of_folder(data, options["vhost"], follow_starknet=followed), **settings
                )

            run_node(read_starknet_config(), read_starknet_config)
            return
        if pre_confirmed_interval is not None:
            raise click.UsageError("--pre-confirmed-interval: of Starknet chains only")
        if beacons and checkpoint is None:
            require_folder(data)

        follow_settings = config_line.follow_config(
            upstreams,
            agree,
            accept_finalized_reorg=accept_finalized_reorg,
            light=light,
            window=window,
            checkpoint=checkpoint,
            beacon=beacons,
            head=head,
            beacon_config=beacon_config,
            old_checkpoint=old_checkpoint,
            chain=chain,
            full=full,
        )
        published = config_line.journal_config(journal)

        def read_config() -> config.Config:
            return config_line.overridden(
                config_line.of_folder(data, options["vhost"], follow=follow_settings, journal=published),
                **settings,
            )

        given = read_config()
        begin(data, genesis, follow_settings.kind)
        run_node(given, read_config)


def require_folder(data: Path) -> None:
    """Refuse to begin a new folder without a checkpoint; a light client in an old folder continues."""
    from wsnode.node.chains import ETHEREUM_FOLDER
    from wsnode.sync.errors import NO_CHECKPOINT

    if not (data / ETHEREUM_FOLDER).exists():
        raise click.UsageError(NO_CHECKPOINT)


def begin(data: Path, genesis: Path | None, kind: "FolderKind") -> None:
    """Begin the chain of a genesis file in a folder, or check that the folder has this genesis and kind."""
    from wsnode.ethereum.chain import Chain
    from wsnode.node.chains import ETHEREUM_FOLDER, read_genesis

    if genesis is not None:
        with Chain.open(data / ETHEREUM_FOLDER, read_genesis(genesis), writer=True, kind=kind):
            pass


@click.command()
@data_option
@genesis_option
@click.option(
    "--journal",
    type=JournalUrl(),
    required=True,
    metavar="URL",
    help="The journal to follow: redis://, rediss://, redis+sentinel://, redis+cluster:// or unix://.",
)
@click.option(
    "--advertise",
    type=NodeUrl(),
    metavar="URL",
    help="The URL at which other nodes of the chain ask this one.",
)
@address_options
@serving_options
def replica(
    *,
    data: Path,
    genesis: Path | None,
    journal: str,
    advertise: str | None,
    **options: Any,
) -> None:
    """Follow the journal of a chain, written by another node, and serve that chain.

    Every block is executed, from genesis on or from the head of DIR, which `wsnode restore` makes.
    """
    address = fit_address(options["listen"], options["host"], options["port"], DEFAULT_LISTEN)
    with one_line_failures():
        from wsnode.ethereum.storage.folder_kind import FULL
        from wsnode.node import config, config_line

        replica_config = config.ReplicaConfig(journal, advertise=advertise)
        settings = serving_settings(options) | {"listen": str(address)}

        def read_config() -> config.Config:
            return config_line.overridden(
                config_line.of_folder(data, options["vhost"], replica=replica_config), **settings
            )

        given = read_config()
        begin(data, genesis, FULL)
        run_node(given, read_config)


@click.command()
@click.option(
    "--markdown", is_flag=True, help="Print the list as the Markdown table of docs/reference/chains.md."
)
def chains(*, markdown: bool) -> None:
    """List the chains of `wsnode follow --chain NAME`, and the checks and features that they lack.

    `full` chains can be executed; of the others the last blocks are verified by their headers, and state is
    read by proofs (`wsnode follow --chain NAME`). Starknet blocks are verified by their hashes, and in `full`
    folders by state roots too. `wsnode dev --fork URL` begins on a block of a chain with `fork`.
    All of it is in docs/reference/chains.md.
    """
    from wsnode.ethereum.networks.table import NETWORKS
    from wsnode.sync.starknet.settings import STARKNET_CHAINS

    if markdown:
        from wsnode.ethereum.networks.table import page_section

        click.echo(page_section(NETWORKS), nl=False)
        return
    heads = ("NAME", "CHAIN ID", "FAMILY", "FULL", "LIGHT", "FORK", "BLOCK TIME")
    starknet = [*STARKNET_CHAINS.items(), ("starknet:CHAIN_ID", "CHAIN_ID")]
    rows = [
        heads,
        *(_cells(network) for network in NETWORKS),
        *((name, chain_id, "starknet", "yes", "yes", "no", "") for name, chain_id in starknet),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    click.echo()
    for network in NETWORKS:
        for note in network.limits:
            click.echo(f"{network.name}: {note}")


def _cells(network: "Network") -> tuple[str, ...]:
    names = ", ".join(network.names)
    full = "yes" if network.is_executed else "no"
    return names, str(network.chain_id), network.family, full, "yes", "yes", f"{network.seconds:g} s"
