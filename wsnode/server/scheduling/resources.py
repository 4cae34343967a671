"""Resources of a process that all of its clients share.

One peer may have half of a resource, and the last quarter is kept for those that have little
(`ResourceQuota`).
"""

from collections import Counter
from typing import Any, Protocol

from wsnode.jsonrpc.resource_quota import ResourceQuota
from wsnode.server.limits import Limits
from wsnode.server.scheduling.memory_quota import InputQuota, OutputQuota


class NodeTotals(Protocol):
    """Counts of all processes of a node together, kept in the scoreboard."""

    @property
    def subscriptions(self) -> int: ...

    def add_subscriptions(self, count: int) -> None:
        """Add `count` subscriptions of this process; `count` may be negative."""
        ...


class Resources:
    """Limits of a process, and the clients' use of each resource."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.connections = ResourceQuota(limits.connections)
        """Quota of clients' connections."""
        self.operators = ResourceQuota(limits.operators_connections)
        """Quota of connections on the operators' address, separate from the clients'."""
        self.subscriptions = ResourceQuota(limits.all_subscriptions)
        self.open_subscriptions = Counter[tuple[str, str]]()
        self.totals: NodeTotals | None = None
        """Counts of all processes, None if there is only one."""
        self.live_calls = ResourceQuota(limits.live_calls)
        """Quota of values of the state that subscriptions watch."""
        self.calls = ResourceQuota(limits.calls)
        """Quota of slow calls in flight."""
        self.waiting = OutputQuota(limits.output_bytes)
        """Bytes of replies that wait for their clients to read, and of partial results."""
        self.received = InputQuota(limits.input_bytes)
        """Bytes of messages and bodies that are incomplete, or belong to calls in flight."""
        self.draining = False
        """True once the server is about to stop."""

    def apply(self, limits: Limits) -> None:
        """Replace the limits in force; use beyond them stays."""
        self.limits = limits
        self.connections.limit = limits.connections
        self.operators.limit = limits.operators_connections
        self.subscriptions.limit = limits.all_subscriptions
        self.live_calls.limit = limits.live_calls
        self.calls.limit = limits.calls
        self.waiting.limit = limits.output_bytes
        self.received.limit = limits.input_bytes

    def admits_subscription(self, client: Any) -> bool:
        """Return True if `client` may open one more subscription in this process."""
        if self.totals is not None:
            # The subscriptions open in other processes reduce the limit of this process.
            elsewhere = self.totals.subscriptions - self.subscriptions.used
            self.subscriptions.limit = self.limits.all_subscriptions - elsewhere
        return self.subscriptions.admits(client)

    def take_subscription(self, client: Any, kind: tuple[str, str]) -> bool:
        """Count one more subscription of a network and kind.

        Returns False if another process took the last one since `admits_subscription`.
        """
        if self.totals is not None:
            self.totals.add_subscriptions(1)
            # Another process may have taken the last place since `admits_subscription`.
            if self.totals.subscriptions > self.limits.all_subscriptions:
                self.totals.add_subscriptions(-1)
                return False
        self.subscriptions.take(client)
        self.open_subscriptions[kind] += 1
        return True

    def give_back_subscription(self, client: Any, kind: tuple[str, str]) -> None:
        """Count one subscription of a network and kind less."""
        if self.totals is not None:
            self.totals.add_subscriptions(-1)
        self.subscriptions.give_back(client)
        self.open_subscriptions[kind] -= 1
