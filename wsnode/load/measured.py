"""Results of runs against a node."""

from collections import Counter
from itertools import zip_longest
from typing import Final

import msgspec

from wsnode.load.histogram import Histogram
from wsnode.load.machine import CpuUsage

BUSY: Final = 0.9
"""Part of a core from which on a process of the client measures itself rather than the node."""
FULL: Final = 0.97
"""Part of all cores from which on the client's machine is exhausted."""
LATE_MS: Final = 10.0
"""Milliseconds of lateness at p99 from which on the client limits a run at a rate."""
SLICE_SECONDS: Final = 0.25
"""Seconds of a slice with results of its own, unless another length is given."""


class TimeSlice(msgspec.Struct):
    """Replies that arrived in one slice of a run's time: their latencies, and the number of errors."""

    latencies: Histogram = msgspec.field(default_factory=Histogram)
    errors: int = 0


class ProcessUsage(msgspec.Struct, frozen=True):
    """Sample of a node's processes: the cores used since the sample before, and the bytes of memory, `at`
    seconds after the beginning of the run.
    """

    at: float
    cores: float
    memory: int


class Measurement(msgspec.Struct):
    """Results of the runs against one node: latencies by method, latencies and errors by slice of time, and
    errors in all.
    """

    seconds: float = 0.0
    slice_seconds: float = SLICE_SECONDS
    latencies: dict[str, Histogram] = {}
    slices: dict[int, TimeSlice] = {}
    """Slices by their number from the beginning; a slice is `slice_seconds` long."""
    errors: Counter[str] = msgspec.field(default_factory=Counter)
    first_errors: dict[str, str] = {}
    failure: str | None = None
    """Reason why a run ended before its time, None if it did not."""
    unanswered: int = 0
    """Number of due requests without an answer in the end; only of runs at a rate."""
    busy: list[float] = []
    """Part of a core that each process of the client used, the busiest last."""
    machine: float = 0.0
    """Part of all cores of the client's machine that was in use, 0 where it is unknown."""
    lateness: Histogram = msgspec.field(default_factory=Histogram)
    """Delays from the time when a request was due until it was sent; only of runs at a rate."""

    usage: list[ProcessUsage] = []
    """Use in ascending order of time, where the node's process is known; `at` counts as the slices do."""

    @property
    def replies(self) -> int:
        return sum(map(len, self.latencies.values()))

    @property
    def rate(self) -> float:
        """Return the replies a second; NaN without time."""
        return self.replies / self.seconds if self.seconds else float("nan")

    @property
    def all_latencies(self) -> Histogram:
        together = Histogram()
        for each in self.latencies.values():
            together.merge(each)
        return together

    @property
    def is_client_the_limit(self) -> bool:
        """Return True if the node might have answered more requests of a faster client."""
        is_late = len(self.lateness) > 0 and self.lateness.percentile(0.99) > LATE_MS
        return is_late or self.machine >= FULL or any(busy >= BUSY for busy in self.busy)

    def add(self, method: str, latency: float, error: str | None, at: float = 0.0) -> None:
        """Count a reply that came `at` seconds after the beginning; `latency` is in seconds."""
        self.latencies.setdefault(method, Histogram()).add(latency)
        piece = self.slices.setdefault(int(at / self.slice_seconds), TimeSlice())
        piece.latencies.add(latency)
        if error is not None:
            piece.errors += 1
            self.errors[method] += 1
            self.first_errors.setdefault(method, error)

    def end(self, seconds: float, client: CpuUsage) -> None:
        self.seconds, self.busy, self.machine = seconds, [client.process], client.machine

    def merge(self, other: "Measurement") -> None:
        """Add the results of a process that ran at the same time."""
        self.seconds = max(self.seconds, other.seconds)
        for method, latencies in other.latencies.items():
            self.latencies.setdefault(method, Histogram()).merge(latencies)
        for number, piece in other.slices.items():
            mine = self.slices.setdefault(number, TimeSlice())
            mine.latencies.merge(piece.latencies)
            mine.errors += piece.errors
        self.errors += other.errors
        self.first_errors = {**other.first_errors, **self.first_errors}
        self.failure = self.failure or other.failure
        self.unanswered += other.unanswered
        self.busy = sorted([*self.busy, *other.busy])
        self.machine = max(self.machine, other.machine)
        self.lateness.merge(other.lateness)
        self.usage += other.usage

    def follow(self, later: "Measurement") -> None:
        """Add the results of a run that followed this one."""
        before, self.seconds = self.seconds, 0.0
        offset = round(before / self.slice_seconds)
        busiest = sorted(later.busy or self.busy, reverse=True)
        busy = [max(pair) for pair in zip_longest(sorted(self.busy, reverse=True), busiest, fillvalue=0.0)]
        usage = [msgspec.structs.replace(each, at=each.at + before) for each in later.usage]
        slices = {number + offset: piece for number, piece in later.slices.items()}
        self.merge(msgspec.structs.replace(later, slices=slices, usage=usage))
        self.seconds += before
        self.busy = sorted(busy)

    def join_slices(self) -> None:
        """Join each two slices, so that half as many hold the results of a longer run."""
        pieces, self.slices, self.slice_seconds = self.slices, {}, 2 * self.slice_seconds
        for number, piece in pieces.items():
            mine = self.slices.setdefault(number // 2, TimeSlice())
            mine.latencies.merge(piece.latencies)
            mine.errors += piece.errors

    def all_percentiles(self) -> list[float]:
        """Return p50, p90, p99 and p99.9 of all methods in milliseconds."""
        return self.all_latencies.percentiles()
