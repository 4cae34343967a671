"""Options of the commands that serve stored chains, the settings from them, and the run of the node."""

import gc
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from wsnode.cli.options import Command, guest_options, limit_option, log_level_option
from wsnode.node.listen_address import announce_ready
from wsnode.node.signals import hold_signals

if TYPE_CHECKING:
    from wsnode.node.config import Config

NODES = frozenset({"anvil", "demo", "dev", "follow", "replica", "serve"})
"""Commands that run a node."""


def begin_node() -> None:
    """Prepare a command that runs a node: hold its signals, and disable garbage collection.

    `collect_garbage` enables garbage collection once the modules are imported.
    """
    if NODES.intersection(sys.argv[1:2]):
        hold_signals()
        # Imported modules never become garbage. The collector's passes over them took a seventh of the
        # start's CPU time, and a fifth of a start that compiles the modules.
        gc.disable()


def serving_options(command: Command) -> Command:
    """Add the options of all commands that serve stored chains; `serving_settings` reads them."""
    for option in (
        click.option(
            "--metrics-listen", metavar="HOST:PORT", help="The operators' address, for metrics and health."
        ),
        guest_options,
        click.option(
            "--log-format",
            type=click.Choice(["human", "json"]),
            help="The form of log lines; human if not given.",
        ),
        log_level_option,
        limit_option,
        click.option("--open", "open_to_all", is_flag=True, help="Accept any key, and the bare path /."),
        click.option(
            "--workers", type=click.IntRange(1, 64), metavar="N", help="Processes that serve; 1 if not given."
        ),
    ):
        command = option(command)
    return command


def serving_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a `Config` from `serving_options`, without `vhost`, which is a network's."""
    as_named = {name: options[name] for name in ("workers", "log_level", "log_format", "metrics_listen")}
    renamed = {"open": options["open_to_all"], "origins": options["origin"], "limits": options["limit"]}
    return {**renamed, **as_named}


def run_node(config: "Config", read_config: Callable[[], "Config"]) -> None:
    """Run a node with `config.workers` processes until a signal ends it.

    SIGHUP reads the configuration again.
    """
    import trio

    announce = partial(announce_ready, is_encrypted=config.tls_cert is not None)
    if config.workers > 1:
        from wsnode.node.workers import run as several

        trio.run(several.run, config, announce, read_config)
    else:
        from wsnode.node import run

        trio.run(run.run, config, announce, read_config)
