"""An innocent client, in a process of its own, that notices what others have to wait for an attack.

Where the system allows it, it has precedence over all other processes: its own wait for a core, which nodes
and attackers keep busy, is no fault of the node. Elsewhere that wait counts.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import NamedTuple

from bench.lib.forked import forked
from bench.lib.peer import Peer
from wsnode.load.histogram import percentile

PACE = 0.02
PATIENCE = 30.0
"""A reply that takes longer is an error, and counts with these seconds."""
MAX_BURST = 0.1
REOPENING_PAUSE = 0.1


class Span(NamedTuple):
    """A time, in seconds of `time.perf_counter`, which all processes of Linux share."""

    begin: float
    end: float


class Probe:
    """How long its replies took and when they were due, in seconds, and how many were errors or none."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.begins: list[float] = []
        self.errors = 0
        self._peer: Peer | None = None

    def percentile(self, part: float) -> float:
        """Return a percentile in milliseconds, nan if nothing was asked."""
        return percentile(sorted(self.waits), part) if self.waits else float("nan")

    def longest(self) -> Span:
        """Return when the longest wait was.

        Raises:
            ValueError: Nothing was asked.
        """
        wait, begin = max(zip(self.waits, self.begins, strict=True))
        return Span(begin, begin + wait)

    def ask(self, url: str, due: float) -> None:
        """Ask once; the wait counts from when it was due."""
        try:
            self._peer = self._peer or Peer(url)
            self._peer.ask(1, "eth_chainId")
            replies = self._peer.replies(PATIENCE)
        except OSError:
            replies = []
        self.waits.append(time.perf_counter() - due)
        self.begins.append(due)
        if not replies:
            self._leave()
        if not replies or "error" in replies[0]:
            self.errors += 1

    def _leave(self) -> None:
        """Have the next request open a new connection."""
        if self._peer:
            self._peer.close()
            self._peer = None
        time.sleep(REOPENING_PAUSE)


@contextmanager
def probing(url: str) -> Iterator[Probe]:
    """Ask for the chain's id every 20 ms all the while; what is yielded is filled at the end.

    Raises:
        ConnectionError: The node does not answer at the beginning.
    """
    probe = Probe()
    with forked(_probe, url) as process:
        if not process.poll(PATIENCE * 2) or not process.recv():
            raise ConnectionError(f"{url} does not answer")
        yield probe
        process.send("stop")
        # It may be waiting for a reply, and for another one on a new connection.
        if not process.poll(PATIENCE * 2):
            raise ConnectionError(f"{url} does not answer")
        probe.waits, probe.begins, probe.errors = process.recv()


def _probe(url: str, controller: Connection) -> None:
    take_precedence()
    probe = Probe()
    probe.ask(url, time.perf_counter())
    controller.send(not probe.errors)
    probe.waits.clear()
    probe.begins.clear()
    due = time.perf_counter()
    while not controller.poll(max(0.0, due - time.perf_counter())):
        probe.ask(url, due)
        # What a late reply delays counts too, as it would for a client that cannot wait.
        due = max(due + PACE, time.perf_counter() - MAX_BURST)
    controller.send((probe.waits, probe.begins, probe.errors))


def take_precedence() -> None:
    """Have this process run whenever it can, where the system allows that."""
    if sys.platform == "linux":
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO)))
