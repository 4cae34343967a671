"""`wsnode keys`: make, list and revoke the API keys of a data folder; a running server follows at once."""

import math
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from wsnode.server.grants import ContractAddress, KeyLimits
from wsnode.server.keys import FILE_NAME, KeyFile
from wsnode.terminal import one_line_failures

app = typer.Typer(no_args_is_help=True, help=__doc__)

DataFolder = Annotated[Path, typer.Option("--data", help="The folder of one network.", metavar="DIR")]
Name = Annotated[str, typer.Argument(metavar="NAME")]


@app.command()
def add(
    name: Name,
    data: DataFolder,
    requests_per_second: Annotated[float | None, typer.Option(min=0, help="Credits a second.")] = None,
    burst: Annotated[float | None, typer.Option(min=0, help="Credits that can be saved up.")] = None,
    cost: Annotated[list[str] | None, typer.Option(metavar="METHOD=CREDITS", help="1 if not given.")] = None,
    connections: Annotated[int | None, typer.Option(min=0, help="WebSocket connections at once.")] = None,
    subscriptions: Annotated[int | None, typer.Option(min=0, help="Subscriptions at once.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="An allowed method; may end in *.")] = None,
    forwarding: Annotated[bool, typer.Option("--forwarding", help="Ask the partner in an outage.")] = False,
    contract: Annotated[
        list[str] | None, typer.Option(metavar="0x…", help="A contract that calls may name.")
    ] = None,
    origin: Annotated[list[str] | None, typer.Option(help="A web page that may use the key.")] = None,
) -> None:
    """Print a new key, once: only its hash is kept."""
    for name_of, rate in (("--requests-per-second", requests_per_second), ("--burst", burst)):
        if rate is not None and not math.isfinite(rate):
            raise typer.BadParameter(f"{name_of} {rate} is no rate")
    limits = KeyLimits(
        requests_per_second=requests_per_second,
        burst=burst,
        credits=dict(map(parse_cost, cost or ())),
        connections=connections,
        subscriptions=subscriptions,
        methods=tuple(method) if method else None,
        contracts=tuple(map(parse_contract, contract)) if contract else None,
        origins=tuple(origin) if origin else None,
        forwarding=forwarding,
    )
    with one_line_failures():
        print(KeyFile(data / FILE_NAME).add(name, limits))


@app.command("list")
def list_keys(data: DataFolder) -> None:
    """Print each key's name, its day, and its limits."""
    with one_line_failures():
        for key in KeyFile(data / FILE_NAME).read():
            print(f"{key.name}\t{key.created}\t{msgspec.json.encode(key.limits).decode()}")


@app.command()
def revoke(name: Name, data: DataFolder) -> None:
    """Make a key worthless; its connections end."""
    with one_line_failures():
        KeyFile(data / FILE_NAME).revoke(name)


def parse_contract(text: str) -> str:
    """Return the address `text`, if it is one."""
    try:
        return msgspec.convert(text, ContractAddress)
    except msgspec.ValidationError:
        raise typer.BadParameter(f"{text!r} is no address 0x…") from None


def parse_cost(text: str) -> tuple[str, float]:
    """Return the method and the credits in `METHOD=CREDITS`."""
    method, equals, credits_text = text.partition("=")
    try:
        credits = float(credits_text)
    except ValueError:
        credits = -1
    if not (method and equals and credits >= 0 and math.isfinite(credits)):
        raise typer.BadParameter(f"{text!r} is not METHOD=CREDITS")
    return method, credits
