"""Command `wsnode outage`: an operator declares that the node of a data folder may lack transactions."""

from pathlib import Path

import click

from wsnode.cli.options import data_option
from wsnode.cli.terminal import one_line_failures


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
