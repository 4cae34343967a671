"""`wsnode demo` and `wsnode dev`: chains to explore and to test against."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import click

from wsnode.cli.options import (
    FILE,
    FiniteRange,
    address_options,
    fit_address,
    guest_options,
    journal_option,
    limit_option,
    log_level_option,
    one_process_option,
)
from wsnode.cli.terminal import one_line_failures
from wsnode.node.listen_address import DEFAULT_LISTEN, ListenAddress

if TYPE_CHECKING:
    from wsnode.demo.terminal.event_printer import EventPrinterSettings
    from wsnode.node.config import AllowedHosts
    from wsnode.node.config_file import AllLimits

MNEMONIC = "test test test test test test test test test test test junk"
ETHER = 10**18
GAS_LIMIT = 60_000_000
FORKS = (
    *("tangerine", "spuriousdragon", "byzantium", "constantinople", "petersburg", "istanbul", "muirglacier"),
    *("berlin", "london", "arrowglacier", "grayglacier", "paris", "shanghai", "cancun", "prague", "osaka"),
    "amsterdam",
)
ALIASES = {"merge": "paris", "latest": "osaka"}
TOO_EARLY = ("frontier", "homestead", "dao")
LONDON = FORKS.index("london")


def block_time_option(seconds: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds `block_time`, with a default of `seconds`."""
    return click.option(
        "--block-time",
        "-b",
        type=FiniteRange(min=0),
        default=seconds,
        show_default=True,
        metavar="SECONDS",
        help="Seconds from one block to the next; 0: a block for each transaction.",
    )


def served_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of both commands except the block time; `common` reads them."""
    for option in (
        one_process_option,
        limit_option,
        guest_options,
        click.option("--verbose", "-v", is_flag=True, help="Log all; short for --log-level debug."),
        log_level_option,
        click.option(
            "--quiet",
            "-q",
            is_flag=True,
            help="Print the first line alone, and errors; else blocks, transactions, failed calls and "
            "controls go to standard error.",
        ),
        click.option(
            "--data",
            type=FILE,
            metavar="DIR",
            help="Folder that keeps the chain; without it the chain ends with the process.",
        ),
        address_options,
    ):
        command = option(command)
    return command


class DevelopmentOptions(TypedDict):
    """Settings that `wsnode demo` and `wsnode dev` both parse from their options."""

    address: ListenAddress
    data: Path | None
    is_quiet: bool
    log_level: str
    guests: "AllowedHosts"
    limits: "AllLimits"
    telling: "EventPrinterSettings"


def common(options: Mapping[str, Any]) -> DevelopmentOptions:
    """Return the settings from the options of both commands.

    Raises:
        click.UsageError: Two options contradict one another.
    """
    from wsnode.demo.terminal.event_printer import EventPrinterSettings
    from wsnode.node.config import AllowedHosts

    level = options["log_level"]
    if options["verbose"] and level not in (None, "debug"):
        raise click.UsageError("give either --verbose or --log-level")
    if options["quiet"] and (options["verbose"] or level is not None):
        raise click.UsageError("give either --quiet, or --verbose or --log-level")
    level = "debug" if options["verbose"] else level or "info"
    return {
        "address": fit_address(options["listen"], options["host"], options["port"], DEFAULT_LISTEN),
        "data": options["data"],
        "is_quiet": options["quiet"],
        "log_level": level,
        "guests": AllowedHosts(options["vhost"], options["origin"]),
        "limits": development_limits(options["limit"]),
        "telling": EventPrinterSettings(every_failure=level == "debug", methods=level == "debug"),
    }


def development_limits(given: Mapping[str, Any]) -> "AllLimits":
    """Return the limits of a development chain, with the valid `given` values in place of its defaults."""
    import msgspec

    from wsnode.ethereum.pool.limits import DEVELOPMENT_POOL_LIMITS
    from wsnode.node.config_file import AllLimits

    return AllLimits.of_table({**msgspec.to_builtins(DEVELOPMENT_POOL_LIMITS), **given})


@click.command()
@block_time_option(2.0)
@served_options
@journal_option
def demo(*, block_time: float, journal: str | None, **options: Any) -> None:
    """Serve a chain on which something happens in every block.

    Nothing else is needed: accounts have ether, tokens are traded, and all controls of `wsnode dev` work.
    """
    settings = common(options)
    with one_line_failures():
        from wsnode.demo.run import ServeSettings, serve_demo
        from wsnode.node.config_line import journal_config

        serve_demo(ServeSettings(block_time=block_time, journal=journal_config(journal), **settings))


def read_fork(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    """Return the fork with a name in any case, with or without marks between words; None without a name."""
    if name is None:
        return None
    plain = name.lower().replace("-", "").replace("_", "").replace(" ", "").removesuffix("whistle")
    if plain in TOO_EARLY:
        raise click.BadParameter(
            f"at {plain} transactions cannot name their chain, as all clients' do today; begin at tangerine"
        )
    if (fork := ALIASES.get(plain, plain)) not in FORKS:
        raise click.BadParameter(f"{name!r} is none of {', '.join((*FORKS, 'latest'))}")
    return fork


@click.command()
@block_time_option(0.0)
@served_options
@click.option(
    "--accounts",
    "-a",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    metavar="N",
    help="Number of funded accounts.",
)
@click.option(
    "--balance",
    type=click.IntRange(min=0),
    default=10_000,
    show_default=True,
    metavar="ETHER",
    help="Balance of each account.",
)
@click.option(
    "--mnemonic",
    "-m",
    default=MNEMONIC,
    show_default=True,
    metavar="PHRASE",
    help="The phrase from which the accounts are derived.",
)
@click.option(
    "--chain-id",
    type=click.IntRange(1, 2**63 - 1),
    metavar="N",
    help="The id of a new chain; 31337 if not given.",
)
@click.option(
    "--hardfork",
    callback=read_fork,
    metavar="NAME",
    help="The rules of a new chain, from tangerine to amsterdam; osaka if not given.",
)
@click.option(
    "--gas-limit",
    type=click.IntRange(5000, 2**63 - 1),
    default=GAS_LIMIT,
    show_default=True,
    metavar="GAS",
    help="Gas limit of a new chain's blocks; an old chain's moves towards it.",
)
@click.option(
    "--base-fee",
    "--block-base-fee-per-gas",
    type=click.IntRange(0, 2**64 - 1),
    metavar="WEI",
    help="Base fee of a new chain's first blocks; 1 gwei in its genesis if not given.",
)
@click.option(
    "--gas-price",
    type=click.IntRange(0, 2**64 - 1),
    metavar="WEI",
    help="What eth_gasPrice advises before london; later prices follow from the base fee.",
)
@click.option(
    "--disable-default-create2-deployer",
    "--no-create2",
    is_flag=True,
    help="Leave the CREATE2 deployer 0x4e59…956c out of a new chain's genesis.",
)
@click.option(
    "--fork",
    "--fork-url",
    "-f",
    multiple=True,
    metavar="URL",
    help="Begin on a block of the chain of this node, whose state is proved as it is needed; "
    "further ones prove it too.",
)
@click.option(
    "--fork-block",
    "--fork-block-number",
    type=click.IntRange(1, 2**63 - 1),
    metavar="N",
    help="Number of the block to begin on; the node's head if not given.",
)
@click.option(
    "--order",
    type=click.Choice(["fees", "fifo"]),
    default="fees",
    show_default=True,
    help="Which transaction comes first: the one that pays best, or the oldest.",
)
@click.option(
    "--state",
    type=FILE,
    metavar="FILE",
    help="Both --load-state and --dump-state; the file need not exist yet.",
)
@journal_option
@click.option("--load-state", type=FILE, metavar="FILE", help="Begin with the accounts of anvil's file.")
@click.option("--dump-state", type=FILE, metavar="FILE", help="Write all accounts to this file at the end.")
def dev(
    *,
    block_time: float,
    accounts: int,
    balance: int,
    mnemonic: str,
    chain_id: int | None,
    hardfork: str | None,
    gas_limit: int,
    base_fee: int | None,
    gas_price: int | None,
    disable_default_create2_deployer: bool,
    fork: tuple[str, ...],
    fork_block: int | None,
    order: str,
    state: Path | None,
    load_state: Path | None,
    dump_state: Path | None,
    journal: str | None,
    **options: Any,
) -> None:
    """Serve an empty chain to test against.

    It has funded accounts, and the controls of anvil and hardhat over blocks, time and state.
    """
    settings = common(options)
    files = state_files(state, load_state, dump_state)
    if state is not None and settings["data"] is not None:
        raise click.UsageError("give either --data, which keeps the chain, or --state")
    if base_fee is not None and hardfork is not None and FORKS.index(hardfork) < LONDON:
        raise click.UsageError(f"--base-fee: {hardfork} has none, it came with london")
    if not fork and fork_block is not None:
        raise click.UsageError("--fork-block: give a --fork too")
    if fork and (base_fee is not None or files[0] is not None):
        raise click.UsageError(
            "--fork: leave out --base-fee, --state and --load-state, since the other chain has its own base "
            "fee and state"
        )
    if fork and journal is not None:
        raise click.UsageError("--journal: a forked chain cannot be published, its state is another chain's")
    with one_line_failures():
        from wsnode.demo.accounts import derived
        from wsnode.demo.genesis import ForkSource
        from wsnode.demo.run import GenesisSettings, ServeSettings, serve_development
        from wsnode.demo.state_dump_file import StateFiles
        from wsnode.ethereum.pool.order import TransactionOrder
        from wsnode.node.config_line import journal_config

        published = journal_config(journal)
        served = ServeSettings(block_time=block_time, gas_limit=gas_limit, journal=published, **settings)
        beginning = GenesisSettings(
            accounts=derived(mnemonic, accounts),
            balance=balance * ETHER,
            mnemonic=mnemonic,
            chain_id=chain_id,
            fork=hardfork,
            base_fee=base_fee,
            gas_price=gas_price,
            has_create2_deployer=not disable_default_create2_deployer,
            source=ForkSource(fork, fork_block) if fork else None,
            order=TransactionOrder(order),
            state=StateFiles(*files),
        )
        serve_development(served, beginning)


def state_files(
    state: Path | None, load_state: Path | None, dump_state: Path | None
) -> tuple[Path | None, Path | None]:
    """Return the file to begin with and the file to write at the end, None for an absent one.

    `state` is both; it is written even if it does not exist yet.

    Raises:
        click.UsageError: Two options name one of the files.
    """
    if state is None:
        return load_state, dump_state
    if load_state is not None or dump_state is not None:
        raise click.UsageError("give either --state or --load-state and --dump-state")
    file = state / "state.json" if state.is_dir() else state
    return (file if file.exists() else None), file
