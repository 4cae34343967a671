"""`state` and `calls` of a replica, in memory: what a client holds is what the writer of the chain has."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from tests.cluster.memory_journal import MemoryJournal
from tests.cluster.replaying import standing_of
from tests.cluster.replica.test_following import running, until
from tests.cluster.tenure.tenures import publish
from tests.drawing import examples
from tests.ethereum.live.growing import GrowingChain
from tests.ethereum.live.sessions import Node, ValueWatcher, open_node
from tests.ethereum.live.values import test_calls, test_state
from tests.ethereum.live.values.test_state import (
    SLOTS,
    STORE,
    STRANGER,
    Grow,
    Patch,
    Reorganise,
    blocks_of,
    growth,
    patching,
)
from tests.live.steps import Notice, Return, common_steps, take_common_step
from wsnode.cluster.journal_diff import EthereumSource
from wsnode.cluster.leader_session import PublishedChain
from wsnode.cluster.replica.apply import EthereumReplicaChain
from wsnode.cluster.replica.following import Replica
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.live.values import calls
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.server.limits import Limits
from wsnode.sync.follow.sync_report import SyncStage

pytestmark = pytest.mark.slow

Watchers = Sequence[ValueWatcher]


class World:
    """A chain that is written and published, and the node of a replica that repeats it."""

    def __init__(self, written: GrowingChain, repeated: Chain) -> None:
        self.written = written
        self.repeated = repeated
        self._journal = MemoryJournal(written.chain.spec.genesis_hash)
        self._writers = 0

    @asynccontextmanager
    async def replica(self, limits: Limits) -> AsyncIterator[Node]:
        """Repeat the journal, and serve the copy."""
        async with open_node(GrowingChain(self.repeated), limits=limits) as node:
            live = LiveTree(BlockTree(self.repeated), node.hub)
            copy = EthereumReplicaChain(self.repeated, live, is_development=True)
            self._replica = Replica(copy, self._open)
            async with running(self._replica):
                yield node

    async def publish(self) -> None:
        """Put all that is written into the journal; the replica repeats it meanwhile."""
        self._writers += 1
        self._journal.now += 60
        source = EthereumSource(self.written.chain, is_development=True)
        await publish(PublishedChain(source, f"writer {self._writers}"), self._journal)

    async def catch_up(self) -> None:
        """Publish all that is written, and return once the replica has repeated it."""
        await self.publish()
        wanted = standing_of(self.written.chain)
        await until(lambda: self._replica.stage is SyncStage.LIVE and standing_of(self.repeated) == wanted)

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[MemoryJournal]:
        yield self._journal

    async def take_step(self, node: Node, watchers: Watchers, step: Any) -> None:
        """Change the chain that is written, or have a client come or go."""
        written = self.written
        match step:
            case Grow():
                written.reorganise(0, blocks_of(step))
            case Reorganise(depth):
                written.reorganise(min(depth, len(written.blocks)), blocks_of(step))
            case Patch(slot, value, balance):
                diff = {f"0x{SLOTS[slot].hex()}": f"0x{value:064x}"}
                store, stranger = f"0x{STORE.hex()}", f"0x{STRANGER.hex()}"
                accounts = {store: {"stateDiff": diff}, stranger: {"balance": hex(balance)}}
                written.patch(json.dumps(accounts).encode())
            case Return(depth, noticed):
                dropped = written.shrink(min(depth, len(written.blocks)))
                if noticed:
                    await self.publish()
                written.return_to(dropped)
            case Notice():
                await self.publish()
            case _:
                await take_common_step(written, node.hub, watchers, step)


@contextmanager
def new_world() -> Iterator[World]:
    """Make two chains with nothing but one genesis block."""
    genesis = test_calls.called_genesis()
    with (
        TemporaryDirectory() as folder,
        Chain.open(Path(folder) / "written", genesis, writer=True, durable=False) as written,
        Chain.open(Path(folder) / "repeated", genesis, writer=True, durable=False) as repeated,
    ):
        for chain in (written, repeated):
            chain.mark_final(chain.head)
        yield World(GrowingChain(written), repeated)


async def live_through(world: World, node: Node, watchers: Watchers, script: Sequence[Any]) -> None:
    """Take the steps of a script; at the end the replica has all that is written, and all clients read."""
    for watcher in watchers:
        await watcher.come()
    for step in script:
        await world.take_step(node, watchers, step)
    await world.catch_up()
    for watcher in watchers:
        await watcher.come()
        watcher.read_on()


async def hold_outcomes(world: World, script: Sequence[Any], *, pauses: bool, checks: bool) -> None:
    """Compare the outcomes that clients hold with those of the writer, at rest and after each block."""
    limits = Limits(outbox_bytes=4096 if pauses else 1 << 20)
    async with world.replica(limits) as node, open_node(world.written) as writer:
        watchers = [test_calls.Watcher(node, pauses=pauses) for _ in range(2)]
        await live_through(world, node, watchers, script)
        await test_calls.rest(node)
        asking = await writer.connect()
        wanted = await test_calls.outcomes(asking, "latest")
        for watcher in watchers:
            watcher.take()
            assert in_order(watcher.held) == wanted
            await watcher.go(0)
        canonical = {f"0x{block.head.hash.hex()}" for block in world.written.blocks} if checks else set()
        for block_hash, held in (told for watcher in watchers for told in watcher.told):
            if block_hash in canonical:
                assert in_order(held) == await test_calls.outcomes(asking, {"blockHash": block_hash})


def in_order(held: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    return [held[index] for index in range(len(test_calls.WATCHED))]


async def hold_values(world: World, script: Sequence[Any], *, pauses: bool) -> None:
    """Compare the values that clients hold with those of the writer, at rest."""
    limits = Limits(outbox_bytes=2048 if pauses else 1 << 20)
    async with world.replica(limits) as node:
        watchers = [test_state.Watcher(node, pauses=pauses) for _ in range(2)]
        await live_through(world, node, watchers, script)
        await wait_all_tasks_blocked()
        for watcher in watchers:
            watcher.take()
            assert watcher.held == test_state.state_of(world.written.chain)
            await watcher.go(0)


def run(hold: Callable[[World], Any]) -> None:
    with new_world() as world:
        trio.run(hold, world)


@pytest.mark.parametrize(("pauses", "list_bytes"), test_calls.IN_EITHER_MODE)
@settings(max_examples=examples(10), deadline=None)
@given(script=st.lists(growth | common_steps, max_size=10))
def test_a_client_holds_the_writers_outcomes_at_each_block_that_it_is_told(
    pauses: bool, list_bytes: int, script: list[Any]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calls, "LIST_BYTES", list_bytes)
        run(lambda world: hold_outcomes(world, script, pauses=pauses, checks=True))


@settings(max_examples=examples(10), deadline=None)
@given(script=st.lists(patching, max_size=10))
def test_a_client_holds_the_writers_outcomes_of_a_patched_head(script: list[Any]) -> None:
    run(lambda world: hold_outcomes(world, script, pauses=False, checks=False))


@pytest.mark.parametrize("pauses", [False, True], ids=["reads", "reads slowly"])
@settings(max_examples=examples(10), deadline=None)
@given(script=st.lists(growth | common_steps, max_size=12) | st.lists(patching, max_size=12))
def test_a_client_holds_the_writers_values(pauses: bool, script: list[Any]) -> None:
    run(lambda world: hold_values(world, script, pauses=pauses))
