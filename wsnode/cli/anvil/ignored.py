"""Flags of anvil that are accepted without an effect, each with a line about the difference."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import click


class IgnoredOption(NamedTuple):
    """Option of anvil's command line accepted without effect: its names, the name of its value for the help,
    and wsnode's behaviour in its place.
    """

    names: tuple[str, ...]
    metavar: str | None
    """Name of its value, None if it takes none."""
    reason: str
    """Behaviour of wsnode in its place."""
    has_optional_value: bool = False


IGNORED: Final = (
    IgnoredOption(("--threads", "-j", "--jobs"), "N", "the node uses the cores that it needs"),
    IgnoredOption(("--max-persisted-states",), "N", "the state of every block is kept until the node ends"),
    IgnoredOption(("--max-transactions",), "N", "gas alone bounds the transactions of a block"),
    IgnoredOption(("--mixed-mining",), None, "blocks come at their times only, transactions wait"),
    IgnoredOption(
        ("--mnemonic-random",),
        "WORDS",
        "the accounts are those of the usual phrase; --mnemonic takes one of your own",
        has_optional_value=True,
    ),
    IgnoredOption(
        ("--mnemonic-seed-unsafe",),
        "SEED",
        "the accounts are those of the usual phrase; --mnemonic takes one of your own",
    ),
    IgnoredOption(("--number",), "N", "a new chain begins with block 0"),
    IgnoredOption(
        ("--preserve-historical-states",),
        None,
        "a state file has the accounts after the last block; --data keeps the whole chain",
    ),
    IgnoredOption(("--prune-history",), "N", "the state of every block is kept", has_optional_value=True),
    IgnoredOption(
        ("--state-interval", "-s"),
        "SECONDS",
        "the state is written at the end; --data keeps the chain through a kill as well",
    ),
    IgnoredOption(("--transaction-block-keeper",), "N", "the transactions of every block are kept"),
    IgnoredOption(("--color",), "WHEN", "the output has no colors"),
    IgnoredOption(("--md",), None, "the output is plain text"),
    IgnoredOption(("--cache-path",), "PATH", "$XDG_CACHE_HOME/wsnode has what is kept of a fork"),
    IgnoredOption(("--compute-units-per-second",), "N", "--fork-url once more spreads the questions"),
    IgnoredOption(("--fork-chain-id",), "ID", "the node behind --fork-url says its id; --chain-id sets one"),
    IgnoredOption(("--fork-header",), "HEADER", "no headers are added; a URL may hold the key"),
    IgnoredOption(("--fork-retry-backoff",), "MS", "the node chooses when to ask again"),
    IgnoredOption(
        ("--fork-transaction-hash",),
        "HASH",
        "the chain begins after a whole block, that of --fork-block-number or the head",
    ),
    IgnoredOption(
        ("--no-rate-limit", "--no-rpc-rate-limit"),
        None,
        "there is no limit on questions to turn off",
    ),
    IgnoredOption(("--no-storage-caching",), None, "what is proved of a fork is kept"),
    IgnoredOption(("--retries",), "N", "the node chooses how often to ask again"),
    IgnoredOption(("--timeout",), "MS", "the node chooses how long to wait for another one"),
    IgnoredOption(
        ("--disable-block-gas-limit",),
        None,
        "no transaction exceeds its block; raise --gas-limit",
    ),
    IgnoredOption(("--disable-min-priority-fee", "--no-priority-fee"), None, "no lowest tip is demanded"),
    IgnoredOption(
        ("--enable-tx-gas-limit", "--tx-gas-limit"),
        None,
        "the bound on a transaction's gas holds from osaka on in any case",
    ),
    IgnoredOption(
        ("--disable-pool-balance-checks",),
        None,
        "a sender must be able to pay for its transaction",
    ),
    IgnoredOption(("--memory-limit",), "BYTES", "gas bounds the memory of transactions"),
    IgnoredOption(("--celo",), None, "the rules are those of Ethereum"),
    IgnoredOption(("--optimism",), None, "the rules are those of Ethereum"),
)


def ignored_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all flags without effect; `warnings_of` reads them."""
    for flag in reversed(IGNORED):
        command = _option(flag)(command)
    return command


def warnings_of(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each flag without effect that was given."""
    for flag in IGNORED:
        if options[destination(flag)] not in (None, False, ()):
            yield warning(flag.names[0], f"is ignored: {flag.reason}")


def warning(flag: str, says: str) -> str:
    """Return the line of standard error about a flag."""
    return f"Warning: {flag} {says}"


def destination(flag: IgnoredOption) -> str:
    """Return the name of the argument that receives a flag's value."""
    return flag.names[0].removeprefix("--").replace("-", "_")


def _option(flag: IgnoredOption) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    option = partial(click.option, *flag.names, destination(flag), help=f"Ignored: {flag.reason}.")
    if flag.metavar is None:
        return option(is_flag=True)
    if flag.has_optional_value:
        return option(is_flag=False, flag_value="", metavar=flag.metavar)
    return option(multiple=True, metavar=flag.metavar)
