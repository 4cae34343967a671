"""How far a chain that follows others has come, as `eth_syncing` and the subscription `syncing` tell it."""

from typing import Any

import msgspec

from wsnode.ethereum.live.notices import notification
from wsnode.pubsub.event import Event
from wsnode.pubsub.fan_out import FanOut
from wsnode.pubsub.group import Group


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
