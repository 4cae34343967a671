"""Intervals of a run's time."""

import os
import subprocess
import sys

import pytest

from wsnode.load.measured import Measurement, ProcessUsage
from wsnode.load.mix.intervals import ProcessSampler, UnknownProcessError, family, interval_results
from wsnode.load.progress import RunProgress
from wsnode.load.report import intervals as report
from wsnode.load.run import RunMonitor, slices_of


def measured() -> Measurement:
    found = Measurement(seconds=4.0, slice_seconds=0.5)
    for number in range(400):
        error = "-32000 no" if number >= 300 else None
        found.add("eth_chainId", 0.01 if number < 100 else 0.1, error, at=number / 100)
    found.usage = [
        ProcessUsage(0.5, 0.25, 1 << 20),
        ProcessUsage(0.9, 0.75, 3 << 20),
        ProcessUsage(3.5, 2.0, 2 << 20),
    ]
    return found


def test_each_reply_is_in_one_interval() -> None:
    intervals = interval_results(measured(), 4)
    assert [len(interval.latencies) for interval in intervals] == [100] * 4
    assert [interval.errors for interval in intervals] == [0, 0, 0, 100]
    assert [interval.rate for interval in intervals] == [100] * 4
    assert [(interval.begin, interval.end) for interval in intervals] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert intervals[0].latencies.greatest == 10_000
    assert intervals[1].latencies.greatest == 100_000


def test_an_interval_has_the_mean_of_the_cores_and_the_most_memory() -> None:
    intervals = interval_results(measured(), 4)
    assert [interval.cores for interval in intervals] == [0.5, None, None, 2.0]
    assert [interval.memory for interval in intervals] == [3 << 20, None, None, 2 << 20]
    lines = list(report.lines([measured()], 2))
    assert lines[2].split()[-2:] == ["50", "3.0"]
    assert list(report.lines([measured()], 0)) == []


def test_what_was_seen_after_the_end_is_in_the_last_interval() -> None:
    found = measured()
    found.usage = [ProcessUsage(3.0, 1.0, 1 << 20), ProcessUsage(4.2, 2.0, 5 << 20)]
    assert [interval.memory for interval in interval_results(found, 2)] == [None, 5 << 20]


def test_a_run_without_beats_is_looked_at_in_its_end() -> None:
    shown = RunMonitor(RunProgress(""), lambda _line: False, ProcessSampler(os.getpid()), warm_up=0.1)
    shown.end(at=0.9)
    assert [usage.at for usage in shown.usage] == [0.9]
    shown.end(at=1.0)
    assert len(shown.usage) == 1


def test_slices_make_whole_intervals() -> None:
    for seconds, most, intervals in ((4.5, 120, 7), (0.3, 40, 3), (100, 120, 50)):
        slices = seconds / slices_of(seconds, most, intervals)
        assert round(slices) % intervals == 0
    assert slices_of(4.0, 120, 0) == 0.25


def test_a_process_is_watched_with_those_that_it_has_started() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in family(os.getpid())
        watch = ProcessSampler(os.getpid())
        assert watch.sample(now=1.0, at=0.0) is None
        usage = watch.sample(now=2.0, at=1.0)
        assert usage is not None
        assert usage.memory > 1 << 20
        child.communicate(b"\n")


def test_an_absent_process_is_named() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    with pytest.raises(UnknownProcessError, match=f"no process {child.pid}"):
        family(child.pid)
    assert ProcessSampler(child.pid).sample(1.0, 0.0) is None
