"""Metrics of the server and of its process in Prometheus' format, collected on request only."""

import os
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from wsnode.jsonrpc.method import BUCKET_SECONDS, DurationMeter, Method
from wsnode.jsonrpc.registry import Registry
from wsnode.server.limits import Limits
from wsnode.server.metric_definitions import definition_of
from wsnode.server.observability.families import Family, Sample
from wsnode.server.observability.open_files import most_files
from wsnode.server.shared import MetricValue, Shared

Values = TypeVar("Values", bound=tuple[str, ...])
"""Values of a metric's labels, in their order."""

START = "process_start_time_seconds"
_FAMILIES: Final = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
}
LIMITS_SHOWN = ("connections", "all_subscriptions", "output_bytes", "input_bytes", "calls", "versions")
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
    """Collector of Linux's figures of this process for `/metrics`: start time, open files, memory and CPU
    time.
    """

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
        # Opening `statm` fails once all descriptors are in use, which is when an operator needs the other
        # figures.
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


class Metrics(Collector):
    """Collector of a server's metrics, which reads the counts kept by methods and connections in any case."""

    def __init__(
        self,
        registries: Mapping[str, Registry],
        shared: Shared,
        versions: Mapping[str, Callable[[], int]],
        figures: Mapping[str, Callable[[], Sequence[MetricValue]]] | None = None,
        *,
        is_ready: Callable[[], bool] = lambda: True,
        limits: Callable[[], Limits] | None = None,
    ) -> None:
        """Make a collector; `versions` returns, by network, the number of chain versions being read.

        `figures` returns a network's own metrics; `is_ready` decides the answer of `/readyz`. `limits`
        returns the limits of the node, by default those of this process.
        """
        self._limits_in_force = limits or (lambda: shared.limits)
        self._is_ready = is_ready
        self._figures = figures or {}
        self._registries = registries
        self._versions = versions
        self._shared = shared
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        register_process(self._registry)

    def page(self) -> tuple[int, str, bytes]:
        """Return status, content type and text of the page of all metrics."""
        return 200, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(self._registry)

    def families(self) -> list[Family]:
        """Return all current metrics, except the start time of this process."""
        return [
            Family(
                metric.name,
                metric.documentation,
                metric.type,
                [Sample(sample.name, sample.labels, float(sample.value)) for sample in metric.samples],
            )
            for metric in self._registry.collect()
            if metric.name != START
        ]

    def collect(self) -> Iterable[Metric]:
        yield from self._calls()
        yield _labelled(
            "wsnode_unknown_methods_total",
            {(network,): registry.unknown_calls for network, registry in self._registries.items()},
        )
        yield _labelled(
            "wsnode_forwarded_total",
            {
                (network, outcome): count
                for network, registry in self._registries.items()
                for outcome, count in registry.forwarded.items()
            },
        )
        versions = {(network,): count() for network, count in self._versions.items()}
        yield _labelled("wsnode_open_snapshots", versions)
        yield from self._own_figures()
        yield from self._server()

    def _own_figures(self) -> Iterator[Metric]:
        families = dict[str, Any]()
        for network, figures in self._figures.items():
            for figure in figures():
                family = families.get(figure.name)
                if family is None:
                    family = families[figure.name] = _new_family(figure.name)
                labels = {"network": network, **figure.labels}
                family.add_metric([labels[name] for name in definition_of(figure.name).labels], figure.value)
        yield from families.values()

    def _methods(self) -> Iterator[tuple[str, Method]]:
        # A network and its ports share methods, so each method is counted once, for the network with which it
        # comes first.
        seen = set[Method]()
        for network, registry in self._registries.items():
            for method in registry.methods.values():
                if method not in seen:
                    seen.add(method)
                    yield network, method

    def _calls(self) -> Iterator[Metric]:
        durations, waits = _new_family("wsnode_request_seconds"), _new_family("wsnode_call_wait_seconds")
        not_begun, errors = _new_family("wsnode_calls_not_begun_total"), _new_family("wsnode_errors_total")
        for network, method in self._methods():
            labels = [network, method.name]
            for outcome, meter in (("result", method.succeeded), ("error", method.failed)):
                if any(meter.counts):
                    durations.add_metric([*labels, outcome], buckets(meter), sum_value=meter.seconds)
            if any(method.waits.counts):
                waits.add_metric(labels, buckets(method.waits), sum_value=method.waits.seconds)
                # The counter of refused calls is exported as soon as a call has waited, before any refusal,
                # so that its rate begins at 0.
                not_begun.add_metric(labels, method.waits.refused)
            for code, count in method.failures.items():
                errors.add_metric([*labels, str(code)], count)
        yield from (durations, waits, not_begun, errors)

    def _server(self) -> Iterator[Metric]:
        shared, counters = self._shared, self._shared.counters
        limits = self._limits_in_force()
        numbers = {
            "wsnode_ready": self._is_ready(),
            "wsnode_connections": counters.connections,
            "wsnode_websockets": counters.websockets,
            "wsnode_calls_in_flight": shared.executor.in_flight,
            "wsnode_calls_queued": shared.executor.workers.waiting,
            "wsnode_outbox_bytes": shared.waiting.used,
            "wsnode_unfinished_bytes": shared.received.used,
            "wsnode_received_bytes_total": counters.input_bytes,
            "wsnode_messages_total": counters.messages,
            "wsnode_http_requests_total": counters.http_requests,
            "wsnode_accepted_total": counters.accepted,
            "wsnode_accept_failures_total": counters.accept_failures,
            "wsnode_notifications_total": counters.notifications,
            "wsnode_subscriptions_lagged_total": counters.fallen_behind,
            "wsnode_fanout_queued_bytes": sum(fan_out.queued_bytes for fan_out in shared.fan_outs),
        }
        for name, number in numbers.items():
            yield _labelled(name, {(): number})
        yield _labelled("wsnode_limit", {(name,): getattr(limits, name) for name in LIMITS_SHOWN})
        yield _labelled("wsnode_subscriptions", shared.open_subscriptions)
        refusals = {(str(status),): count for status, count in counters.refusals.items()}
        yield _labelled("wsnode_http_errors_total", refusals)
        closes = {(str(code),): count for code, count in counters.closes.items()}
        yield _labelled("wsnode_websocket_closes_total", closes)


def _new_family(name: str) -> Any:
    # The return type is Any, because the metric families of prometheus_client have no common type with
    # `add_metric`.
    definition = definition_of(name)
    kind = _FAMILIES[definition.kind]
    return kind(definition.family, definition.help, labels=definition.labels)


def _labelled(name: str, samples: Mapping[Values, float]) -> Metric:
    """Return a declared metric with one number for each tuple of label values."""
    family = _new_family(name)
    for labels, value in samples.items():
        family.add_metric(labels, value)
    metric: Metric = family
    return metric


class _FamiliesCollector(Collector):
    """Collector that exports metrics received as values from other processes."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        for family in self._families:
            metric = Metric(family.name, family.meaning, family.kind)
            for sample in family.samples:
                metric.add_sample(sample.name, dict(sample.labels), sample.value)
            yield metric


def page_of(families: Iterable[Family]) -> tuple[int, str, bytes]:
    """Return status, content type and text of a page of these metrics."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_FamiliesCollector(families))
    return 200, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(registry)


def buckets(meter: DurationMeter) -> list[tuple[str, float]]:
    """Return the cumulative buckets of a histogram: upper bound as text, and number of calls up to it."""
    found, total = list[tuple[str, float]](), 0
    for bound, count in zip((*map(str, BUCKET_SECONDS), "+Inf"), meter.counts, strict=True):
        total += count
        found.append((bound, total))
    return found
