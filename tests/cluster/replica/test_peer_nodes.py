"""Blocks of other nodes, of which the journal has none any more."""

import pytest

from tests.cluster.growing import Growing, new_chain
from tests.cluster.memory_journal import MemoryJournal
from tests.cluster.tenure.tenures import tenure_of
from wsnode.cluster.journal_diff import EthereumSource
from wsnode.cluster.leader_session import PublishedChain
from wsnode.cluster.records import BlockRecord
from wsnode.cluster.replica.peer_nodes import take
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock, decode_blocks
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.ethereum.tree.validator import MAX_ABOVE


async def blocks_of(chain: Chain) -> list[UnverifiedBlock]:
    """Return all blocks after the first one, as another node would send them."""
    journal = MemoryJournal(chain.spec.genesis_hash)
    await tenure_of(PublishedChain(EthereumSource(chain, is_development=True), "one"), journal)
    encoded = [each.change.rlp for each in journal.written if isinstance(each.change, BlockRecord)]
    blocks, error = decode_blocks(chain.spec, encoded)
    assert error is None
    return blocks


@pytest.mark.slow
async def test_more_blocks_than_are_executed_beside_the_head_are_taken() -> None:
    with new_chain() as theirs, new_chain() as ours:
        Growing(theirs).extend(2 * MAX_ABOVE + 1)
        live = LiveTree(BlockTree(ours), Hub(ours))
        assert await take(live, await blocks_of(theirs))
        assert ours.head == theirs.head


async def test_blocks_that_follow_nothing_are_not_taken_and_named(caplog: pytest.LogCaptureFixture) -> None:
    with new_chain() as theirs, new_chain() as ours:
        Growing(theirs).extend(3)
        live = LiveTree(BlockTree(ours), Hub(ours))
        assert not await take(live, (await blocks_of(theirs))[1:])
        assert ours.head.number == 0
    assert caplog.messages == ["block 2 of another node does not verify: its parent is unknown"]
