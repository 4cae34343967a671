"""A run by several processes, each with its share of the connections and of the rate."""

import contextlib
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Protocol

import msgspec

from wsnode.load.measured import Measured
from wsnode.load.mix import Request
from wsnode.load.window import Pattern, run_window

START_SECONDS = 60.0
"""Within these all processes have opened their connections."""


class Runner(Protocol):
    """Runs a pattern against a node."""

    def __call__(
        self, url: str, requests: Sequence[Request], pattern: Pattern, slice_seconds: float
    ) -> Measured:
        """Return what was measured.

        Raises:
            ConnectionError: A connection was refused or lost, or the node stopped answering.
        """


def usual_processes(connections: int) -> int:
    """Return how many processes there are unless a number is given: half of the cores are the node's."""
    return max(1, min(connections, (os.cpu_count() or 1) // 2))


def machine_seconds() -> tuple[float, float]:
    """Return how long the cores of this machine were busy and how long there are, 0 where that is unknown."""
    try:
        times = [float(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    except (OSError, ValueError):
        return 0.0, 0.0
    idle = times[3] + times[4]
    return sum(times) - idle, sum(times)


def machine_part(before: tuple[float, float], after: tuple[float, float]) -> float:
    """Return the part of all cores that was busy between two moments, 0 where that is unknown."""
    busy, all_of_them = (late - early for early, late in zip(before, after, strict=True))
    return busy / all_of_them if all_of_them else 0.0


@contextlib.contextmanager
def runners(processes: int) -> Iterator[Runner]:
    """Return what runs patterns, in this process or in so many others."""
    if processes == 1:
        yield run_alone
        return
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes)
    with ProcessPoolExecutor(processes, context, _remember, (barrier,)) as pool:

        def run_together(
            url: str, requests: Sequence[Request], pattern: Pattern, slice_seconds: float
        ) -> Measured:
            shares = list(shared_out(pattern, processes))
            barrier.reset()
            started = [
                pool.submit(_run_share, url, list(requests), share, first, slice_seconds)
                for first, share in shares
            ]
            return merged([each.result() for each in started])

        yield run_together


def run_alone(url: str, requests: Sequence[Request], pattern: Pattern, slice_seconds: float) -> Measured:
    """Return what this process measured."""
    measured = Measured(slice_seconds=slice_seconds)
    run_window(url, requests, pattern, measured)
    return measured


def shared_out(pattern: Pattern, processes: int) -> Iterator[tuple[int, Pattern]]:
    """Yield the part of each process: the number of its first connection, and its pattern."""
    first = 0
    for number in range(processes):
        connections = (number + 1) * pattern.connections // processes - first
        rate = None if pattern.rate is None else pattern.rate * connections / pattern.connections
        yield first, msgspec.structs.replace(pattern, connections=connections, rate=rate)
        first += connections


def merged(parts: Sequence[Measured | str]) -> Measured:
    """Return what several processes measured together.

    Raises:
        ConnectionError: One could not.
    """
    failures = [part for part in parts if isinstance(part, str)]
    if failures:
        raise ConnectionError(max(failures, key=len))
    together = Measured()
    for part in parts:
        if isinstance(part, Measured):
            together.slice_seconds = part.slice_seconds
            together.merge(part)
    return together


_barrier: Barrier | None = None


def _remember(barrier: Barrier) -> None:
    global _barrier
    _barrier = barrier


def _run_share(
    url: str, requests: list[Request], pattern: Pattern, first: int, slice_seconds: float
) -> Measured | str:
    """Return what this process measured, or why it could not."""
    assert _barrier is not None
    barrier, measured = _barrier, Measured(slice_seconds=slice_seconds)
    try:
        run_window(url, requests, pattern, measured, first=first, wait=lambda: barrier.wait(START_SECONDS))
    except BrokenBarrierError:
        # Another process says why.
        return ""
    except ConnectionError as error:
        barrier.abort()
        return str(error)
    return measured
