"""`wsnode demo` and `wsnode dev`: chains to look at and to test against."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from wsnode.addresses import DEFAULT_LISTEN
from wsnode.cli_options import FILE, FiniteRange, address_options, fit_address, guest_options
from wsnode.terminal import one_line_failures

MNEMONIC = "test test test test test test test test test test test junk"


def block_time_option(seconds: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what adds `block_time`, which is `seconds` unless it is given."""
    return click.option(
        "--block-time",
        "-b",
        type=FiniteRange(min=0),
        default=seconds,
        show_default=True,
        metavar="SECONDS",
        help="From one block to the next; 0: a block for each transaction.",
    )


def kept_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `data`."""
    return click.option(
        "--data", type=FILE, metavar="DIR", help="Keep the chain here; otherwise it is gone at the end."
    )(command)


@click.command()
@address_options
@block_time_option(2.0)
@kept_option
@guest_options
def demo(
    *,
    listen: str | None,
    host: str | None,
    port: int | None,
    block_time: float,
    data: Path | None,
    origin: tuple[str, ...],
    vhost: tuple[str, ...],
) -> None:
    """Serve a chain on which something happens in every block.

    Nothing else is needed: accounts have ether, tokens are traded, and all controls of `wsnode dev` work.
    """
    address = fit_address(listen, host, port, DEFAULT_LISTEN)
    with one_line_failures():
        from wsnode.config import Guests
        from wsnode.demo.run import serve_demo

        serve_demo(address, data, block_time, Guests(vhost, origin))


@click.command()
@address_options
@block_time_option(0.0)
@kept_option
@click.option(
    "--accounts",
    "-a",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    metavar="N",
    help="How many have ether.",
)
@click.option(
    "--balance",
    type=click.IntRange(min=0),
    default=10_000,
    show_default=True,
    metavar="ETHER",
    help="How much each has.",
)
@click.option(
    "--mnemonic",
    "-m",
    default=MNEMONIC,
    show_default=True,
    metavar="PHRASE",
    help="What they are derived from.",
)
@guest_options
def dev(
    *,
    listen: str | None,
    host: str | None,
    port: int | None,
    block_time: float,
    data: Path | None,
    accounts: int,
    balance: int,
    mnemonic: str,
    origin: tuple[str, ...],
    vhost: tuple[str, ...],
) -> None:
    """Serve an empty chain to test against.

    It has funded accounts, and the controls of anvil and hardhat over blocks, time and state.
    """
    address = fit_address(listen, host, port, DEFAULT_LISTEN)
    with one_line_failures():
        from wsnode.config import Guests
        from wsnode.demo.accounts import derived
        from wsnode.demo.run import serve_development
        from wsnode.demo.script import ETHER

        owners = derived(mnemonic, accounts)
        guests = Guests(vhost, origin)
        serve_development(
            address, data, block_time, owners, balance=balance * ETHER, mnemonic=mnemonic, guests=guests
        )
