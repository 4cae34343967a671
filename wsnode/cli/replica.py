"""`wsnode replica`: a chain that repeats what another node publishes to a journal."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from wsnode.cli.follow import begin
from wsnode.cli.imports import read_genesis
from wsnode.cli.options import (
    FILE,
    address_options,
    data_option,
    fit_address,
    guest_options,
    log_level_option,
    one_process_option,
)
from wsnode.cli.terminal import one_line_failures
from wsnode.node.addresses import DEFAULT_LISTEN, announce_ready


@click.command()
@data_option
@click.option("--genesis", type=FILE, metavar="FILE", help="The genesis of a new chain, in geth's format.")
@click.option(
    "--journal",
    required=True,
    metavar="URL",
    help="The journal to follow: redis://, rediss://, redis+sentinel://, redis+cluster:// or unix://.",
)
@click.option("--advertise", metavar="URL", help="Where other nodes of the chain can ask this one.")
@one_process_option
@address_options
@click.option("--open", "open_to_all", is_flag=True, help="Accept any key, and the bare path /.")
@log_level_option
@click.option("--log-format", type=click.Choice(["human", "json"]), help="How; human if not given.")
@guest_options
@click.option("--metrics-listen", metavar="HOST:PORT", help="Where operators find metrics and health.")
def replica(
    *,
    data: Path,
    genesis: Path | None,
    journal: str,
    advertise: str | None,
    open_to_all: bool,
    **options: Any,
) -> None:
    """Follow the journal of a chain that another node writes, and serve that chain.

    Every block is executed, from genesis on or from the head of DIR, which `wsnode restore` makes.
    """
    address = fit_address(options["listen"], options["host"], options["port"], DEFAULT_LISTEN)
    with one_line_failures():
        import trio

        from wsnode.node import config, run

        told = config.replica_config(journal, advertise)
        settings = {
            "listen": str(address),
            "open": open_to_all,
            "log_level": options["log_level"],
            "log_format": options["log_format"],
            "origins": options["origin"],
            "metrics_listen": options["metrics_listen"],
        }

        def read_config() -> config.Config:
            return config.overridden(config.of_folder(data, options["vhost"], replica=told), **settings)

        begin(data, read_genesis(genesis), None)
        trio.run(partial(run.run, read_config(), announce_ready, read_config))
