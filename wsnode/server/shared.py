"""What every connection of a server draws on."""

from wsnode.server.budget import Budget
from wsnode.server.calls import SlowLane
from wsnode.server.limits import Limits


class Shared:
    """The limits, and what is left of them for all connections together."""

    __slots__ = ("lane", "limits", "received", "waiting")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.lane = SlowLane(limits)
        self.waiting = Budget(limits.waiting_bytes)
        """Replies that wait for their clients to read."""
        self.received = Budget(limits.received_bytes)
        """Messages and bodies that have arrived in part."""
