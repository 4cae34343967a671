"""Command `wsnode replica`, for a chain that another node publishes to a journal."""

from pathlib import Path
from typing import Any

import click

from wsnode.cli.follow import begin
from wsnode.cli.imports import read_genesis
from wsnode.cli.options import (
    JournalUrl,
    NodeUrl,
    address_options,
    data_option,
    fit_address,
    genesis_option,
)
from wsnode.cli.serving import run_node, serving_options, serving_settings
from wsnode.cli.terminal import one_line_failures
from wsnode.node.listen_address import DEFAULT_LISTEN


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
        begin(data, read_genesis(genesis), FULL)
        run_node(given, read_config)
