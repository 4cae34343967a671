"""Progress display of an import or of a dump's import: a bar on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Protocol, Self, TextIO

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

_LINE_EVERY_SECONDS: Final = 5.0


class ProgressStep(msgspec.Struct, frozen=True):
    """Work of an import so far: the last block's number, the counts of blocks and transactions, the gas, and
    the bytes read; `bytes_total` is None if unknown.
    """

    number: int
    blocks: int = 0
    transactions: int = 0
    gas: int = 0
    bytes_read: int = 0
    bytes_total: int | None = None


class ImportProgress(Protocol):
    """Receiver of an import's progress after each batch of verified blocks; it may show a line, a bar or
    nothing.
    """

    def advanced(self, step: ProgressStep) -> None:
        """Take note of the work done so far."""


class NullProgress:
    """Receiver of an import's progress that shows nothing."""

    def advanced(self, step: ProgressStep) -> None: ...


class ImportLines:
    """Progress of an import of Ethereum blocks, as a line every few seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._start = self._last = clock()

    def advanced(self, step: ProgressStep) -> None:
        """Write a line unless the last one is less than 5 s old."""
        now = self._clock()
        if now - self._last >= _LINE_EVERY_SECONDS:
            self._last = now
            self._write(step, now - self._start)

    def _write(self, step: ProgressStep, elapsed: float) -> None:
        left = time_left(step, elapsed)
        print(
            f"block {step.number}: {rates(step, elapsed)}" + ("" if left is None else f", {left:.0f} s left"),
            file=self._stream,
            flush=True,
        )


class ImportBar:
    """Progress of an import of Ethereum blocks, as a bar on a terminal; a context manager."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self._progress = Progress(
            TextColumn("block {task.fields[number]}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[rates]}"),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._progress.add_task("import", total=None, number=0, rates="")

    def advanced(self, step: ProgressStep) -> None:
        self._progress.update(
            self._task,
            total=step.bytes_total,
            completed=step.bytes_read,
            number=step.number,
            rates=rates(step, self._clock() - self._start),
        )

    def __enter__(self) -> "ImportBar":
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()


def rates(step: ProgressStep, elapsed: float) -> str:
    """Return blocks, transactions and gas per second as text."""
    seconds = max(elapsed, 1e-9)
    return (
        f"{step.blocks / seconds:,.0f} blocks/s, {step.transactions / seconds:,.0f} tx/s, "
        f"{step.gas / 1e6 / seconds:,.1f} Mgas/s"
    )


def time_left(step: ProgressStep, elapsed: float) -> float | None:
    """Return the seconds left at the pace so far, None when the total is unknown."""
    if step.bytes_total is None or not step.bytes_read:
        return None
    return elapsed * max(0, step.bytes_total - step.bytes_read) / step.bytes_read


class LineProgress:
    """Progress of an import of a Starknet dump, as a line every few seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._start = self._last = clock()

    def __call__(self, number: int, done: int, total: int) -> None:
        """Write a line unless the last one is less than 5 s old."""
        now = self._clock()
        if now - self._last < _LINE_EVERY_SECONDS:
            return
        self._last = now
        rate = done / (now - self._start)
        left = f"{(total - done) / rate:.0f} s left"
        print(f"block {number}: {rate:,.0f} blocks/s, {left}", file=self._stream, flush=True)

    def report(self, message: str) -> None:
        print(message, file=self._stream, flush=True)


class DumpBar:
    """Progress of an import of a Starknet dump, as a bar on a terminal; a context manager."""

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
