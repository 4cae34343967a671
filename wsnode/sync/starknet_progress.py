"""Progress display of a dump's import: a bar on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

LINE_EVERY_SECONDS: Final = 5.0


class LineProgress:
    """Progress as a line every few seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._start = self._last = clock()

    def __call__(self, number: int, done: int, total: int) -> None:
        """Write a line unless the last one is less than 5 s old."""
        now = self._clock()
        if now - self._last < LINE_EVERY_SECONDS:
            return
        self._last = now
        rate = done / (now - self._start)
        left = f"{(total - done) / rate:.0f} s left"
        print(f"block {number}: {rate:,.0f} blocks/s, {left}", file=self._stream, flush=True)

    def report(self, message: str) -> None:
        print(message, file=self._stream, flush=True)


class DumpBar:
    """Progress as a bar on a terminal; a context manager."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("block {task.fields[number]}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._progress.add_task("import", total=None, number=0)

    def __call__(self, number: int, done: int, total: int) -> None:
        self._progress.update(self._task, total=total, completed=done, number=number)

    def report(self, message: str) -> None:
        """Write a message for the operator above the bar."""
        self._progress.console.print(message, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
