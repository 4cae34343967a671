"""A follower of made Starknet chains: its own chain on disk, its upstreams in memory."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import trio

from tests.memory_transport import Conversation
from tests.node_process import PATIENCE
from tests.sync.starknet.made_chain import CHAIN_ID, MadeChain, MadeNode
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.work import CallTask, CancelToken, Reply, RunInThread, pieces_of
from wsnode.server.access.router import Caller
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.felt import felt_text
from wsnode.starknet.live.hub import StarknetHub
from wsnode.starknet.proofs.prover import StateProver
from wsnode.starknet.rpc.methods import build_registry
from wsnode.sync.starknet.follower import StarknetFollower
from wsnode.upstream.address import UpstreamAddress


class World:
    """One follower and its upstreams."""

    def __init__(self, chain: StarknetChain, nodes: dict[str, MadeNode], **settings: Any) -> None:
        settings.setdefault("pre_confirmed_interval", 0)
        self.chain = chain
        self.nodes = nodes
        self.hub = StarknetHub(chain)
        addresses = [UpstreamAddress.parse(f"ws://{name}/") for name in nodes]
        self.follower = StarknetFollower(
            chain, CHAIN_ID, addresses, self.hub.advance, connect=self._connect, **settings
        )

    async def _connect(self, address: UpstreamAddress) -> trio.abc.Stream:
        return await self.nodes[address.host].provider.connect(address)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once a condition holds."""
        with trio.fail_after(PATIENCE):
            # Threads of the engine take their own time, of which no event tells here.
            while not condition():  # noqa: ASYNC110
                await trio.sleep(0.005)

    async def until_at(self, made: MadeChain) -> None:
        """Return once the chain has the head of a made one, and its subscribers have it too."""
        await self.until(lambda: felt_text(self.hub.head.hash) == made.head.hash)

    def stored(self) -> dict[int, str]:
        """Return the hashes of the stored blocks by number."""
        with self.chain.snapshot() as view:
            if view.head is None:
                return {}
            rows = {number: view.block(number) for number in range(view.first_block, view.head + 1)}
        assert all(row is not None for row in rows.values())
        return {number: felt_text(row.hash) for number, row in rows.items() if row is not None}

    async def call(self, method: str, *params: Any, version: str | None = None, **named: Any) -> Any:
        """Return the result of a method, or its error as a dict with `code`."""
        caller = Caller(network="main", rpc_version=version)
        registry = build_registry(prover=StateProver(self.chain))
        session = Conversation(Dispatcher(registry, self.chain.snapshot), caller)
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": named or params}
        reply = session.receive(msgspec.json.encode(request))
        if isinstance(reply, CallTask):
            reply = await ended(reply)
        session.end_turn()
        answer = msgspec.json.decode(b"".join(pieces_of(reply or b"")))
        return answer["result"] if "result" in answer else answer["error"]

    def state_of(self, name: str) -> tuple[str, str]:
        """Return how an upstream stands, and why."""
        found = next(each for each in self.follower.upstreams if each.client.address.host == name)
        return found.standing.value, found.why


async def ended(task: CallTask) -> Reply | None:
    """Return the reply of a call once it has ended."""
    while True:
        step = task.step
        try:
            value = None
            if isinstance(step, RunInThread):
                value = await trio.to_thread.run_sync(step.function, CancelToken())
            elif step is not None:
                value = await step.function()
        except Exception as error:
            is_over = task.fail(error)
        else:
            is_over = task.resume(value)
        if is_over:
            return task.reply


@asynccontextmanager
async def followed(folder: Path, nodes: dict[str, MadeNode], **settings: Any) -> AsyncIterator[World]:
    """Run a follower on a folder of its own until the block ends."""
    async with followed_for_server(folder, nodes, **settings) as world, trio.open_nursery() as nursery:
        nursery.start_soon(world.hub.fan_out.run)
        yield world
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def followed_for_server(
    folder: Path, nodes: dict[str, MadeNode], **settings: Any
) -> AsyncIterator[World]:
    """Run a follower until the block ends; a server of the caller hands out the events of its hub."""
    with StarknetChain.open(folder / "ours", writer=True) as chain:
        world = World(chain, nodes, **settings)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.follower.run)
            yield world
            nursery.cancel_scope.cancel()
