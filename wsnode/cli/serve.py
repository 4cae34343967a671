"""Command `wsnode serve`, for stored chains, or a chain that a consensus client drives."""

from pathlib import Path
from typing import Any

import click

from wsnode.cli.options import FILE, address_options, fit_address, journal_option
from wsnode.cli.serving import run_node, serving_options, serving_settings
from wsnode.cli.terminal import one_line_failures
from wsnode.node.listen_address import DEFAULT_LISTEN


@click.command()
@click.option("--data", type=FILE, metavar="DIR", help="The folder of one network.")
@click.option("--config", "file", type=FILE, metavar="FILE", help="A configuration file, wsnode.toml.")
@address_options
@click.option(
    "--engine", metavar="HOST:PORT", help="The address at which a consensus client drives the chain."
)
@click.option(
    "--jwt-secret", type=FILE, metavar="FILE", help="The file of its tokens' secret; made if absent."
)
@click.option("--genesis", type=FILE, metavar="FILE", help="The genesis of a new chain for --engine.")
@journal_option
@click.option("--unix-socket", metavar="PATH", help="Listen on this Unix socket as well.")
@click.option("--tls-cert", metavar="FILE", help="Serve over TLS with this certificate chain, in PEM.")
@click.option("--tls-key", metavar="FILE", help="The private key of --tls-cert, in PEM.")
@serving_options
def serve(
    *,
    data: Path | None,
    file: Path | None,
    engine: str | None,
    jwt_secret: Path | None,
    genesis: Path | None,
    journal: str | None,
    **options: Any,
) -> None:
    """Serve imported chains over WebSocket and HTTP on one port."""
    require_usable(data, file, engine, jwt_secret, genesis, journal, options["vhost"])
    placed = options["listen"], options["host"], options["port"]
    fit_address(*placed, DEFAULT_LISTEN)
    beside = ("unix_socket", "tls_cert", "tls_key")
    settings = serving_settings(options) | {name: options[name] for name in beside}
    with one_line_failures():
        from wsnode.node import config, config_file, config_line

        driver = None
        if engine is not None:
            secret, first = (None if path is None else str(path) for path in (jwt_secret, genesis))
            driver = config.EngineConfig(engine, secret, first)
        journal_config = config_line.journal_config(journal)

        def read_config() -> config.Config:
            section = (
                config_file.read(file)
                if file is not None
                else config_line.of_folder(
                    data or Path(), options["vhost"], engine=driver, journal=journal_config
                )
            )
            address = fit_address(*placed, section.listen)
            return config_line.overridden(section, **settings, listen=str(address))

        run_node(read_config(), read_config)


def require_usable(
    data: Path | None,
    file: Path | None,
    engine: str | None,
    jwt_secret: Path | None,
    genesis: Path | None,
    journal: str | None,
    vhost: tuple[str, ...],
) -> None:
    """End as wrong usage if the options of `serve` contradict one another."""
    if (data is None) == (file is None):
        raise click.UsageError("give either --data or --config")
    if file is not None and vhost:
        raise click.UsageError("--vhost: a --config names the hosts of its networks")
    if file is not None and engine is not None:
        raise click.UsageError("--engine: a --config names the engines of its networks")
    if engine is None and (jwt_secret is not None or genesis is not None):
        raise click.UsageError("--jwt-secret and --genesis go with --engine")
    if engine is None and journal is not None:
        raise click.UsageError(
            "--journal goes with --engine: the process that writes a chain publishes it"
            if file is None
            else "--journal: a --config names the journals of its networks"
        )
