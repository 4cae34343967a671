"""A run by several processes, each with its share of the connections and of the rate."""

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.queues import SimpleQueue
from threading import Barrier, BrokenBarrierError
from typing import Protocol

import msgspec

from wsnode.load.measured import Measured
from wsnode.load.mix.requests import Request
from wsnode.load.mix.window import Pattern, run_window
from wsnode.load.progress import Beat

HEAR_SECONDS = 0.1
START_SECONDS = 60.0
"""Within these all processes have opened their connections."""


class Runner(Protocol):
    """Runs a pattern against a node."""

    def __call__(
        self,
        url: str,
        requests: Sequence[Request],
        pattern: Pattern,
        slice_seconds: float,
        /,
        *,
        hear: Callable[[Beat], object] = ...,
    ) -> Measured:
        """Return what was measured; `hear` is given the beats of all processes.

        Raises:
            ConnectionError: A connection was refused or lost, or the node stopped answering.
        """


def usual_processes(connections: int) -> int:
    """Return how many processes there are unless a number is given: half of the cores are the node's."""
    return max(1, min(connections, (os.cpu_count() or 1) // 2))


@contextlib.contextmanager
def runners(processes: int) -> Iterator[Runner]:
    """Return what runs patterns, in this process or in so many others."""
    if processes == 1:
        yield run_window
        return
    context = multiprocessing.get_context("spawn")
    barrier, beats = context.Barrier(processes), context.SimpleQueue()
    with ProcessPoolExecutor(processes, context, _remember, (barrier, beats)) as pool:

        def run_together(
            url: str,
            requests: Sequence[Request],
            pattern: Pattern,
            slice_seconds: float,
            /,
            *,
            hear: Callable[[Beat], object] = lambda _beat: None,
        ) -> Measured:
            shares = list(shared_out(pattern, processes))
            barrier.reset()
            started = [
                pool.submit(_run_share, url, list(requests), share, first, slice_seconds)
                for first, share in shares
            ]
            waits = True
            while waits:
                waits = bool(futures.wait(started, HEAR_SECONDS).not_done)
                while not beats.empty():
                    hear(beats.get())
            return merged([each.result() for each in started])

        yield run_together


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


_shared: tuple[Barrier, "SimpleQueue[Beat]"] | None = None


def _remember(barrier: Barrier, beats: "SimpleQueue[Beat]") -> None:
    global _shared
    _shared = barrier, beats


def _run_share(
    url: str, requests: list[Request], pattern: Pattern, first: int, slice_seconds: float
) -> Measured | str:
    """Return what this process measured, or why it could not."""
    assert _shared is not None
    barrier, beats = _shared
    try:
        return run_window(
            url,
            requests,
            pattern,
            slice_seconds,
            first=first,
            wait=lambda: barrier.wait(START_SECONDS),
            hear=beats.put,
        )
    except BrokenBarrierError:
        # Another process says why.
        return ""
    except ConnectionError as error:
        barrier.abort()
        return str(error)
