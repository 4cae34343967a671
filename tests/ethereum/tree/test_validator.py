from unittest.mock import patch

import pytest

from tests.ethereum.tree.random_trees import (
    NUMBER,
    Node,
    assembled,
    decoded,
    parts,
    random_tree,
    spoiled,
)
from wsnode.ethereum.appender import recent_rows
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.state import EngineError
from wsnode.ethereum.storage.tables import SIDE_BLOCKS
from wsnode.ethereum.tree import side_blocks, validator
from wsnode.ethereum.tree.statuses import DeferredBlock, InvalidBlock, UnknownParentBlock, ValidBlock
from wsnode.ethereum.tree.tree import BlockTree


def test_sixty_four_siblings_are_all_valid_and_each_can_be_the_head(tree: BlockTree, chain: Chain) -> None:
    siblings = random_tree(64, [64], transactions=3)
    genesis = chain.head
    for node in siblings:
        assert isinstance(tree.judge(node.block), ValidBlock)
        assert chain.head == genesis
    for node in siblings:
        assert isinstance(tree.set_head(node.hash), HeadChange)
        assert chain.head.hash == node.hash


def test_twenty_blocks_on_each_other_are_judged_without_a_head_among_them(
    tree: BlockTree, chain: Chain
) -> None:
    nodes = random_tree(20, [1] * 20)
    genesis = chain.head
    for node in nodes:
        assert isinstance(tree.judge(node.block), ValidBlock)
    assert (chain.head, chain.state.committed_head) == (genesis, (0, genesis.hash))
    change = tree.set_head(nodes[-1].hash)
    assert isinstance(change, HeadChange)
    assert [head.hash for head in change.added] == [node.hash for node in nodes]
    assert stored_rows(chain) == [node.rows for node in nodes]


def stored_rows(chain: Chain) -> list[tuple[bytes | None, ...]]:
    with chain.snapshot() as view:
        return [
            (view.header(number), view.body(number), view.receipts(number))
            for number in range(1, view.number + 1)
        ]


def with_an_invalid_block(nodes: list[Node], depth: int) -> list[Node]:
    """Return a chain of blocks whose block so far below its last one is invalid."""
    place = len(nodes) - 1 - depth
    chain = [*nodes[:place], spoiled(nodes[place])]
    for node in nodes[place + 1 :]:
        chain.append(spoiled(node, chain[-1].hash))
    return chain


@pytest.mark.parametrize("depth", [0, 1, 9, 10])
def test_all_blocks_on_an_invalid_one_are_invalid_for_its_reason(tree: BlockTree, depth: int) -> None:
    nodes = with_an_invalid_block(random_tree(11, [1] * 12, transactions=1), depth)
    place = len(nodes) - 1 - depth
    for node in nodes[:place]:
        assert isinstance(tree.judge(node.block), ValidBlock)
    for node in nodes[place:]:
        status = tree.judge(node.block)
        assert isinstance(status, InvalidBlock)
        assert status.latest_valid == nodes[place - 1].hash
        assert (status.error.rule, status.error.block_hash) == ("state_root", nodes[place].hash)
        assert status.error.expected != status.error.actual
    assert isinstance(tree.set_head(nodes[-1].hash), InvalidBlock)
    assert isinstance(tree.set_head(nodes[place - 1].hash), HeadChange)


def test_a_block_without_its_parent_is_judged_once_the_parent_is_known(tree: BlockTree) -> None:
    first, second = random_tree(3, [1, 1])
    status = tree.judge(second.block)
    assert isinstance(status, UnknownParentBlock)
    assert (status.number, status.hash, status.parent_hash) == (2, second.hash, first.hash)
    assert tree.header(first.hash) is None
    assert isinstance(tree.judge(first.block), ValidBlock)
    assert isinstance(tree.judge(second.block), ValidBlock)
    assert first.rows is not None
    assert tree.header(first.hash) == first.rows[0]


def test_to_hold_a_block_is_to_check_its_header_alone(tree: BlockTree) -> None:
    first, second = random_tree(3, [1, 1])
    assert isinstance(tree.hold(first.block), DeferredBlock)
    status = tree.hold(spoiled(second, place=NUMBER).block)
    assert isinstance(status, InvalidBlock)
    assert (status.error.rule, status.latest_valid) == ("number", first.hash)
    wrong = spoiled(second)
    assert isinstance(tree.hold(wrong.block), DeferredBlock)
    assert isinstance(tree.judge(wrong.block), InvalidBlock)
    assert isinstance(tree.judge(first.block), ValidBlock)


def test_what_memory_has_no_room_for_is_stored_until_a_later_block_is_final(
    tree: BlockTree, chain: Chain
) -> None:
    nodes = random_tree(5, [8, 1, 1])
    main = [nodes[0], nodes[1], nodes[2]]
    with patch.object(side_blocks, "MAX_BLOCKS", 4):
        for node in nodes:
            assert isinstance(tree.judge(node.block), ValidBlock)
    assert rows_beside(chain) > 0
    change = tree.set_head(main[2].hash, safe=main[2].hash, finalized=main[2].hash)
    assert isinstance(change, HeadChange)
    assert rows_beside(chain) == 0
    assert isinstance(tree.judge(nodes[5].block), UnknownParentBlock)


def rows_beside(chain: Chain) -> int:
    with chain.snapshot() as view:
        return view.reader.entries(SIDE_BLOCKS)


@pytest.mark.parametrize("judged", [True, False], ids=["judged", "held"])
def test_a_wrong_body_has_no_bearing_on_the_block_of_that_hash(tree: BlockTree, *, judged: bool) -> None:
    node, other = random_tree(12, [2], transactions=6)
    header, _, rest = parts(node.encoded)
    _, body, _ = parts(other.encoded)
    mixed = decoded(assembled(header, body, rest))
    assert (mixed.hash, mixed.has_own_body) == (node.hash, False)
    status = tree.judge(mixed) if judged else tree.hold(mixed)
    assert isinstance(status, InvalidBlock)
    assert status.latest_valid == node.parent
    assert isinstance(tree.judge(node.block), ValidBlock)


def test_memory_of_invalid_blocks_is_bounded(tree: BlockTree) -> None:
    wrong = [spoiled(node) for node in random_tree(6, [6], transactions=0)]
    with patch.object(validator, "MAX_REFUSED", 3):
        for node in wrong:
            assert isinstance(tree.judge(node.block), InvalidBlock)
            assert isinstance(tree.judge(node.block), InvalidBlock)
    orphan = random_tree(6, [1, 1])[1]
    # The first one is forgotten: nothing is known of what follows it.
    assert isinstance(tree.judge(spoiled(orphan, wrong[0].hash).block), UnknownParentBlock)
    assert isinstance(tree.judge(spoiled(orphan, wrong[5].hash).block), InvalidBlock)


def test_a_branch_below_which_too_much_has_changed_is_executed_when_it_becomes_the_head(
    tree: BlockTree, chain: Chain
) -> None:
    nodes = random_tree(8, [2, 1, 1, 1, 1, 1])
    main, other = nodes[:6], nodes[6:]
    for node in main:
        assert isinstance(tree.judge(node.block), ValidBlock)
    assert isinstance(tree.set_head(main[-1].hash), HeadChange)
    with patch.object(validator, "MAX_CHANGES", 10):
        for node in other:
            assert isinstance(tree.judge(node.block), DeferredBlock)
    wrong = spoiled(other[3])
    with patch.object(validator, "MAX_CHANGES", 10):
        assert isinstance(tree.judge(wrong.block), DeferredBlock)
    before = stored_rows(chain)
    refusal = tree.set_head(wrong.hash)
    assert isinstance(refusal, InvalidBlock)
    assert refusal.latest_valid == other[2].hash
    assert stored_rows(chain) == before == [node.rows for node in main]
    assert isinstance(tree.set_head(other[-1].hash), HeadChange)
    assert stored_rows(chain) == [node.rows for node in other]


def test_what_was_tried_on_the_head_leaves_no_trace_in_what_comes_after_it(
    tree: BlockTree, chain: Chain
) -> None:
    nodes = random_tree(13, [3, 2, 2], transactions=8)
    roots = [node for node in nodes if node.number == 1]
    for node in [*roots, spoiled(roots[0]), *reversed(roots)]:
        tree.judge(node.block)
    # Neither the one that was tried last, nor the one before it.
    assert isinstance(tree.set_head(roots[1].hash), HeadChange)
    children = [node for node in nodes if node.parent == roots[1].hash]
    for node in children:
        assert isinstance(tree.judge(node.block), ValidBlock)
    extension = tree.extend([children[0].block])
    assert (extension.taken, extension.error) == (1, None)
    tree.store(tree.take_pending())
    assert stored_rows(chain) == [roots[1].rows, children[0].rows]
    with pytest.raises(EngineError, match="another block than its parent"):
        chain.state.accept(built(chain, children[0], roots[1]))


def built(chain: Chain, node: Node, parent: Node) -> BuiltBlock:
    with chain.snapshot() as view:
        ancestors = recent_rows(view, parent.hash)
        tried = chain.state.try_block(node.block, (parent.number, parent.hash), ancestors, total_difficulty=0)
    assert isinstance(tried, BuiltBlock)
    return tried


def test_blocks_above_a_new_head_are_read_on_top_of_it(tree: BlockTree, chain: Chain) -> None:
    nodes = random_tree(14, [1, 1, 2, 2, 1])
    for node in nodes:
        assert isinstance(tree.judge(node.block), ValidBlock)
    second = next(node for node in nodes if node.number == 2)
    tree.set_head(second.hash)
    above = [node for node in nodes if node.number > 2]
    kept = {candidate.head.hash: candidate for candidate in tree.candidates}
    assert kept.keys() == {node.hash for node in above}
    assert {candidate.root for candidate in kept.values()} == {chain.head}
    for node in reversed(above):
        assert isinstance(tree.set_head(node.hash), HeadChange)
        assert stored_rows(chain)[-1] == node.rows
