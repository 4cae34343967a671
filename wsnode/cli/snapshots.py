"""`wsnode snapshot` and `wsnode restore`: copies of data folders."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wsnode.cli.options import FILE, data_option
from wsnode.cli.terminal import announce_head, one_line_failures, shown_parts

if TYPE_CHECKING:
    from wsnode.snapshots.manifest import Manifest


@click.command()
@click.argument("folder", metavar="FOLDER", type=FILE)
@data_option
def snapshot(*, folder: Path, data: Path) -> None:
    """Copy a data folder, beside the node that writes it, into the empty FOLDER."""
    with one_line_failures():
        from wsnode.release import release
        from wsnode.snapshots.writer import take

        with shown_parts() as shown:
            taken = take(data, folder, f"wsnode {release()}", shown)
        announce(taken)


@click.command()
@click.argument("folder", metavar="FOLDER", type=FILE)
@data_option
def restore(*, folder: Path, data: Path) -> None:
    """Make a data folder of the snapshot in FOLDER; every byte of it is verified first."""
    with one_line_failures():
        from wsnode.snapshots.restorer import restore as restore_folder

        with shown_parts() as shown:
            restored = restore_folder(data, folder, shown)
        hint = f"`wsnode keys add NAME --data {shlex.quote(str(data))}` adds one, `serve --open` needs none"
        print(f"note: a snapshot holds no API keys: {hint}", file=sys.stderr)
        announce(restored)


def announce(copy: "Manifest") -> None:
    """Print the heads of a copy's chains on standard output."""
    if copy.alt is not None and copy.alt.number is not None:
        announce_head(f"{copy.alt.number} {copy.alt.hash}")
    if copy.eth is not None:
        announce_head(f"{copy.eth.number} {copy.eth.hash}")
