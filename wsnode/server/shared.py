"""The state that all connections of a server share."""

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
    """A number for `/metrics` that a network has besides those of every network."""

    name: str
    """One of `METRICS`."""
    value: float
    labels: Mapping[str, str] = {}
    """Besides that of the network."""


class Counters:
    """Counters since the start of the server."""

    def __init__(self) -> None:
        self.connections = self.websockets = self.accepted = 0
        self.accept_failures = 0
        """How often a connection could not be accepted, or was lost on its way to this process."""
        self.input_bytes = self.messages = self.http_requests = 0
        self.http_serving = 0
        """HTTP connections that do not wait for a request."""
        self.refusals = Counter[int]()
        """HTTP answers that refused, by status."""
        self.subscriptions = Counter[tuple[str, str]]()
        """Subscriptions that are open, by network and kind."""
        self.notifications = self.fallen_behind = 0
        """Notifications sent, and how often a subscription could not be sent more."""
        self.closes = Counter[int]()
        """WebSocket connections that ended, by the close code that was heard or said; 1006 without one."""


class MessageReceiver(Protocol):
    """A connection on which messages arrive."""

    def abort_message(self) -> None:
        """Close, because a message has taken too long to arrive."""
        ...


class NodeTotals(Protocol):
    """What all processes of a node have open together."""

    @property
    def subscriptions(self) -> int:
        """Return how many subscriptions they have."""
        ...

    def add_subscriptions(self, count: int) -> None:
        """Count more subscriptions of this process, or fewer."""
        ...


class Shared:
    """The limits, and their use by all connections together."""

    def __init__(self, limits: Limits, *, closes_slow: bool = False) -> None:
        self.limits = limits
        self.closes_slow = closes_slow
        """Whether a client that falls behind with a subscription is closed; otherwise it catches up."""
        self.counters = Counters()
        self.connections = ClientQuota(limits.connections)
        """Connections of clients."""
        self.totals: NodeTotals | None = None
        """Subscriptions of all processes, if there are several."""
        self.operators = ClientQuota(limits.operators_connections)
        """Connections on the operators' address, which take no client's place."""
        self.subscriptions = ClientQuota(limits.all_subscriptions)
        self.live_calls = ClientQuota(limits.live_calls)
        """Values of the state that subscriptions watch."""
        self.fan_outs: list[FanOut] = []
        """The fan-out of each network with subscriptions."""
        self.policy = GcPolicy()
        self.draining = False
        """Whether the server is about to stop."""
        self.waiting = MemoryQuota(limits.output_bytes)
        """Replies that wait for their clients to read, and what calls hold of theirs."""
        self.response_memory = ResponseMemory(self.waiting)
        self.executor = TaskExecutor(limits, self.response_memory)
        self.received = InputQuota(limits.input_bytes)
        """Messages and bodies that have arrived in part, and those of calls in flight."""
        self.unfinished: dict[MessageReceiver, float] = {}
        """The start of each connection's unfinished message; the oldest comes first."""

    def apply(self, limits: Limits) -> None:
        """Let other limits be in force."""
        self.limits = limits
        self.executor.apply(limits)
        self.connections.limit = limits.connections
        self.operators.limit = limits.operators_connections
        self.subscriptions.limit = limits.all_subscriptions
        self.live_calls.limit = limits.live_calls
        self.waiting.limit = limits.output_bytes
        self.received.limit = limits.input_bytes
