"""What the metrics say of the process: as the library has it, but for how open files are counted."""

import gc
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from prometheus_client import CollectorRegistry, ProcessCollector

from wsnode.server.observability import metrics
from wsnode.server.observability.metrics import NodeProcessCollector, is_counted, register_process

OTHERS = 20
"""Files that other threads of the process, and what other tests have left open, open and close meanwhile."""
MANY = 200
COUNTED = pytest.mark.skipif(not is_counted(), reason="Linux counts open files since version 6.2")
CLOSE = {
    "process_virtual_memory_bytes": 64 << 20,
    "process_resident_memory_bytes": 64 << 20,
    "process_start_time_seconds": 2,
    "process_cpu_seconds_total": 1,
    "process_open_fds": OTHERS,
    "process_max_fds": 0,
}
"""How far each figure may be from the library's, which is read a moment later, with a folder open."""


def figures(registry: CollectorRegistry) -> dict[str, float]:
    samples = (sample for metric in registry.collect() for sample in metric.samples)
    return {sample.name: sample.value for sample in samples if not sample.name.endswith("_created")}


@COUNTED
def test_the_figures_are_those_of_the_library() -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    register_process(ours)
    ProcessCollector(registry=theirs)
    found, expected = figures(ours), figures(theirs)
    assert found.keys() == expected.keys() == CLOSE.keys()
    assert {name for name in found if abs(found[name] - expected[name]) > CLOSE[name]} == set()


@COUNTED
def test_each_open_file_counts() -> None:
    gc.collect()
    registry = CollectorRegistry()
    registry.register(NodeProcessCollector())
    before = figures(registry)["process_open_fds"]
    with many_open(MANY):
        assert figures(registry)["process_open_fds"] == pytest.approx(before + MANY, abs=OTHERS)
    assert figures(registry)["process_open_fds"] == pytest.approx(before, abs=OTHERS)


@COUNTED
def test_files_are_counted_when_no_more_can_be_opened() -> None:
    registry = CollectorRegistry()
    registry.register(NodeProcessCollector())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with many_open(1) as (last,):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (last, hard))
            found = figures(registry)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found["process_open_fds"] > 3
    assert found["process_max_fds"] == last
    assert "process_resident_memory_bytes" not in found


def test_where_the_system_does_not_count_them_the_library_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "is_counted", lambda: False)
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    register_process(ours)
    ProcessCollector(registry=theirs)
    assert figures(ours).keys() == figures(theirs).keys()


@contextmanager
def many_open(count: int) -> Iterator[list[int]]:
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(count)]
    try:
        yield opened
    finally:
        for descriptor in opened:
            os.close(descriptor)
