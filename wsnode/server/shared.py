"""State that all connections of a server share."""

from collections import Counter
from collections.abc import Mapping
from typing import Protocol

import msgspec

from wsnode.jsonrpc.client_quota import ClientQuota
from wsnode.pubsub.fan_out import FanOut
from wsnode.server.limits import Limits
from wsnode.server.scheduling.executor import TaskExecutor
from wsnode.server.scheduling.gc_policy import GcPolicy
from wsnode.server.scheduling.memory_quota import InputQuota, MemoryQuota
from wsnode.server.scheduling.response_memory import ResponseMemory


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
        self.subscriptions = Counter[tuple[str, str]]()
        """Open subscriptions, by network and kind."""
        self.notifications = self.fallen_behind = 0
        """Events for which a subscription had no room; `notifications` counts those sent."""
        self.closes = Counter[int]()
        """Ended WebSocket connections by close code, received or sent; 1006 without a close."""


class MessageReceiver(Protocol):
    """Connection on which messages arrive."""

    def abort_message(self) -> None:
        """Close the connection, because a message takes too long to arrive."""
        ...


class NodeTotals(Protocol):
    """Counts of all processes of a node together."""

    @property
    def subscriptions(self) -> int:
        """Return the number of open subscriptions of all processes."""
        ...

    def add_subscriptions(self, count: int) -> None:
        """Add `count` subscriptions of this process; `count` may be negative."""
        ...


class Shared:
    """Limits, and their use by all connections together."""

    def __init__(self, limits: Limits, *, closes_slow: bool = False) -> None:
        self.limits = limits
        self.closes_slow = closes_slow
        """True if a client that falls behind with a subscription is closed; otherwise it catches up."""
        self.counters = Counters()
        self.connections = ClientQuota(limits.connections)
        """Quota of clients' connections."""
        self.totals: NodeTotals | None = None
        """Counts of all processes, None if there is only one."""
        self.operators = ClientQuota(limits.operators_connections)
        """Quota of connections on the operators' address, separate from the clients'."""
        self.subscriptions = ClientQuota(limits.all_subscriptions)
        self.live_calls = ClientQuota(limits.live_calls)
        """Quota of values of the state that subscriptions watch."""
        self.fan_outs: list[FanOut] = []
        """Fan-out of each network with subscriptions."""
        self.policy = GcPolicy()
        self.draining = False
        """True once the server is about to stop."""
        self.waiting = MemoryQuota(limits.output_bytes)
        """Bytes of replies that wait for their clients to read, and of results in the making."""
        self.response_memory = ResponseMemory(self.waiting)
        self.executor = TaskExecutor(limits, self.response_memory)
        self.received = InputQuota(limits.input_bytes)
        """Bytes of messages and bodies that are incomplete, or belong to calls in flight."""
        self.unfinished: dict[MessageReceiver, float] = {}
        """Time at which each connection's incomplete message began; the oldest comes first."""

    def apply(self, limits: Limits) -> None:
        """Replace the limits in force."""
        self.limits = limits
        self.executor.apply(limits)
        self.connections.limit = limits.connections
        self.operators.limit = limits.operators_connections
        self.subscriptions.limit = limits.all_subscriptions
        self.live_calls.limit = limits.live_calls
        self.waiting.limit = limits.output_bytes
        self.received.limit = limits.input_bytes
