"""Command `wsnode doctor`, which checks a data folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from wsnode.cli.options import data_option
from wsnode.cli.terminal import one_line_failures, say, shown_parts

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
