"""Output of commands: lines, progress, the head, and failures as one line."""

import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress

    from wsnode.sync import progress

INTERRUPTED = 130
LINE_EVERY_SECONDS = 5.0
CLEAR_LINE = "\r\x1b[2K"


def say(line: str) -> None:
    """Print a line immediately; control characters, which other nodes may have sent, are escaped."""
    print(escaped(line), flush=True)


def escaped(lines: str) -> str:
    """Return lines without control characters but those at their ends."""
    from wsnode.untrusted.decoding import printable

    return "\n".join(map(printable, lines.split("\n")))


def announce_head(head: object) -> None:
    """Print the head on standard output: `head NUMBER HASH`."""
    print(f"head {head}", flush=True)


class PassingLine:
    """Status line at the bottom of a terminal, overwritten by each new text; without a terminal nothing is
    shown. While it is open, the first SIGINT only sets `is_interrupted`, and the second one ends the process.
    """

    def __init__(self, stream: TextIO) -> None:
        self.is_interrupted = False
        self._stream = stream if stream.isatty() else None

    def __enter__(self) -> "PassingLine":
        self._handler = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_error: object) -> None:
        """Clear the line, and restore the handling of interruptions."""
        self.show("")
        signal.signal(signal.SIGINT, self._handler)

    def _interrupt(self, _number: int, _frame: object) -> None:
        self.is_interrupted = True
        signal.signal(signal.SIGINT, self._handler)

    def show(self, text: str) -> bool:
        """Replace the line by `text`, cut to the width; return True if there was an interruption."""
        if self._stream is not None:
            width = shutil.get_terminal_size().columns
            self._stream.write(f"{CLEAR_LINE}{escaped(text)[: width - 1]}")
            self._stream.flush()
        return self.is_interrupted

    def say(self, line: str) -> None:
        """Print a permanent line above the replaced one."""
        self.show("")
        say(line)


@contextmanager
def one_line_failures() -> Iterator[None]:
    """Convert errors of an input, a folder or an address to one line and exit status 1."""
    status: int | None = None
    try:
        yield
    except* KeyboardInterrupt:
        status = INTERRUPTED
    except* failures() as group:
        error = first_leaf(group)
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        print(escaped(f"error: {error}{notes}"), file=sys.stderr)
        status = 1
    # SystemExit is raised after the `except*` clauses: up to Python 3.11.3 an exception raised inside one
    # becomes part of a group, and is shown with a traceback.
    if status is not None:
        raise SystemExit(status)


def failures() -> tuple[type[Exception], ...]:
    """Return the types of such errors, imported on a failure only, because they need nearly all modules."""
    from wsnode.ethereum.state import EngineError
    from wsnode.ethereum.storage.errors import ChainError
    from wsnode.node.config import ConfigurationError
    from wsnode.node.listen_address import ListenError
    from wsnode.server.access.keys import KeyFileError
    from wsnode.snapshots.errors import CopyError
    from wsnode.starknet.errors import StarknetError
    from wsnode.store.environment import StoreError
    from wsnode.sync.errors import CheckpointError, SourceError, UnknownParentError, UnsupportedChainError
    from wsnode.untrusted.decoding import MalformedError
    from wsnode.verify.cases import CaseFileError
    from wsnode.verify.differential import NodeMismatchError

    return (
        ListenError,
        CaseFileError,
        ChainError,
        CheckpointError,
        ConfigurationError,
        CopyError,
        EngineError,
        KeyFileError,
        MalformedError,
        OSError,
        NodeMismatchError,
        SourceError,
        StarknetError,
        StoreError,
        UnknownParentError,
        UnsupportedChainError,
    )


def first_leaf(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception in a group of groups."""
    first = group.exceptions[0]
    return first_leaf(first) if isinstance(first, BaseExceptionGroup) else first


@contextmanager
def shown_progress() -> Iterator["progress.ImportProgress"]:
    """Show progress as a bar on a terminal, as lines otherwise, on standard error."""
    from rich.console import Console

    from wsnode.sync import progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield progress.ImportLines(sys.stderr)
        return
    with progress.ImportBar(console) as bar:
        yield bar


@contextmanager
def shown_starknet_progress() -> Iterator["progress.LineProgress | progress.DumpBar"]:
    """Show the progress and the reports of a dump's import on standard error."""
    from rich.console import Console

    from wsnode.sync import progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield progress.LineProgress(sys.stderr)
        return
    with progress.DumpBar(console) as bar:
        yield bar


@contextmanager
def shown_parts() -> Iterator["OutputLines | ProgressBars"]:
    """Show the progress of work in parts on standard error: a bar on a terminal, else a line every 5 s."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield OutputLines(sys.stderr)
        return
    with Progress(console=console, transient=True) as bars:
        yield ProgressBars(bars)


class OutputLines:
    """Display of progress for output without a terminal: a line at most every 5 seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = time.monotonic()

    def advanced(self, part: str, done: int, total: int) -> None:
        """Write a line unless the last one is less than 5 s old."""
        if (now := time.monotonic()) - self._last >= LINE_EVERY_SECONDS:
            self._last = now
            print(f"{part}: {done} of {total}", file=self._stream, flush=True)


class ProgressBars:
    """Display of progress on a terminal: a bar that begins again with each part of the work."""

    def __init__(self, bars: "Progress") -> None:
        self._bars = bars
        self._part = ""
        self._task = bars.add_task("")

    def advanced(self, part: str, done: int, total: int) -> None:
        if part != self._part:
            self._part = part
            self._bars.reset(self._task, description=part, total=total)
        self._bars.update(self._task, completed=done, total=total)
