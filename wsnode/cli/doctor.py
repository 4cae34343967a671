"""`wsnode doctor`: is a data folder sound?"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from wsnode.cli.options import data_option
from wsnode.cli.terminal import one_line_failures, say

if TYPE_CHECKING:
    from rich.progress import Progress

    from wsnode.doctor.findings import Progress as Shown

UNREADABLE = 2
LINE_EVERY_SECONDS = 5.0


@click.command()
@data_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as a JSON object.")
def doctor(*, data: Path, as_json: bool) -> None:
    """Check a data folder: every link, hash and root, every look-up, the log index, the state.

    Nothing is written, and a node may serve the folder meanwhile. Exit status 0: the folder is sound; 1: it
    is not; 2: it cannot be read.
    """
    from wsnode.doctor.examine import examine
    from wsnode.doctor.report import document, lines_of

    with unreadable_status(), one_line_failures(), shown() as progress:
        found = examine(data, progress)
    if as_json:
        import msgspec

        say(msgspec.json.encode(document(data, found)).decode())
    else:
        for line in lines_of(found):
            say(line)
    if not all(findings.is_sound for findings in found.values()):
        raise SystemExit(1)


@contextmanager
def unreadable_status() -> Iterator[None]:
    """Give a failure another exit status than a folder with faults has."""
    try:
        yield
    except SystemExit as ended:
        raise SystemExit(UNREADABLE if ended.code == 1 else ended.code) from None


@contextmanager
def shown() -> Iterator["Shown"]:
    """Show progress on standard error: a bar on a terminal, else a line now and then."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines(sys.stderr)
        return
    with Progress(console=console, transient=True) as bars:
        yield Bars(bars)


class Lines:
    """Writes a line now and then."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = time.monotonic()

    def advanced(self, part: str, done: int, total: int) -> None:
        """Write a line unless the last one is recent."""
        if (now := time.monotonic()) - self._last >= LINE_EVERY_SECONDS:
            self._last = now
            print(f"{part}: {done} of {total}", file=self._stream, flush=True)


class Bars:
    """Shows a bar for each part."""

    def __init__(self, bars: "Progress") -> None:
        self._bars = bars
        self._part = ""
        self._task = bars.add_task("")

    def advanced(self, part: str, done: int, total: int) -> None:
        """Move the bar."""
        if part != self._part:
            self._part = part
            self._bars.reset(self._task, description=part, total=total)
        self._bars.update(self._task, completed=done, total=total)
