"""Progress of a chain that follows others, for `eth_syncing`, `wsnode_status` and subscribers."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import msgspec

from wsnode.ethereum.live.notices import notification
from wsnode.pubsub.fan_out import FanOut, Group
from wsnode.pubsub.subscription import Event

StatusReporter: TypeAlias = Callable[[], dict[str, Any]]
"""Function that returns the state of a service, as shown by `wsnode_status`."""


class SyncProgress(msgspec.Struct, frozen=True):
    """Progress towards the head of other nodes, in block numbers."""

    starting: int
    current: int
    highest: int

    def members(self) -> dict[str, Any]:
        """Return the progress in geth's form."""
        return {
            "startingBlock": hex(self.starting),
            "currentBlock": hex(self.current),
            "highestBlock": hex(self.highest),
        }


class SyncFeed:
    """Publisher of `syncing`: when the chain falls behind, and when it has caught up."""

    def __init__(self, fan_out: FanOut) -> None:
        self.group = Group(fan_out)

    def announce(self, progress: SyncProgress | None) -> None:
        """Publish the progress while blocks are missing, or `false` for None (geth eth/downloader/api.go)."""
        told: Any = False if progress is None else {"syncing": True, "status": progress.members()}
        self.group.publish(Event([notification(msgspec.json.encode(told))]), None)


class SyncReporter(Protocol):
    """Service that follows other nodes to keep this chain at their head, as eth_syncing and related methods
    read it.
    """

    @property
    def progress(self) -> SyncProgress | None:
        """Return the progress towards the other nodes' head, None while this node is at that head."""

    @property
    def peers(self) -> int:
        """Return the number of nodes that are followed now."""

    async def tell_status(self) -> dict[str, Any]:
        """Return the state of following, and of each node."""

    async def send(self, encoded: bytes) -> None:
        """Send a signed transaction, and return once a node has accepted it.

        Raises:
            SendFailedError: No node has accepted it.
        """


def with_starknet(status: dict[str, Any], starknet: dict[str, Any]) -> dict[str, Any]:
    """Return a node's status with that of its Starknet chain; `trust` names what is trusted for each."""
    trusts = {"Ethereum": status.get("trust"), "Starknet": starknet.get("trust")}
    trust = ". ".join(f"{chain}: {text}" for chain, text in trusts.items() if text)
    return {**status, **({"trust": trust} if trust else {}), "starknet": starknet}


def with_journal(status: dict[str, Any], journal: StatusReporter | None) -> dict[str, Any]:
    """Return a node's status with that of its journal, if it publishes its chain to one."""
    return status if journal is None else {**status, "journal": journal()}
