"""Regions of a run's time."""

import os
import subprocess
import sys

import pytest

from wsnode.load.measured import Measured, Usage
from wsnode.load.mix.regions import ProcessError, Watch, family, regions_of
from wsnode.load.progress import Progress
from wsnode.load.report import regions as report
from wsnode.load.run import Hearing, slices_of


def measured() -> Measured:
    found = Measured(seconds=4.0, slice_seconds=0.5)
    for number in range(400):
        error = "-32000 no" if number >= 300 else None
        found.add("eth_chainId", 0.01 if number < 100 else 0.1, error, at=number / 100)
    found.usage = [Usage(0.5, 0.25, 1 << 20), Usage(0.9, 0.75, 3 << 20), Usage(3.5, 2.0, 2 << 20)]
    return found


def test_each_reply_is_in_one_region() -> None:
    regions = regions_of(measured(), 4)
    assert [len(region.latencies) for region in regions] == [100] * 4
    assert [region.errors for region in regions] == [0, 0, 0, 100]
    assert [region.rate for region in regions] == [100] * 4
    assert [(region.begin, region.end) for region in regions] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert regions[0].latencies.greatest == 10_000
    assert regions[1].latencies.greatest == 100_000


def test_a_region_has_the_mean_of_the_cores_and_the_most_memory() -> None:
    regions = regions_of(measured(), 4)
    assert [region.cores for region in regions] == [0.5, None, None, 2.0]
    assert [region.memory for region in regions] == [3 << 20, None, None, 2 << 20]
    lines = list(report.lines([measured()], 2))
    assert lines[2].split()[-2:] == ["50", "3.0"]
    assert list(report.lines([measured()], 0)) == []


def test_what_was_seen_after_the_end_is_in_the_last_region() -> None:
    found = measured()
    found.usage = [Usage(3.0, 1.0, 1 << 20), Usage(4.2, 2.0, 5 << 20)]
    assert [region.memory for region in regions_of(found, 2)] == [None, 5 << 20]


def test_a_run_without_beats_is_looked_at_in_its_end() -> None:
    shown = Hearing(Progress(""), lambda _line: False, Watch(os.getpid()), warm_up=0.1)
    shown.end(at=0.9)
    assert [usage.at for usage in shown.usage] == [0.9]
    shown.end(at=1.0)
    assert len(shown.usage) == 1


def test_slices_make_whole_regions() -> None:
    for seconds, most, regions in ((4.5, 120, 7), (0.3, 40, 3), (100, 120, 50)):
        slices = seconds / slices_of(seconds, most, regions)
        assert round(slices) % regions == 0
    assert slices_of(4.0, 120, 0) == 0.25


def test_a_process_is_watched_with_those_that_it_has_started() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in family(os.getpid())
        watch = Watch(os.getpid())
        assert watch.sample(now=1.0, at=0.0) is None
        usage = watch.sample(now=2.0, at=1.0)
        assert usage is not None
        assert usage.memory > 1 << 20
        child.communicate(b"\n")


def test_an_absent_process_is_named() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    with pytest.raises(ProcessError, match=f"no process {child.pid}"):
        family(child.pid)
    assert Watch(child.pid).sample(1.0, 0.0) is None
