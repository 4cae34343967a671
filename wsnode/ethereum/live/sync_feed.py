"""How far a chain that follows others has come, for `eth_syncing`, `wsnode_status` and subscribers."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import msgspec

from wsnode.ethereum.live.notices import notification
from wsnode.pubsub.event import Event
from wsnode.pubsub.fan_out import FanOut
from wsnode.pubsub.group import Group

StatusReporter: TypeAlias = Callable[[], dict[str, Any]]
"""Returns the state of a service as `wsnode_status` has it."""


class SyncProgress(msgspec.Struct, frozen=True):
    """The way to the head of other nodes, in block numbers."""

    starting: int
    current: int
    highest: int

    def members(self) -> dict[str, Any]:
        """Return it in geth's form."""
        return {
            "startingBlock": hex(self.starting),
            "currentBlock": hex(self.current),
            "highestBlock": hex(self.highest),
        }


class SyncFeed:
    """Tells subscribers when the chain falls behind, and when it has caught up."""

    def __init__(self, fan_out: FanOut) -> None:
        self.group = Group(fan_out)

    def announce(self, progress: SyncProgress | None) -> None:
        """Tell that blocks are missing, or with None that none are any more (geth, eth/downloader/api.go)."""
        told: Any = False if progress is None else {"syncing": True, "status": progress.members()}
        self.group.publish(Event([notification(msgspec.json.encode(told))]), None)


class SyncReporter(Protocol):
    """What makes a chain live by other nodes."""

    @property
    def progress(self) -> SyncProgress | None:
        """Return how far the way to the others' head is gone, None at its end."""

    @property
    def peers(self) -> int:
        """Return how many nodes are followed now."""

    async def tell_status(self) -> dict[str, Any]:
        """Return the state of following, and of each node."""

    async def send(self, encoded: bytes) -> None:
        """Return once a node has taken a signed transaction.

        Raises:
            SendFailedError: None has.
        """


def with_journal(status: dict[str, Any], journal: StatusReporter | None) -> dict[str, Any]:
    """Return a node's status with that of the journal to which it publishes its chain, if it does."""
    return status if journal is None else {**status, "journal": journal()}
