"""`state` and `calls` on a driven chain: any known block may become the head, a lower one too."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from tests.drawing import examples
from tests.ethereum.live.growing import GrowingChain
from tests.ethereum.live.sessions import Node, open_node
from tests.ethereum.live.values import test_calls
from tests.ethereum.live.values.test_state import (
    Grow,
    Held,
    Reorganise,
    Watcher,
    blocks_of,
    growth,
    state_of,
)
from tests.live.steps import Breathe, Leave, Notice, Resume, Settle, Watching, take_common_step
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import block_from_rows
from wsnode.ethereum.live.values import calls
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.server.limits import Limits

pytestmark = pytest.mark.slow


class Choose(msgspec.Struct, frozen=True):
    """A fork choice: a block becomes the head."""

    block: int


class Driven:
    """A chain to which blocks of another one are handed, and the values after each of them."""

    def __init__(self, chain: Chain, source: GrowingChain) -> None:
        self.chain = chain
        self.source = source
        self.expected: dict[str, Held] = {}
        self._hashes: list[bytes] = []
        self._tree = BlockTree(chain)
        self._note()

    def grow(self, depth: int, blocks: Sequence[Sequence[Any]]) -> None:
        """Replace the source's last blocks by others, and hand them over; the head stays."""
        self.source.shrink(min(depth, len(self.source.blocks)))
        for block in blocks:
            self.source.grow(block)
            self._note()
            with self.source.chain.snapshot() as view:
                rows = view.block_rows(view.head.hash)
                assert rows is not None
                self._tree.judge(block_from_rows(view.spec, *rows))

    def choose(self, block: int) -> None:
        """Make one of the blocks the head."""
        self.return_to(self._hashes[block % len(self._hashes)])

    def return_to(self, block_hash: bytes) -> None:
        """Make the block with this hash the head."""
        self._tree.set_head(block_hash)

    def _note(self) -> None:
        block_hash = self.source.chain.head.hash
        self._hashes.append(block_hash)
        self.expected[f"0x{block_hash.hex()}"] = state_of(self.source.chain)


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[Driven]:
    genesis = test_calls.called_genesis()
    with (
        Chain.open(tmp_path / "source", genesis, writer=True, durable=False) as source,
        Chain.open(tmp_path / "driven", genesis, writer=True, durable=False) as chain,
    ):
        yield Driven(chain, GrowingChain(source))


async def run(driven: Driven, script: Sequence[Any], *, pauses: bool) -> None:
    limits = Limits(outbox_bytes=2048 if pauses else 1 << 20)
    async with open_node(GrowingChain(driven.chain), limits=limits) as node:
        watchers = [Watcher(node, pauses=pauses, expected=driven.expected) for _ in range(2)]
        for watcher in watchers:
            await watcher.come()
        for step in script:
            await take_step(driven, node, watchers, step)
        node.hub.advance()
        for watcher in watchers:
            await watcher.come()
            watcher.read_on()
        await wait_all_tasks_blocked()
        for watcher in watchers:
            watcher.take()
            assert watcher.held == state_of(driven.chain)
            await watcher.go(0)
        assert node.hub.live_calls == 0


async def run_calls(driven: Driven, script: Sequence[Any], *, pauses: bool) -> None:
    limits = Limits(outbox_bytes=4096 if pauses else 1 << 20)
    async with open_node(GrowingChain(driven.chain), limits=limits) as node:
        watchers = [test_calls.Watcher(node, pauses=pauses) for _ in range(2)]
        for watcher in watchers:
            await watcher.come()
        await test_calls.rest(node)
        for step in script:
            await take_step(driven, node, watchers, step)
        node.hub.advance()
        for watcher in watchers:
            await watcher.come()
            watcher.read_on()
        await test_calls.rest(node)
        caller = await node.connect()
        wanted = await test_calls.outcomes(caller, "latest")
        for watcher in watchers:
            watcher.take()
            assert in_order(watcher.held) == wanted
            await watcher.go(0)
        for block_hash, held in (told for watcher in watchers for told in watcher.told):
            # What another branch has is answered while that is the chain.
            driven.return_to(bytes.fromhex(block_hash[2:]))
            there = await test_calls.outcomes(caller, {"blockHash": block_hash})
            assert in_order(held) == there
        assert node.hub.live_calls == test_calls.feed_of(node).table.bytes == 0


def in_order(held: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    return [held[index] for index in range(len(test_calls.WATCHED))]


async def take_step(driven: Driven, node: Node, watchers: Sequence[Watching], step: Any) -> None:
    match step:
        case Grow():
            driven.grow(0, blocks_of(step))
        case Reorganise(depth):
            driven.grow(depth, blocks_of(step))
        case Choose(block):
            driven.choose(block)
        case _:
            await take_common_step(driven.source, node.hub, watchers, step)


choices = st.builds(Choose, st.integers(0, 1000))
others = st.one_of(
    st.builds(Leave, st.integers(0, 1), st.integers(0, 6)),
    st.builds(Resume, st.integers(0, 1)),
    st.builds(Notice),
    st.builds(Breathe, st.integers(1, 20)),
    st.builds(Settle),
)


@pytest.mark.parametrize("pauses", [False, True], ids=["reads", "reads slowly"])
@settings(
    max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(growth | choices | choices | others, max_size=16))
def test_a_client_holds_the_values_of_whichever_block_is_chosen(
    driven: Driven, pauses: bool, script: list[Any]
) -> None:
    trio.run(lambda: run(driven, script, pauses=pauses))


@pytest.mark.parametrize(("pauses", "list_bytes"), test_calls.IN_EITHER_MODE)
@settings(
    max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(growth | choices | choices | others, max_size=16))
def test_a_client_holds_the_outcomes_at_whichever_block_is_chosen(
    driven: Driven, pauses: bool, list_bytes: int, monkeypatch: pytest.MonkeyPatch, script: list[Any]
) -> None:
    monkeypatch.setattr(calls, "LIST_BYTES", list_bytes)
    trio.run(lambda: run_calls(driven, script, pauses=pauses))
