"""`wsnode outage`: an operator says that the node of a data folder may lack transactions."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from wsnode.networks import OUTAGE_FILE
from wsnode.terminal import one_line_failures


class State(StrEnum):
    """Whether there is an outage."""

    ON = "on"
    OFF = "off"


def outage(
    state: Annotated[State, typer.Argument(help="From now on, or no longer.")],
    data: Annotated[Path, typer.Option("--data", help="The folder of one network.", metavar="DIR")],
) -> None:
    """Declare an outage, or its end; a running server follows at once."""
    with one_line_failures():
        place = data / OUTAGE_FILE
        if state is State.ON:
            place.touch()
        else:
            place.unlink(missing_ok=True)
        print(f"outage {state}")
