"""A server over a growing Starknet chain, and clients that rebuild the chain from its events."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from tests.live.client import Client
from tests.live.node import LiveNode
from tests.server.conftest import Peer
from tests.starknet.live.growing import GrowingChain, Place
from wsnode.server.access.router import Network
from wsnode.server.limits import Limits
from wsnode.server.server import Server
from wsnode.starknet.felt import felt_bytes, felt_text
from wsnode.starknet.live.hub import StarknetHub
from wsnode.starknet.rpc.methods import build_registry
from wsnode.starknet.snapshot import SPEC_VERSIONS


class HeadClient(Client):
    """A connection that keeps whole notifications, by subscription."""

    def __init__(self, peer: Peer) -> None:
        super().__init__(peer)
        self._asked = 0

    def take(self, message: Any) -> None:
        """Put a message where it belongs."""
        if "method" in message:
            self.messages.append(message)
            self.told.setdefault(message["params"]["subscription_id"], []).append(message)
        else:
            super().take(message)

    async def ask_named(self, method: str, **params: Any) -> int:
        """Send a request with named parameters and return its id."""
        self._asked += 1
        request = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params}
        await self.peer.send(json.dumps(request))
        return self._asked

    async def call_named(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the reply, once everything that was sent has arrived."""
        return await self.reply(await self.ask_named(method, **params))

    async def watch(self, family: str = "starknet", kind: str = "NewHeads", **params: Any) -> str:
        """Return the id of a new subscription, to heads unless another kind is named."""
        reply = await self.call_named(f"{family}_subscribe{kind}", **params)
        assert "result" in reply, reply
        identity: str = reply["result"]
        self.told.setdefault(identity, [])
        return identity


class Node(LiveNode[HeadClient]):
    """A node over a chain that the test writes; it notices changes when `hub.advance` is called."""

    def __init__(self, growing: GrowingChain, nursery: trio.Nursery, limits: Limits) -> None:
        self.growing = growing
        self.hub = StarknetHub(growing.chain)
        registry = build_registry(hub=self.hub)
        network = Network(
            "test",
            registry,
            growing.chain.snapshot,
            fan_out=self.hub.fan_out,
            rpc_versions=tuple(SPEC_VERSIONS),
        )
        super().__init__(Server([network], limits), nursery, HeadClient)


@asynccontextmanager
async def open_node(growing: GrowingChain, limits: Limits | None = None) -> AsyncIterator[Node]:
    """Serve a chain until the block ends."""
    async with trio.open_nursery() as nursery:
        yield Node(growing, nursery, limits or Limits())
        nursery.cancel_scope.cancel()


class HeadView:
    """The blocks that a client believes in, from the notifications of one subscription."""

    def __init__(self) -> None:
        self.blocks: list[Place] = []
        self.cursor: str | None = None

    def apply(self, message: dict[str, Any]) -> None:
        """Add a block, or take the last ones back."""
        params = message["params"]
        self.cursor = params.get("cursor", self.cursor)
        if "error" in params:
            return
        name, told = message["method"].partition("_subscription")[2], params["result"]
        if name == "Reorg":
            self._take_back(told)
            return
        assert name == "NewHeads"
        block = (told["block_number"], felt_bytes(told["block_hash"]))
        if self.blocks:
            assert block[0] == self.blocks[-1][0] + 1
            assert told["parent_hash"] == felt_text(self.blocks[-1][1])
        self.blocks.append(block)

    def _take_back(self, told: dict[str, Any]) -> None:
        first = (told["starting_block_number"], felt_bytes(told["starting_block_hash"]))
        last = (told["ending_block_number"], felt_bytes(told["ending_block_hash"]))
        assert first[0] <= last[0]
        if self.blocks:
            assert self.blocks[-1] == last
            assert first in self.blocks or first[0] < self.blocks[0][0]
        self.blocks = [block for block in self.blocks if block[0] < first[0]]
