"""A server over a growing chain on memory streams, and clients that rebuild what they are told."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
import trio.testing
from trio.testing import wait_all_tasks_blocked

from tests.ethereum.live.growing import GrowingChain
from tests.server.conftest import Peer, read_all
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.rpc.limits import DEFAULT_LIMITS, CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.server.limits import Limits
from wsnode.server.listener import Server
from wsnode.server.network import Network

POST = (
    b"POST /v3/key HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
)


class Node:
    """A node over a chain that the test writes; it notices changes when `hub.advance` is called."""

    def __init__(
        self, growing: GrowingChain, nursery: trio.Nursery, limits: Limits, calls: CallLimits
    ) -> None:
        self.growing = growing
        self.hub = Hub(growing.chain)
        self.registry = build_registry(growing.chain, limits=calls, hub=self.hub)
        network = Network("test", self.registry, growing.chain.snapshot, fan_out=self.hub.fan_out)
        self.server = Server([network], limits)
        self._nursery = nursery
        nursery.start_soon(self.server.hand_out)

    async def connect(self, *, pauses: bool = False) -> "Client":
        """Return a new client that reads what comes; if it `pauses` later, nothing is read ahead for it."""
        mine, theirs = trio.testing.lockstep_stream_pair() if pauses else trio.testing.memory_stream_pair()
        self._nursery.start_soon(self.server.serve_stream, theirs)
        peer = Peer(mine)
        await peer.open()
        client = Client(peer)
        self._nursery.start_soon(client.read)
        return client

    async def post(self, method: str, *params: Any) -> dict[str, Any]:
        """Return the reply over HTTP."""
        mine, theirs = trio.testing.memory_stream_pair()
        self._nursery.start_soon(self.server.serve_stream, theirs)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        await mine.send_all(POST % (len(body), body))
        await mine.send_eof()
        reply: dict[str, Any] = json.loads((await read_all(mine)).partition(b"\r\n\r\n")[2])
        return reply


class Client:
    """One connection, and what it was told: replies by request, notifications by subscription."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.told: dict[str, list[dict[str, Any]]] = {}
        """The params of each notification, by subscription."""
        self.messages: list[Any] = []
        """Everything, in its order."""
        self._replies: dict[int, dict[str, Any]] = {}
        self._requests = 0
        self._reading = trio.Event()
        self._reading.set()

    def pause(self) -> None:
        """Read nothing more, but for the message that is waited for."""
        self._reading = trio.Event()

    def go_on(self) -> None:
        """Read again."""
        self._reading.set()

    async def read(self) -> None:
        """Take what comes, until the connection ends."""
        try:
            while True:
                await self._reading.wait()
                self.take(json.loads(await self.peer.message()))
        except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError):
            pass

    def take(self, message: Any) -> None:
        """Put a message where it belongs; the reply to a batch is only one of `messages`."""
        self.messages.append(message)
        if isinstance(message, list):
            return
        if "method" in message:
            params = message["params"]
            self.told.setdefault(params["subscription"], []).append(params)
        else:
            self._replies[message["id"]] = message

    async def settle(self) -> None:
        """Wait until everything that was sent has arrived."""
        await wait_all_tasks_blocked()

    async def reply(self, identity: int) -> dict[str, Any]:
        """Return the reply to a request, once everything that was sent has arrived."""
        await wait_all_tasks_blocked()
        return self._replies.pop(identity)

    async def ask(self, method: str, *params: Any) -> int:
        """Send a request and return its id."""
        self._requests += 1
        await self.peer.call(method, *params, id=self._requests)
        return self._requests

    async def call(self, method: str, *params: Any) -> dict[str, Any]:
        """Return the reply, once everything that was sent has arrived."""
        return await self.reply(await self.ask(method, *params))

    async def subscribe(self, *params: Any) -> str:
        """Return the id of a new subscription."""
        reply = await self.call("eth_subscribe", *params)
        assert "result" in reply, reply
        identity: str = reply["result"]
        self.told.setdefault(identity, [])
        return identity

    async def leave(self) -> None:
        """Close the connection without a word."""
        await trio.aclose_forcefully(self.peer.stream)
        await wait_all_tasks_blocked()


@asynccontextmanager
async def open_node(
    growing: GrowingChain, *, limits: Limits | None = None, calls: CallLimits = DEFAULT_LIMITS
) -> AsyncIterator[Node]:
    """Serve a chain until the block ends."""
    async with trio.open_nursery() as nursery:
        yield Node(growing, nursery, limits or Limits(), calls)
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
            assert place not in self.logs, "a log is told twice"
            self.logs.append(place)
