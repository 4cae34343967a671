"""A server over a growing chain on memory streams, and clients that rebuild the chain from its events."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from tests.ethereum.live.growing import GrowingChain
from tests.live_client import Client
from tests.live_node import LiveNode
from wsnode.ethereum.live.arrivals import Announced, nothing_known
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.rpc.form.limits import DEFAULT_LIMITS, CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.server.access.directory import Network
from wsnode.server.limits import Limits
from wsnode.server.server import Server


class Node(LiveNode[Client]):
    """A node over a chain that the test writes; it notices changes when `hub.advance` is called."""

    def __init__(
        self,
        growing: GrowingChain,
        nursery: trio.Nursery,
        limits: Limits,
        calls: CallLimits,
        announced: Announced = nothing_known,
    ) -> None:
        self.growing = growing
        self.hub = Hub(growing.chain)
        self.registry = build_registry(growing.chain, limits=calls, hub=self.hub, announced=announced)
        network = Network("test", self.registry, growing.chain.snapshot, fan_out=self.hub.fan_out)
        super().__init__(Server([network], limits), nursery, Client)


@asynccontextmanager
async def open_node(
    growing: GrowingChain,
    *,
    limits: Limits | None = None,
    calls: CallLimits = DEFAULT_LIMITS,
    announced: Announced = nothing_known,
) -> AsyncIterator[Node]:
    """Serve a chain until the block ends."""
    async with trio.open_nursery() as nursery:
        yield Node(growing, nursery, limits or Limits(), calls, announced)
        nursery.cancel_scope.cancel()


class LogView:
    """The logs that a client believes in, from the notifications of one subscription."""

    def __init__(self) -> None:
        self.logs: list[tuple[str, int]] = []
        """Block hash and index of each log, in the chain's order."""
        self.cursor: str | None = None

    def apply(self, params: dict[str, Any]) -> None:
        """Add a log, or take the last one back."""
        self.cursor = params.get("cursor", self.cursor)
        if (log := params.get("result")) is None:
            return
        place = (log["blockHash"], int(log["logIndex"], 16))
        if log["removed"]:
            assert self.logs.pop() == place, "logs are taken back in reverse order"
        else:
            assert place not in self.logs, "a log is sent twice"
            self.logs.append(place)
