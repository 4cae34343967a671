"""Metrics of the process itself, under Prometheus' usual names."""

import os
import resource
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from wsnode.server.observability.open_files import most_files

OWN: Final = Path("/proc/self")
FILES: Final = OWN / "fd"
PAGE: Final = resource.getpagesize()


def register_process(registry: CollectorRegistry) -> None:
    """Add memory, CPU time, open files and start time of this process.

    prometheus_client lists the open files to count them: with 18,000 connections another client waited up to
    93 ms, and 41 ms without the listing (bench.hostile). Linux reports the number itself since version 6.2;
    elsewhere the library counts.
    """
    if is_counted():
        registry.register(NodeProcessCollector())
    else:
        ProcessCollector(registry=registry)


def is_counted() -> bool:
    """Return True if the system reports the number of open files without listing them (proc_pid_fd(5))."""
    try:
        return FILES.stat().st_size > 0
    except OSError:
        return False


class NodeProcessCollector(Collector):
    """Collector of Linux's figures of this process."""

    def __init__(self) -> None:
        ticks = int((OWN / "stat").read_text().rpartition(")")[2].split()[19])
        since = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        self._start = time.time() - since

    def collect(self) -> Iterable[Metric]:
        """Yield all current metrics: bytes, seconds, Unix time and numbers of files."""
        figures = [
            ("start_time_seconds", "Start time of the process since unix epoch in seconds.", self._start),
            ("open_fds", "Number of open file descriptors.", FILES.stat().st_size),
            ("max_fds", "Maximum number of open file descriptors.", most_files()),
        ]
        # No file can be opened once all are, which is when these figures are looked at.
        with suppress(OSError):
            size, resident = map(int, (OWN / "statm").read_text().split()[:2])
            figures += [
                ("virtual_memory_bytes", "Virtual memory size in bytes.", size * PAGE),
                ("resident_memory_bytes", "Resident memory size in bytes.", resident * PAGE),
            ]
        for name, meaning, value in figures:
            yield GaugeMetricFamily(f"process_{name}", meaning, value=value)
        yield CounterMetricFamily(
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds.",
            value=time.process_time(),
        )
