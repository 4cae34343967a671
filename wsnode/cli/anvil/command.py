"""Command `wsnode anvil`, which takes every flag of anvil."""

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from wsnode.cli.anvil.ignored import ignored_options, warning, warnings_of
from wsnode.cli.development import (
    ETHER,
    FORKS,
    LONDON,
    MNEMONIC,
    development_limits,
    read_fork,
    state_files,
)
from wsnode.cli.options import FILE, FiniteRange, fit_address, limit_option
from wsnode.cli.terminal import one_line_failures
from wsnode.node.listen_address import DEFAULT_LISTEN, MAX_PORT

if TYPE_CHECKING:
    from wsnode.demo.run import GenesisSettings, ServeSettings

GAS_LIMIT: Final = 30_000_000
DERIVATION_PATH: Final = "m/44'/60'/0'/0/"
IPC_PATH: Final = "/tmp/anvil.ipc"
"""Path of anvil's socket, the default of its clients."""
CODE_SIZE: Final = 2**31 - 1
EPOCH: Final = 32
MAX_BODY_BYTES: Final = 1 << 30
EARLIEST: Final = "tangerine"
OTHER_FORKS: Final = {
    "bpo1": "osaka",
    "bpo2": "osaka",
    "frontier": EARLIEST,
    "homestead": EARLIEST,
    "dao": EARLIEST,
}
"""Forks of anvil without rules here, with the forks that replace them."""
MAX_INTEGER: Final = 2**63 - 1


def read_hardfork(
    context: click.Context, option: click.Parameter, name: str | None
) -> tuple[str | None, str | None]:
    """Return the fork's name as given, and the name of the fork whose rules are used.

    Both are None without a name.
    """
    if name is None:
        return None, None
    return name, OTHER_FORKS.get(name.lower()) or read_fork(context, option, name)


def read_path(_context: click.Context, _option: click.Parameter, text: str) -> tuple[str, tuple[int, ...]]:
    """Return a derivation path as its text and as numbers."""
    from wsnode.demo.accounts import derivation_path

    try:
        return text, derivation_path(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def chain_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags for the new chain."""
    for option in (
        click.option(
            "--accounts", "-a", type=click.IntRange(0, 1000), default=10, show_default=True, metavar="N"
        ),
        click.option(
            "--balance", type=click.IntRange(min=0), default=10_000, show_default=True, metavar="ETHER"
        ),
        click.option("--mnemonic", "-m", default=MNEMONIC, show_default=True, metavar="PHRASE"),
        click.option(
            "--derivation-path",
            default=DERIVATION_PATH,
            show_default=True,
            metavar="PATH",
            callback=read_path,
        ),
        click.option("--chain-id", type=click.IntRange(1, MAX_INTEGER), metavar="ID"),
        click.option("--hardfork", callback=read_hardfork, metavar="NAME"),
        click.option("--gas-limit", type=click.IntRange(5000, MAX_INTEGER), metavar="GAS"),
        click.option("--gas-price", type=click.IntRange(0, 2**128 - 1), metavar="WEI"),
        click.option(
            "--block-base-fee-per-gas",
            "--base-fee",
            "base_fee",
            type=click.IntRange(0, 2**64 - 1),
            metavar="WEI",
        ),
        click.option("--timestamp", type=click.IntRange(0, MAX_INTEGER), metavar="SECONDS"),
        click.option(
            "--init", type=FILE, metavar="FILE", help="A genesis: accounts, chain id, time, base fee."
        ),
        click.option("--code-size-limit", type=click.IntRange(0, CODE_SIZE), metavar="BYTES"),
        click.option("--disable-code-size-limit", is_flag=True),
        click.option("--fork-url", "--rpc-url", "-f", "fork_url", multiple=True, metavar="URL[@BLOCK]"),
        click.option("--fork-block-number", type=click.IntRange(1, MAX_INTEGER), metavar="N"),
        click.option("--state", type=FILE, metavar="FILE"),
        click.option("--load-state", type=FILE, metavar="FILE"),
        click.option("--dump-state", type=FILE, metavar="FILE"),
    ):
        command = option(command)
    return command


def block_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags for the chain's blocks."""
    for option in (
        click.option(
            "--block-time",
            "--blockTime",
            "-b",
            "block_time",
            type=FiniteRange(min=0, min_open=True),
            metavar="SECONDS",
        ),
        click.option(
            "--no-mining", "--no-mine", "no_mining", is_flag=True, help="Make blocks on request alone."
        ),
        click.option("--order", type=click.Choice(["fees", "fifo"]), default="fees", show_default=True),
        click.option(
            "--slots-in-an-epoch",
            "epoch",
            type=click.IntRange(0, 2**32),
            default=EPOCH,
            show_default=True,
            metavar="N",
        ),
        click.option("--disable-default-create2-deployer", "--no-create2", "no_create2", is_flag=True),
        click.option("--auto-impersonate", "--auto-unlock", "auto_impersonate", is_flag=True),
    ):
        command = option(command)
    return command


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags for the output and the server."""
    for option in (
        click.option("--host", envvar="ANVIL_IP_ADDR", metavar="HOST"),
        click.option("--port", "-p", type=click.IntRange(0, MAX_PORT), metavar="PORT"),
        click.option(
            "--ipc", "--ipcpath", "ipc", is_flag=False, flag_value=IPC_PATH, type=FILE, metavar="[PATH]"
        ),
        click.option("--allow-origin", default="*", show_default=True, metavar="URL"),
        click.option("--no-cors", is_flag=True, help="Only pages of this machine may connect."),
        click.option("--no-request-size-limit", is_flag=True),
        click.option("--config-out", type=FILE, metavar="FILE"),
        click.option("--quiet", "-q", "--silent", "quiet", is_flag=True),
        click.option("--verbosity", "-v", "verbosity", count=True),
        click.option("--json", "as_json", is_flag=True, help="Write log lines as JSON."),
        click.option("--print-traces", "--enable-trace-printing", "print_traces", is_flag=True),
        click.option("--steps-tracing", "--tracing", "steps_tracing", is_flag=True),
        click.option("--disable-console-log", "--no-console-log", "no_console", is_flag=True),
        click.option(
            "--network",
            "-n",
            type=click.Choice(["ethereum", "optimism", "tempo"]),
            help="Family of the network; ethereum is the only one.",
        ),
        click.option(
            "--data", type=FILE, metavar="DIR", help="Folder that keeps the chain; anvil has no such flag."
        ),
        limit_option,
    ):
        command = option(command)
    return command


def show_version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Print the version of wsnode and the version of anvil whose flags it has, and exit."""
    if asked:
        from wsnode.ethereum.rpc.node.methods import DEVELOPMENT_CLIENT
        from wsnode.release import release

        print(f"wsnode {release()}, in place of {DEVELOPMENT_CLIENT.replace('/v', ' ')}")
        context.exit()


@click.command()
@click.option(
    "--version",
    "-V",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version.",
)
@chain_options
@block_options
@output_options
@ignored_options
def anvil(**options: Any) -> None:
    """Serve a development chain in anvil's place, with anvil's flags and output.

    Some flags change nothing here: each prints a line on standard error.
    """
    _require_usable(options)
    for line in (*_differences(options), *warnings_of(options)):
        # Each line is written together with its line end: prool takes a chunk without "Warning", such as a
        # lone line end, for a failure.
        print(f"{line}\n", end="", file=sys.stderr, flush=True)
    with one_line_failures():
        from wsnode.demo.anvil.banner import AnvilBanner, introduce
        from wsnode.demo.run import serve_development

        anvil_banner = AnvilBanner(
            derivation_path=options["derivation_path"][0],
            gas_price=options["gas_price"],
            gas_limit=options["gas_limit"],
            config_out=options["config_out"],
            ipc=options["ipc"],
            is_quiet=options["quiet"],
        )
        serve_development(_served(options), _beginning(options), partial(introduce, anvil_banner))


def _require_usable(options: Mapping[str, Any]) -> None:
    if options["block_time"] is not None and options["no_mining"]:
        raise click.UsageError("give either --block-time or --no-mining")
    if options["mixed_mining"] and options["block_time"] is None:
        raise click.UsageError("--mixed-mining: give a --block-time too")
    if options["fork_block_number"] is not None and not options["fork_url"]:
        raise click.UsageError("--fork-block-number: give a --fork-url too")
    fork = options["hardfork"][1]
    if options["base_fee"] is not None and fork is not None and FORKS.index(fork) < LONDON:
        raise click.UsageError(f"--block-base-fee-per-gas: {fork} has none, it came with london")
    from_elsewhere = ("base_fee", "load_state", "state", "init", "timestamp")
    for name in from_elsewhere:
        if options["fork_url"] and options[name] is not None:
            raise click.UsageError(f"--{name.replace('_', '-')}: the chain behind --fork-url has its own")
    if options["state"] is not None and options["data"] is not None:
        raise click.UsageError("give either --data, which keeps the chain, or --state")


def _differences(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each flag with another effect than in anvil."""
    name, fork = options["hardfork"]
    if name is not None and name.lower() in OTHER_FORKS:
        yield warning("--hardfork", f"{name}: the rules are those of {fork}")
    if options["no_request_size_limit"]:
        yield warning("--no-request-size-limit", f"raises the limit to {MAX_BODY_BYTES} bytes")
    if options["no_cors"]:
        yield warning("--no-cors", "still admits web pages of this machine; other pages are refused")
    if options["host"] is not None and "," in options["host"]:
        yield warning("--host", "listens on the first of several addresses only")
    if options["network"] not in (None, "ethereum"):
        yield warning("--network", "is ignored: the rules are those of Ethereum")


def _served(options: Mapping[str, Any]) -> "ServeSettings":
    from wsnode.demo.run import ServeSettings
    from wsnode.demo.terminal.blocks import AnvilForm
    from wsnode.demo.terminal.event_printer import EventPrinterSettings
    from wsnode.node.config import AllowedHosts

    host = None if options["host"] is None else options["host"].split(",")[0]
    unlimited = dict.fromkeys(("body_bytes", "message_bytes"), MAX_BODY_BYTES)
    return ServeSettings(
        address=fit_address(None, host, options["port"], DEFAULT_LISTEN),
        block_time=options["block_time"] or 0.0,
        data=options["data"],
        log_level="debug" if options["verbosity"] else "info",
        log_format="json" if options["as_json"] else "human",
        is_quiet=options["quiet"],
        to_stdout=True,
        gas_limit=options["gas_limit"] or GAS_LIMIT,
        guests=AllowedHosts(("*",), () if options["no_cors"] else tuple(options["allow_origin"].split(","))),
        limits=development_limits((unlimited if options["no_request_size_limit"] else {}) | options["limit"]),
        telling=EventPrinterSettings(
            every_failure=options["verbosity"] > 0,
            methods=True,
            controls=False,
            console=not options["no_console"],
            traces=options["print_traces"],
            form=AnvilForm(),
        ),
        ipc=options["ipc"],
    )


def _beginning(options: Mapping[str, Any]) -> "GenesisSettings":
    from wsnode.demo.accounts import derived
    from wsnode.demo.genesis import ForkSource
    from wsnode.demo.run import GenesisSettings
    from wsnode.demo.state_dump_file import StateFiles
    from wsnode.ethereum.pool.order import TransactionOrder

    urls = options["fork_url"]
    return GenesisSettings(
        accounts=derived(options["mnemonic"], options["accounts"], options["derivation_path"][1]),
        balance=options["balance"] * ETHER,
        mnemonic=options["mnemonic"],
        chain_id=options["chain_id"],
        fork=options["hardfork"][1],
        base_fee=options["base_fee"],
        gas_price=options["gas_price"],
        has_create2_deployer=not options["no_create2"],
        timestamp=options["timestamp"],
        code_size_limit=CODE_SIZE if options["disable_code_size_limit"] else options["code_size_limit"],
        on_request=options["no_mining"],
        impersonates_all=options["auto_impersonate"],
        epoch=options["epoch"],
        source=ForkSource(urls, options["fork_block_number"]) if urls else None,
        order=TransactionOrder(options["order"]),
        state=StateFiles(*state_files(options["state"], options["load_state"], options["dump_state"])),
        init=options["init"],
    )
