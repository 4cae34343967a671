"""An innocent client, in a process of its own, that notices what others have to wait for an attack.

Where the system allows it, it has precedence over all other processes: its own wait for a core, which nodes
and attackers keep busy, is no fault of the node. Elsewhere that wait counts.
"""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.lib.peer import Peer
from wsnode.load.latencies import percentile

PACE = 0.02
PATIENCE = 30.0
"""A reply that takes longer is an error, and counts with these seconds."""
LONGEST_BURST = 0.1
REOPENING_PAUSE = 0.1


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

    def longest(self) -> tuple[float, float]:
        """Return when the longest wait began and ended, in seconds of `time.perf_counter`.

        Raises:
            ValueError: Nothing was asked.
        """
        wait, begin = max(zip(self.waits, self.begins, strict=True))
        return begin, begin + wait

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
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    process = fork.Process(target=_probe, args=(url, theirs), daemon=True)
    process.start()
    theirs.close()
    probe = Probe()
    try:
        if not ours.poll(PATIENCE * 2) or not ours.recv():
            raise ConnectionError(f"{url} does not answer")
        yield probe
        ours.send("stop")
        # It may be waiting for a reply, and for another one on a new connection.
        if not ours.poll(PATIENCE * 2):
            raise ConnectionError(f"{url} does not answer")
        probe.waits, probe.begins, probe.errors = ours.recv()
    finally:
        process.terminate()
        process.join()


def _probe(url: str, controller: multiprocessing.connection.Connection) -> None:
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
        due = max(due + PACE, time.perf_counter() - LONGEST_BURST)
    controller.send((probe.waits, probe.begins, probe.errors))


def take_precedence() -> None:
    """Have this process run whenever it can, where the system allows that."""
    if sys.platform == "linux":
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO)))
