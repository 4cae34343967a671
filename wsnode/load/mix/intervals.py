"""Results of a run by intervals of its time, with the memory and the cores of the node's processes."""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from wsnode.load.histogram import Histogram
from wsnode.load.machine import children_of, cpu_seconds, resident_bytes
from wsnode.load.measured import Measurement, ProcessUsage


class UnknownProcessError(OSError):
    """Error of a process id that does not exist, or is not visible in /proc."""

    def __init__(self, process: int) -> None:
        super().__init__(f"there is no process {process}, or /proc does not show it")
        self.process = process


class ProcessSampler:
    """Sampler of a process and its descendants: each sample has their memory, and the cores that they used
    since the sample before.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._before: tuple[float, float] | None = None

    def sample(self, now: float, at: float) -> ProcessUsage | None:
        """Return the memory, and the cores used since the last sample.

        Return None for the first sample, and once the process has ended.
        """
        try:
            processes = family(self._process)
            used, memory = sum(map(cpu_seconds, processes)), sum(map(resident_bytes, processes))
        except OSError:
            return None
        before, self._before = self._before, (now, used)
        if before is None or now <= before[0]:
            return None
        return ProcessUsage(at, max(0.0, used - before[1]) / (now - before[0]), memory)


def family(process: int) -> list[int]:
    """Return the ids of a process and of its running descendants.

    Raises:
        UnknownProcessError: There is no such process.
    """
    try:
        children = children_of(process)
    except OSError:
        raise UnknownProcessError(process) from None
    found = [process]
    for child in children:
        # The child may have ended since.
        with suppress(UnknownProcessError):
            found += family(child)
    return found


class IntervalResult(msgspec.Struct, frozen=True):
    """Results of one interval of a run, from `begin` to `end` in seconds since the run began. `cores` and
    `memory` (bytes) of the node are None if its process is unknown.
    """

    begin: float
    end: float
    latencies: Histogram
    errors: int
    cores: float | None
    memory: int | None
    """Largest memory of the interval in bytes."""

    @property
    def rate(self) -> float:
        """Return the replies a second; NaN without time."""
        return len(self.latencies) / (self.end - self.begin) if self.end > self.begin else float("nan")


def interval_results(measured: Measurement, count: int) -> list[IntervalResult]:
    """Return the results of a run in `count` equal parts of its time."""
    return list(_intervals(measured, measured.seconds / count, count))


def _intervals(measured: Measurement, width: float, count: int) -> Iterator[IntervalResult]:
    for number in range(count):
        begin, end, latencies, errors = number * width, (number + 1) * width, Histogram(), 0
        for place, piece in measured.slices.items():
            if min(count - 1, int((place + 0.5) * measured.slice_seconds / width)) == number:
                latencies.merge(piece.latencies)
                errors += piece.errors
        # On a busy machine the last sample is taken after the end, so the last interval includes it.
        last = math.inf if number == count - 1 else end
        usage = [each for each in measured.usage if begin <= each.at < last]
        yield IntervalResult(
            begin, end, latencies, errors, _mean(usage), max((u.memory for u in usage), default=None)
        )


def _mean(usage: Sequence[ProcessUsage]) -> float | None:
    return sum(each.cores for each in usage) / len(usage) if usage else None
