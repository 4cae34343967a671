"""A server over a growing chain on memory streams, and clients that rebuild the chain from its events."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from tests.ethereum.live.growing import GrowingChain
from tests.live.client import Client
from tests.live.node import LiveNode
from wsnode.ethereum.live.block_barrier import Announced, nothing_known
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.rpc.common.limits import DEFAULT_LIMITS, CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.state import LiveBytes
from wsnode.server.access.router import KeyStore, Network
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
        keys: KeyStore | None = None,
        live_bytes: LiveBytes | None = None,
    ) -> None:
        self.growing = growing
        self.hub = Hub(growing.chain)
        self.hub.live_bytes = live_bytes or self.hub.live_bytes
        self.registry = build_registry(growing.chain, limits=calls, hub=self.hub, announced=announced)
        if growing.fetchers is not None:
            self.registry.fetch_state(growing.fetchers, ())
        network = Network(
            "test",
            self.registry,
            growing.chain.snapshot,
            keys=keys,
            fan_out=self.hub.fan_out,
            barrier=self.registry.barrier,
        )
        super().__init__(Server([network], limits), nursery, Client)
        for work in self.hub.background:
            nursery.start_soon(work)


@asynccontextmanager
async def open_node(
    growing: GrowingChain,
    *,
    limits: Limits | None = None,
    calls: CallLimits = DEFAULT_LIMITS,
    announced: Announced = nothing_known,
    keys: KeyStore | None = None,
    live_bytes: LiveBytes | None = None,
) -> AsyncIterator[Node]:
    """Serve a chain until the block ends."""
    async with trio.open_nursery() as nursery:
        yield Node(growing, nursery, limits or Limits(), calls, announced, keys, live_bytes)
        nursery.cancel_scope.cancel()


class ReturningClient(ABC):
    """A client that leaves, and comes back with its last cursor."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._client: Client | None = None
        self._cursor: str | None = None

    @abstractmethod
    def take(self) -> None:
        """Apply the messages so far."""

    async def go(self, unread: int) -> None:
        """Leave without the last messages, if it is there."""
        if self._client is not None:
            await self._client.leave()
            del self._client.messages[max(len(self._client.messages) - unread, 0) :]
            self.take()
            self._client = None


class ValueWatcher(ReturningClient):
    """A client that watches values, and may pause its reading from the start."""

    def __init__(self, node: Node, kind: str, watched: dict[str, Any], changes: str, *, pauses: bool) -> None:
        """`changes` is the member of a result that has the values which changed."""
        super().__init__(node)
        self._kind = kind
        self._watched = watched
        self._changes = changes
        self._pauses = pauses

    @abstractmethod
    def _apply(self, params: dict[str, Any]) -> None:
        """Hold what a notification says."""

    async def come(self) -> None:
        if self._client is not None:
            return
        self._client = await self._node.connect(pauses=self._pauses)
        start = {"cursors": True} if self._cursor is None else {"cursor": self._cursor}
        await self._client.ask("eth_subscribe", self._kind, {**self._watched, **start})
        if self._pauses:
            self._client.pause()

    def read_on(self) -> None:
        assert self._client is not None
        self._client.go_on()

    def take(self) -> None:
        assert self._client is not None
        results = [
            message["params"] for message in self._client.messages if "result" in message.get("params", {})
        ]
        for place, params in enumerate(results):
            assert place == 0 or params["result"][self._changes], "an empty notification"
            self._apply(params)
        self._client.messages.clear()


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
