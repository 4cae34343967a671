"""State that all connections of a server share."""

from collections import Counter
from collections.abc import Mapping
from typing import Protocol

import msgspec

from wsnode.pubsub.fan_out import FanOut
from wsnode.server.limits import Limits
from wsnode.server.scheduling.executor import TaskExecutor
from wsnode.server.scheduling.gc_policy import GcPolicy
from wsnode.server.scheduling.resources import Resources


class MetricValue(msgspec.Struct, frozen=True):
    """Number for `/metrics` from one network."""

    name: str
    """Name in `METRICS`."""
    value: float
    labels: Mapping[str, str] = {}
    """Labels besides `network`."""


class Counters:
    """Counters since the start of the server."""

    def __init__(self) -> None:
        self.connections = self.websockets = self.accepted = 0
        self.accept_failures = 0
        """Connections that could not be accepted, or were lost on the way to this process."""
        self.input_bytes = self.messages = self.http_requests = 0
        self.http_serving = 0
        """HTTP connections with a request in progress."""
        self.refusals = Counter[int]()
        """Refusals by HTTP, by status."""
        self.notifications = self.fallen_behind = 0
        """Events for which a subscription had no room; `notifications` counts those sent."""
        self.closes = Counter[int]()
        """Ended WebSocket connections by close code, received or sent; 1006 without a close."""


class MessageReceiver(Protocol):
    """Connection of which part of a message has arrived; the server calls `abort_message` if the rest is
    late.
    """

    def abort_message(self) -> None:
        """Close the connection, because a message takes too long to arrive."""
        ...


class Shared(Resources):
    """State that all connections of a server share: its resources, counters and executor."""

    def __init__(self, limits: Limits, *, closes_slow: bool = False) -> None:
        super().__init__(limits)
        self.closes_slow = closes_slow
        """True if a client that falls behind with a subscription is closed; otherwise it catches up."""
        self.counters = Counters()
        self.fan_outs: list[FanOut] = []
        """Fan-out of each network with subscriptions."""
        self.policy = GcPolicy()
        self.executor = TaskExecutor(self)
        self.unfinished: dict[MessageReceiver, float] = {}
        """Time at which each connection's incomplete message began; the oldest comes first."""

    def apply(self, limits: Limits) -> None:
        super().apply(limits)
        self.executor.resize(limits.threads)
