"""A head that moves while clients listen: each block that leaves or joins is published once."""

from typing import Any

import pytest
import trio

from tests.ethereum.live.growing import EMITTERS, TOPICS, GrowingChain, growing_chain
from tests.ethereum.live.sessions import LogView, open_node
from wsnode.ethereum.codec.blocks import UnverifiedBlock, block_from_rows
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.statuses import ValidBlock
from wsnode.ethereum.tree.tree import BlockTree

LOGS = [(EMITTERS[0], TOPICS[:1]), (EMITTERS[1], ())]


@pytest.fixture
def branches(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[UnverifiedBlock], list[UnverifiedBlock]]:
    """Return two branches after the genesis block, of three and of two blocks, with two logs each."""
    with growing_chain(tmp_path_factory.mktemp("elsewhere")) as elsewhere:
        old = [made(elsewhere) for _ in range(3)]
        elsewhere.shrink(3)
        return old, [made(elsewhere) for _ in range(2)]


def made(elsewhere: GrowingChain) -> UnverifiedBlock:
    elsewhere.grow(LOGS)
    with elsewhere.chain.snapshot() as view:
        header, body = view.header(view.number), view.body(view.number)
    assert header is not None
    assert body is not None
    return block_from_rows(elsewhere.chain.spec, header, body)


def hashes(told: list[dict[str, Any]]) -> list[str]:
    return [each["result"]["hash"] for each in told if "result" in each]


def named(*blocks: UnverifiedBlock) -> list[str]:
    return [f"0x{block.hash.hex()}" for block in blocks]


async def test_what_leaves_and_what_joins_is_told_once_forward_sideways_and_back(
    growing: GrowingChain, branches: tuple[list[UnverifiedBlock], list[UnverifiedBlock]]
) -> None:
    old, new = branches
    changes: list[HeadChange] = []
    async with open_node(growing) as node:
        node.hub.on_change.append(changes.append)
        live = LiveTree(BlockTree(growing.chain), node.hub)
        client = await node.connect()
        heads = await client.subscribe("newHeads", {"reorgs": True})
        logs = await client.subscribe("logs", {})
        for block in (*old, *new):
            assert isinstance(await live.judge(block), ValidBlock)
        await client.settle()
        assert (changes, client.told[heads]) == ([], [])

        assert await live.set_head(old[-1].hash) == changes[-1]
        assert await live.set_head(new[-1].hash) == changes[-1]
        # Back to an ancestor, and nothing new.
        assert await live.set_head(new[0].hash) == changes[-1]
        assert [head.hash for head in changes[-1].removed] == [new[1].hash]
        assert changes[-1].added == ()
        assert await live.set_head(new[1].hash) == changes[-1]
        await live.set_head(new[1].hash)
        assert len(changes) == 4
        await client.call("eth_chainId")

        assert hashes(client.told[heads]) == [*named(*old), *named(*new), *named(new[1])]
        reorgs = [each["reorg"] for each in client.told[heads] if "reorg" in each]
        assert [[head["hash"] for head in each["dropped"]] for each in reorgs] == [
            named(*reversed(old)),
            named(new[1]),
        ]
        assert [[head["hash"] for head in each["added"]] for each in reorgs] == [named(*new), []]
        view = LogView()
        for told in client.told[logs]:
            view.apply(told)
        assert view.logs == [(name, index) for name in named(*new) for index in range(2)]


async def test_rows_are_written_beside_what_is_executed_next_and_before_any_other_change(
    growing: GrowingChain, branches: tuple[list[UnverifiedBlock], list[UnverifiedBlock]]
) -> None:
    old, new = branches
    changes: list[HeadChange] = []
    async with open_node(growing) as node:
        node.hub.on_change.append(changes.append)
        live = LiveTree(BlockTree(growing.chain), node.hub)
        async with trio.open_nursery() as nursery:
            assert (await live.extend(old[:2])).taken == 2
            await live.commit(nursery)
            assert (await live.extend(old[2:])).taken == 1
            # This one needs the rows of the blocks before it, and stores the third.
            assert isinstance(await live.judge(new[0]), ValidBlock)
            assert growing.chain.head.hash == old[2].hash
            await live.set_head(new[0].hash)
        # The third was stored and replaced before it was announced.
        assert [(len(change.removed), len(change.added)) for change in changes] == [(0, 2), (2, 1)]
