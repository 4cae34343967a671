"""The state that all connections of a server share."""

from collections import Counter
from collections.abc import Mapping
from typing import Protocol

import msgspec

from wsnode.jsonrpc.share import Share
from wsnode.pubsub.fan_out import FanOut
from wsnode.server.limits import Limits
from wsnode.server.turns.budget import Budget, Held
from wsnode.server.turns.busy_poll import Dialogue
from wsnode.server.turns.collector import Shelter
from wsnode.server.turns.making import Making
from wsnode.server.turns.slow_lane import SlowLane


class Figure(msgspec.Struct, frozen=True):
    """A number for `/metrics` that a network has besides those of every network."""

    name: str
    meaning: str
    value: float
    labels: Mapping[str, str] = {}
    is_counter: bool = False


class Counters:
    """Counters since the start of the server."""

    def __init__(self) -> None:
        self.connections = self.websockets = self.accepted = 0
        self.received_bytes = self.messages = self.http_requests = 0
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


class MessageReader(Protocol):
    """A connection on which messages arrive."""

    def give_up_message(self) -> None:
        """Close, because a message has taken too long to arrive."""
        ...


class Totals(Protocol):
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

    def __init__(self, limits: Limits, *, closes_slow: bool = False, has_core: bool = True) -> None:
        """`has_core`: whether the process has a core to itself."""
        self.limits = limits
        self.closes_slow = closes_slow
        """Whether a client that falls behind with a subscription is closed; otherwise it catches up."""
        self.counters = Counters()
        self.connections = Share(limits.connections)
        """Connections of clients."""
        self.totals: Totals | None = None
        """Subscriptions of all processes, if there are several."""
        self.operators = Share(limits.operators_connections)
        """Connections on the operators' address, which take no client's place."""
        self.subscriptions = Share(limits.all_subscriptions)
        self.fan_outs: list[FanOut] = []
        """The fan-out of each network with subscriptions."""
        self.shelter = Shelter()
        self.draining = False
        """Whether the server is about to stop."""
        self.waiting = Budget(limits.waiting_bytes)
        """Replies that wait for their clients to read, and what calls hold of theirs."""
        self.making = Making(self.waiting)
        self.lane = SlowLane(limits, self.making)
        self.dialogue = Dialogue(self.lane, has_core=has_core)
        self.received = Held(limits.received_bytes)
        """Messages and bodies that have arrived in part, and those of calls in flight."""
        self.unfinished: dict[MessageReader, float] = {}
        """The start of each connection's unfinished message; the oldest comes first."""

    def apply(self, limits: Limits) -> None:
        """Let other limits be in force."""
        self.limits = limits
        self.lane.apply(limits)
        self.connections.limit = limits.connections
        self.operators.limit = limits.operators_connections
        self.subscriptions.limit = limits.all_subscriptions
        self.waiting.limit = limits.waiting_bytes
        self.received.limit = limits.received_bytes
