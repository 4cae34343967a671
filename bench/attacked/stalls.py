"""When a core stood still: it did not run even a process that has precedence over all others.

On a virtual machine the host took it; on any machine the kernel may not have let go of it. A node is not to
blame for such a time, and a wait that holds one tells less of the node than another wait.
"""

import multiprocessing
import multiprocessing.connection
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from bench.lib.probe import take_precedence

PACE = 0.003
LEAST = 0.002
"""A core that is later by less did not stand still, in seconds."""


class Span(NamedTuple):
    """A time, in seconds of `time.perf_counter`, which all processes of Linux share."""

    begin: float
    end: float


class Stalls:
    """When cores stood still; unknown where nothing can have precedence."""

    def __init__(self) -> None:
        self.spans: list[Span] | None = None

    def within(self, span: Span) -> float:
        """Return for how many seconds of a time some core stood still, nan where that is unknown."""
        return float("nan") if self.spans is None else covered(span, self.spans)


def covered(span: Span, parts: Iterable[Span]) -> float:
    """Return the seconds of a time in which at least one of `parts` was."""
    seconds, reached = 0.0, span.begin
    for part in sorted(parts):
        end = min(part.end, span.end)
        seconds += max(0.0, end - max(part.begin, reached))
        reached = max(reached, end)
    return seconds


@contextmanager
def watching_cores() -> Iterator[Stalls]:
    """Watch each core from a process of its own; what is yielded is filled at the end."""
    stalls = Stalls()
    with ExitStack() as watchers:
        cores = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []
        connections = [watchers.enter_context(_watched(core)) for core in cores]
        yield stalls
        stalls.spans = _spans_of(connections)


@contextmanager
def _watched(core: int) -> Iterator[multiprocessing.connection.Connection]:
    """Watch a core; what is yielded answers anything that is sent with the spans, None if it could not."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    process = fork.Process(target=_watch, args=(core, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.terminate()
        process.join()


def _spans_of(watchers: list[multiprocessing.connection.Connection]) -> list[Span] | None:
    """Return what all cores' watchers have seen, None if one could not watch."""
    for watcher in watchers:
        watcher.send("stop")
    seen = [watcher.recv() for watcher in watchers]
    if not seen or None in seen:
        return None
    return [span for spans in seen for span in spans]


def _watch(core: int, controller: multiprocessing.connection.Connection) -> None:
    os.sched_setaffinity(0, {core})
    take_precedence()
    spans = list[Span]()
    while not controller.poll(0):
        due = time.perf_counter() + PACE
        time.sleep(PACE)
        now = time.perf_counter()
        if now - due > LEAST:
            spans.append(Span(due, now))
    controller.send(spans if os.sched_getscheduler(0) == os.SCHED_FIFO else None)
