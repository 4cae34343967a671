"""When a core stood still: it did not run even a process that has precedence over all others.

On a virtual machine the host took it; on any machine the kernel may not have let go of it. A node is not to
blame for such a time, and a wait that holds one tells less of the node than another wait.
"""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection

from bench.attacked.probe import Span, take_precedence
from bench.lib.forked import forked

PACE = 0.003
LEAST = 0.002
"""A core that is later by less did not stand still, in seconds."""


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
        connections = [watchers.enter_context(forked(_watch, core)) for core in cores]
        yield stalls
        stalls.spans = _spans_of(connections)


def _spans_of(watchers: Iterable[Connection]) -> list[Span] | None:
    """Return what all cores' watchers have seen, None if one could not watch."""
    for watcher in watchers:
        watcher.send("stop")
    seen = [watcher.recv() for watcher in watchers]
    if not seen or None in seen:
        return None
    return [span for spans in seen for span in spans]


def _watch(core: int, controller: Connection) -> None:
    """Watch a core until something is received, and send the spans, None if it could not be watched."""
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
