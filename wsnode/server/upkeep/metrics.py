"""The server's counters in Prometheus' format, collected on request only."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from wsnode.jsonrpc.method import BOUNDS, Meter, Method
from wsnode.jsonrpc.registry import Registry
from wsnode.server.limits import Limits
from wsnode.server.shared import Figure, Shared
from wsnode.server.upkeep.families import Family, Sample
from wsnode.server.upkeep.process import register_process

START = "process_start_time_seconds"
BOUNDS_SHOWN = ("connections", "all_subscriptions", "waiting_bytes", "received_bytes", "calls", "versions")


class Metrics(Collector):
    """Reads the counters that the methods and connections keep anyway."""

    def __init__(
        self,
        registries: Mapping[str, Registry],
        shared: Shared,
        versions: Mapping[str, Callable[[], int]],
        figures: Mapping[str, Callable[[], Sequence[Figure]]] | None = None,
        *,
        is_ready: Callable[[], bool] = lambda: True,
        limits: Callable[[], Limits] | None = None,
    ) -> None:
        """`versions` says of each network how many versions of its chain are being read.

        `figures` are what a network has of its own; `is_ready` is what `/readyz` says. `limits` are
        those of the node, of this process if None.
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
        """Return the page of all metrics."""
        return 200, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(self._registry)

    def families(self) -> list[Family]:
        """Return every metric as it stands, as values, but for the time at which this process began."""
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
        """Yield every metric as it stands."""
        yield self._durations()
        yield self._errors()
        unknown = CounterMetricFamily(
            "wsnode_unknown_methods", "Calls of unknown methods", labels=["network"]
        )
        for network, registry in self._registries.items():
            unknown.add_metric([network], registry.unknown_calls)
        yield unknown
        yield self._forwarded()
        versions = GaugeMetricFamily(
            "wsnode_versions", "Versions of a chain that are being read", labels=["network"]
        )
        for network, count in self._versions.items():
            versions.add_metric([network], count())
        yield versions
        yield from self._own_figures()
        yield from self._server()

    def _own_figures(self) -> Iterator[Metric]:
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for network, figures in self._figures.items():
            for figure in figures():
                kind = CounterMetricFamily if figure.is_counter else GaugeMetricFamily
                family = families.get(figure.name)
                if family is None:
                    family = kind(figure.name, figure.meaning, labels=["network", *figure.labels])
                    families[figure.name] = family
                family.add_metric([network, *figure.labels.values()], figure.value)
        yield from families.values()

    def _methods(self) -> Iterator[tuple[str, Method]]:
        # What a network and its ports share is counted once, wherever it was called.
        seen = set[Method]()
        for network, registry in self._registries.items():
            for method in registry.methods.values():
                if method not in seen:
                    seen.add(method)
                    yield network, method

    def _durations(self) -> Metric:
        labels = ["network", "method", "outcome"]
        family = HistogramMetricFamily("wsnode_request_seconds", "Time to the reply of a call", labels=labels)
        for network, method in self._methods():
            for outcome, meter in (("result", method.succeeded), ("error", method.failed)):
                if any(meter.counts):
                    family.add_metric(
                        [network, method.name, outcome], buckets(meter), sum_value=meter.seconds
                    )
        return family

    def _errors(self) -> Metric:
        labels = ["network", "method", "code"]
        family = CounterMetricFamily("wsnode_errors", "Calls that were answered with an error", labels=labels)
        for network, method in self._methods():
            for code, count in method.failures.items():
                family.add_metric([network, method.name, str(code)], count)
        return family

    def _forwarded(self) -> Metric:
        family = CounterMetricFamily(
            "wsnode_forwarded", "Calls that a partner was asked about", labels=["network", "outcome"]
        )
        for network, registry in self._registries.items():
            for outcome, count in registry.forwarded.items():
                family.add_metric([network, outcome], count)
        return family

    def _server(self) -> Iterator[Metric]:
        shared, counters = self._shared, self._shared.counters
        yield GaugeMetricFamily("wsnode_connections", "Open connections", value=counters.connections)
        yield GaugeMetricFamily("wsnode_websockets", "Of these, WebSockets", value=counters.websockets)
        yield GaugeMetricFamily("wsnode_calls_in_flight", "Slow calls that run", value=shared.lane.in_flight)
        threads = shared.lane.workers.waiting
        yield GaugeMetricFamily("wsnode_calls_queued", "Calls that wait for a thread", value=threads)
        waiting = shared.waiting.used
        yield GaugeMetricFamily("wsnode_outbox_bytes", "Replies that wait to be read", value=waiting)
        received = shared.received.used
        yield GaugeMetricFamily("wsnode_unfinished_bytes", "Messages that came in part", value=received)
        yield CounterMetricFamily(
            "wsnode_received_bytes", "Bytes of WebSocket", value=counters.received_bytes
        )
        yield CounterMetricFamily("wsnode_messages", "WebSocket messages received", value=counters.messages)
        yield CounterMetricFamily("wsnode_http_requests", "HTTP requests", value=counters.http_requests)
        yield CounterMetricFamily("wsnode_accepted", "Connections accepted", value=counters.accepted)
        yield from self._limits()
        yield from self._subscriptions()
        refusals = CounterMetricFamily(
            "wsnode_refusals", "Requests refused by HTTP status", labels=["status"]
        )
        for status, count in counters.refusals.items():
            refusals.add_metric([str(status)], count)
        yield refusals
        closes = CounterMetricFamily("wsnode_closes", "WebSockets closed by the code said", labels=["code"])
        for code, count in counters.closes.items():
            closes.add_metric([str(code)], count)
        yield closes

    def _limits(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("wsnode_ready", "Whether /readyz says so", value=self._is_ready())
        family = GaugeMetricFamily("wsnode_limit", "Bounds in force", labels=["limit"])
        limits = self._limits_in_force()
        for name in BOUNDS_SHOWN:
            family.add_metric([name], getattr(limits, name))
        yield family

    def _subscriptions(self) -> Iterator[Metric]:
        counters = self._shared.counters
        labels = ["network", "kind"]
        family = GaugeMetricFamily("wsnode_subscriptions", "Open subscriptions", labels=labels)
        for place, count in counters.subscriptions.items():
            family.add_metric(place, count)
        yield family
        sent = counters.notifications
        yield CounterMetricFamily("wsnode_notifications", "Notifications sent", value=sent)
        behind = counters.fallen_behind
        yield CounterMetricFamily("wsnode_fallen_behind", "Subscriptions without room for more", value=behind)
        queued = sum(fan_out.queued_bytes for fan_out in self._shared.fan_outs)
        yield GaugeMetricFamily("wsnode_events_bytes", "Events not sent to all subscribers yet", value=queued)


class _Told(Collector):
    """Metrics that were sent as values."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """Yield them."""
        for family in self._families:
            metric = Metric(family.name, family.meaning, family.kind)
            for sample in family.samples:
                metric.add_sample(sample.name, dict(sample.labels), sample.value)
            yield metric


def page_of(families: Iterable[Family]) -> tuple[int, str, bytes]:
    """Return the page of these metrics."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Told(families))
    return 200, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(registry)


def buckets(meter: Meter) -> list[tuple[str, float]]:
    """Return the cumulative buckets of a histogram."""
    found, total = list[tuple[str, float]](), 0
    for bound, count in zip((*map(str, BOUNDS), "+Inf"), meter.counts, strict=True):
        total += count
        found.append((bound, total))
    return found
