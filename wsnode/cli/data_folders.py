"""Commands on data folders: `wsnode doctor` checks one, `snapshot` and `restore` copy one."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wsnode.cli.options import FILE, data_option
from wsnode.cli.terminal import announce_head, one_line_failures, say, shown_parts

if TYPE_CHECKING:
    from wsnode.snapshots.manifest import Manifest

UNREADABLE = 2


@click.command()
@data_option
@click.option(
    "--tables", "is_measured", is_flag=True, help="Print the size of each table, and check nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as a JSON object.")
def doctor(*, data: Path, is_measured: bool, as_json: bool) -> None:
    """Check a data folder: every link, hash and root, every look-up, the log index, the state.

    Nothing is written, and a node may serve the folder meanwhile. Exit status 0: the folder is sound; 1: it
    is not; 2: it cannot be read.
    """
    if is_measured:
        _print_tables(data, as_json=as_json)
        return
    from wsnode.doctor.examine import document, examine, lines_of

    with unreadable_status(), one_line_failures(), shown_parts() as progress:
        found = examine(data, progress)
    if as_json:
        import msgspec

        say(msgspec.json.encode(document(data, found)).decode())
    else:
        for line in lines_of(found):
            say(line)
    if not all(findings.is_sound for findings in found.values()):
        raise SystemExit(1)


def _print_tables(data: Path, *, as_json: bool) -> None:
    from wsnode.doctor.tables import document, lines_of, measure

    with unreadable_status(), one_line_failures():
        stores = measure(data)
    if as_json:
        import msgspec

        say(msgspec.json.encode(document(data, stores)).decode())
    else:
        for line in lines_of(stores):
            say(line)


@contextmanager
def unreadable_status() -> Iterator[None]:
    """End with status 2 in place of 1, the status of a folder with faults."""
    try:
        yield
    except SystemExit as ended:
        raise SystemExit(UNREADABLE if ended.code == 1 else ended.code) from None


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
