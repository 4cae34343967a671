"""Run by several processes, each with its share of the connections and of the rate."""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent import futures
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Event
from threading import Barrier, BrokenBarrierError
from typing import NamedTuple, Protocol

import msgspec

from wsnode.load.measured import Measurement
from wsnode.load.mix.requests import Request
from wsnode.load.mix.window import LoadSettings, run_window
from wsnode.load.progress import Hear, ProgressMessage, end_by_itself

SAFE_PATH = "PYTHONSAFEPATH"
HEAR_SECONDS = 0.1
START_SECONDS = 60.0
"""Seconds within which all processes have opened their connections."""


class RunPattern(Protocol):
    """Function that sends requests to a node in a pattern of load and returns the results."""

    def __call__(
        self,
        url: str,
        requests: Sequence[Request],
        pattern: LoadSettings,
        slice_seconds: float,
        /,
        *,
        hear: Hear = ...,
    ) -> Measurement:
        """Return the results; `hear` is given the beats of all processes.

        Raises:
            ConnectionError: A connection was refused.
        """


def usual_processes(connections: int) -> int:
    """Return the default number of processes: half of the cores are left to the node."""
    return max(1, min(connections, (os.cpu_count() or 1) // 2))


@contextlib.contextmanager
def _outside_current_folder() -> Iterator[None]:
    """Keep processes that Python starts by `-c` from importing modules of the current folder."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


@contextlib.contextmanager
def runners(processes: int) -> Iterator[RunPattern]:
    """Yield a function that runs patterns in this process, or in several others."""
    if processes == 1:
        yield run_window
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(_outside_current_folder())
        context = multiprocessing.get_context("spawn")
        shared = _Shared(context.Barrier(processes), context.SimpleQueue(), context.Event())
        pool = stack.enter_context(ProcessPoolExecutor(processes, context, _remember, (shared,)))

        def run_together(
            url: str,
            requests: Sequence[Request],
            pattern: LoadSettings,
            slice_seconds: float,
            /,
            *,
            hear: Hear = end_by_itself,
        ) -> Measurement:
            shares = list(shared_out(pattern, processes))
            shared.barrier.reset()
            shared.end.clear()
            started = [
                pool.submit(_run_share, url, list(requests), share, first, slice_seconds)
                for first, share in shares
            ]
            while futures.wait(started, HEAR_SECONDS).not_done:
                shared.pass_on(hear)
            return merged([each.result() for each in started])

        yield run_together


def shared_out(pattern: LoadSettings, processes: int) -> Iterator[tuple[int, LoadSettings]]:
    """Yield the share of each process: the number of its first connection, and its pattern."""
    first = 0
    for number in range(processes):
        connections = (number + 1) * pattern.connections // processes - first
        rate = None if pattern.rate is None else pattern.rate * connections / pattern.connections
        yield first, msgspec.structs.replace(pattern, connections=connections, rate=rate)
        first += connections


def merged(parts: Sequence[Measurement | str]) -> Measurement:
    """Return the results of several processes together; a text is a process's failure.

    Raises:
        ConnectionError: A process failed.
    """
    failures = [part for part in parts if isinstance(part, str)]
    if failures:
        raise ConnectionError(max(failures, key=len))
    together = Measurement()
    for part in parts:
        if isinstance(part, Measurement):
            together.slice_seconds = part.slice_seconds
            together.merge(part)
    return together


class _Shared(NamedTuple):
    """Objects shared by all client processes of a run: a barrier, a queue of progress messages to the parent
    process, and the event that ends the run.
    """

    barrier: Barrier
    beats: "SimpleQueue[ProgressMessage]"
    end: Event
    """Event that is set once the run is to end."""

    def pass_on(self, hear: Hear) -> None:
        while not self.beats.empty():
            if hear(self.beats.get()):
                self.end.set()

    def hear(self, beat: ProgressMessage) -> bool:
        """Send a progress message to the parent process; return True if the run is to end."""
        self.beats.put(beat)
        return self.end.is_set()


_shared: _Shared | None = None


def _remember(shared: _Shared) -> None:
    global _shared
    _shared = shared
    # An interruption ends the run through the process that waits for all others, so this process ignores it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run_share(
    url: str, requests: list[Request], pattern: LoadSettings, first: int, slice_seconds: float
) -> Measurement | str:
    """Return the results of this process, or the text of its failure."""
    assert _shared is not None
    shared = _shared
    try:
        measured = run_window(
            url,
            requests,
            pattern,
            slice_seconds,
            first=first,
            wait=lambda: shared.barrier.wait(START_SECONDS),
            hear=shared.hear,
        )
    except BrokenBarrierError:
        # The process that broke the barrier returns the reason.
        return ""
    except ConnectionError as error:
        shared.barrier.abort()
        return str(error)
    if measured.failure is not None:
        # The other processes need not continue after this failure.
        shared.end.set()
    return measured
