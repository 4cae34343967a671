"""Commands of an operator: `wsnode config`, `keys` and `outage`."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wsnode.cli.options import Commands, FiniteRange, data_option
from wsnode.cli.terminal import one_line_failures

if TYPE_CHECKING:
    from wsnode.server.access.keys import KeyFile


@click.group("config", cls=Commands)
def config() -> None:
    """Check a configuration file before a node starts with it."""


@config.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    """Say what keeps a node from starting with FILE, a line each; nothing is opened or made.

    Exit status 0: nothing does; what would be served is printed. 1: something does.
    """
    with one_line_failures():
        from wsnode.node.config_check import hindrances, served
        from wsnode.node.config_file import examine

        found, mistakes, unsound = examine(file)
        lines = list(mistakes)
        if found is not None:
            lines += [f"{file}: {line}" for line in hindrances(found, unsound)]
            if not lines:
                for line in served(found):
                    print(line)
                return
        for line in lines:
            print(f"error: {line}", file=sys.stderr)
        raise SystemExit(1)


@click.group("keys", cls=Commands)
def keys() -> None:
    """Make, list and revoke API keys; a running server follows immediately."""


@keys.command()
@click.argument("name", metavar="NAME")
@data_option
@click.option("--requests-per-second", type=FiniteRange(min=0), help="Credits that come back each second.")
@click.option("--burst", type=FiniteRange(min=0), help="Credits that can be saved up.")
@click.option(
    "--cost",
    "credits",
    multiple=True,
    metavar="METHOD=CREDITS",
    callback=lambda _context, _option, texts: dict(map(parse_cost, texts)),
    help="The credits of a method; 1 if not given.",
)
@click.option(
    "--connections", type=click.IntRange(min=0), help="WebSocket connections open at the same time."
)
@click.option("--subscriptions", type=click.IntRange(min=0), help="Subscriptions open at the same time.")
@click.option("--method", "methods", multiple=True, help="An allowed method; may end in *.")
@click.option("--forwarding", is_flag=True, help="Ask the partner in an outage.")
@click.option(
    "--contract",
    "contracts",
    multiple=True,
    metavar="0x…",
    callback=lambda _context, _option, texts: tuple(map(parse_contract, texts)),
    help="A contract that calls may name.",
)
@click.option("--origin", "origins", multiple=True, help="A web page that may use the key.")
def add(*, name: str, data: Path, **limits: Any) -> None:
    """Print a new key, once: only its hash is kept."""
    from wsnode.server.access.api_keys import KeyLimits

    # Each option is named after a member of `KeyLimits`. Options that were not given are left out, so that
    # their members keep the defaults.
    given = KeyLimits(**{limit: value for limit, value in limits.items() if value not in (None, (), {})})
    with one_line_failures():
        print(key_file(data).add(name, given))


@keys.command("list")
@data_option
def list_keys(data: Path) -> None:
    """Print each key's name, its day, and its limits."""
    import msgspec

    with one_line_failures():
        for key in key_file(data).read():
            print(f"{key.name}\t{key.created}\t{msgspec.json.encode(key.limits).decode()}")


@keys.command()
@click.argument("name", metavar="NAME")
@data_option
def revoke(name: str, data: Path) -> None:
    """Make a key worthless; its connections end."""
    with one_line_failures():
        key_file(data).revoke(name)


def key_file(data: Path) -> "KeyFile":
    """Return the file of a folder's keys."""
    from wsnode.server.access.keys import FILE_NAME, KeyFile

    return KeyFile(data / FILE_NAME)


def parse_contract(text: str) -> str:
    """Return `text` if it is an address, 20 bytes in hex; else end as wrong usage."""
    import msgspec

    from wsnode.server.access.api_keys import ContractAddress

    try:
        return msgspec.convert(text, ContractAddress)
    except msgspec.ValidationError:
        raise click.BadParameter(f"{text!r} is no address, which is 0x and 40 hexadecimal digits") from None


def parse_cost(text: str) -> tuple[str, float]:
    """Return the method and the credits in `METHOD=CREDITS`."""
    method, equals, credits_text = text.partition("=")
    try:
        credits = float(credits_text)
    except ValueError:
        credits = -1
    if not (method and equals and credits >= 0 and math.isfinite(credits)):
        raise click.BadParameter(
            f"{text!r} is not METHOD=CREDITS, where CREDITS is a finite number, 0 or more"
        )
    return method, credits


@click.command()
@click.argument("state", type=click.Choice(["on", "off"]))
@data_option
def outage(state: str, data: Path) -> None:
    """Declare an outage, or its end; a running server follows immediately."""
    from wsnode.node.networks import OUTAGE_FILE

    with one_line_failures():
        place = data / OUTAGE_FILE
        if state == "on":
            place.touch()
        else:
            place.unlink(missing_ok=True)
        print(f"outage {state}")
