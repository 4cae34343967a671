"""Random trees of blocks in a random order, beside a model that knows only the parents of blocks."""

import random
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.tree.random_trees import GENESIS, SPEC, Node, random_tree, spoiled
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.tree import side_blocks, validator
from wsnode.ethereum.tree.statuses import (
    DeferredBlock,
    InvalidBlock,
    UnknownForkchoiceBlockError,
    UnknownParentBlock,
    ValidBlock,
)
from wsnode.ethereum.tree.tree import BlockTree

pytestmark = pytest.mark.slow

ROOT = Hash32(SPEC.genesis_hash)
SHAPES = ([2, 2, 2, 1, 1], [4, 2, 1, 1], [1, 1, 3, 2, 2], [1] * 12)


@cache
def forest(number: int) -> dict[Hash32, Node]:
    """Return a tree, and beside some of its blocks invalid ones, which have children too."""
    nodes = {node.hash: node for node in random_tree(number, SHAPES[number % len(SHAPES)])}
    chance = random.Random(number)
    for node in chance.sample(sorted(nodes.values(), key=lambda node: node.hash), 4):
        wrong = spoiled(node)
        nodes[wrong.hash] = wrong
        for child in [each for each in nodes.values() if each.parent == node.hash]:
            orphan = spoiled(child, wrong.hash)
            nodes[orphan.hash] = orphan
    return nodes


class Model:
    """What a tree must know."""

    def __init__(self, nodes: dict[Hash32, Node]) -> None:
        self.nodes = nodes
        self.held = {ROOT}
        """Those in memory or in the store, be those below them lost or not."""
        self.stored = {ROOT}
        """Those that were canonical once."""
        self.refused = set[Hash32]()
        self.canonical = [ROOT]

    def path(self, block_hash: Hash32) -> list[Hash32]:
        """Return the hashes from the genesis block to a block."""
        path = [block_hash]
        while path[-1] != ROOT:
            path.append(self.nodes[path[-1]].parent)
        return path[::-1]

    def first_invalid(self, block_hash: Hash32) -> Hash32 | None:
        """Return the lowest block with a wrong state root up to a block."""
        return next((each for each in self.path(block_hash)[1:] if self.nodes[each].rows is None), None)

    def knows(self, block_hash: Hash32) -> bool:
        """Return whether a block is held together with all below it.

        Of a branch the highest blocks leave memory for the disk first, so a process may lose those below.
        """
        return self.held.issuperset(self.path(block_hash))

    def judge(self, node: Node) -> type:
        """Return the kind of status that a block must have."""
        if node.hash in self.refused or node.parent in self.refused:
            self.refused.add(node.hash)
            return InvalidBlock
        if not self.knows(node.parent):
            return UnknownParentBlock
        if node.rows is None:
            self.refused.add(node.hash)
            return InvalidBlock
        self.held.add(node.hash)
        return ValidBlock

    def set_head(self, block_hash: Hash32) -> tuple[list[Hash32], list[Hash32]]:
        """Move the head, and return which blocks leave and which join."""
        new = self.path(block_hash)
        removed = [each for each in reversed(self.canonical) if each not in new]
        added = [each for each in new if each not in self.canonical]
        self.canonical = new
        self.stored |= set(new)
        return removed, added


def check(chain: Chain, model: Model) -> None:
    """Compare what a chain holds with the model."""
    with chain.snapshot() as view:
        assert [view.hash_of(number) for number in range(view.number + 1)] == model.canonical
        for number, block_hash in enumerate(model.canonical[1:], 1):
            rows = (view.header(number), view.body(number), view.receipts(number))
            assert rows == model.nodes[block_hash].rows
        for block_hash in model.stored - set(model.canonical):
            assert view.number_of(block_hash) is None
            assert view.side_receipts(block_hash) is not None
    assert chain.state.committed_head == (len(model.canonical) - 1, model.canonical[-1])


def play(chain: Chain, model: Model, chance: random.Random, steps: int) -> None:
    """Do random things with a tree and with the model."""
    tree = BlockTree(chain)
    for _ in range(steps):
        node = chance.choice(list(model.nodes.values()))
        if chance.random() < 0.6:
            status = tree.judge(node.block)
            assert isinstance(status, model.judge(node)), status
            if isinstance(status, InvalidBlock):
                lowest = model.first_invalid(node.hash)
                assert lowest is not None
                assert status.latest_valid == model.nodes[lowest].parent
                assert (status.error.block_hash, status.error.rule) == (lowest, "state_root")
        elif node.hash in model.refused:
            assert isinstance(tree.set_head(node.hash), InvalidBlock)
        elif model.knows(node.hash):
            change = tree.set_head(node.hash)
            assert isinstance(change, HeadChange)
            removed, added = model.set_head(node.hash)
            assert [head.hash for head in change.removed] == removed
            assert [head.hash for head in change.added] == added
            assert tree.head.hash == node.hash
        else:
            with pytest.raises(UnknownForkchoiceBlockError):
                tree.set_head(node.hash)
        check(chain, model)


@settings(max_examples=examples(25))
@given(
    number=st.integers(0, 11),
    chance=st.randoms(use_true_random=False),
    most_blocks=st.sampled_from((1024, 3, 0)),
)
def test_a_tree_knows_what_a_model_knows(number: int, chance: random.Random, most_blocks: int) -> None:
    model = Model(forest(number))
    with TemporaryDirectory() as folder, patch.object(side_blocks, "MAX_BLOCKS", most_blocks):
        for _ in range(chance.randint(1, 3)):
            with Chain.open(Path(folder), GENESIS, writer=True, durable=False) as chain:
                play(chain, model, chance, chance.randint(5, 30))
            # Another process knows what is stored; with so little memory that is everything.
            if most_blocks:
                keep_what_is_stored(folder, model)
            model.refused.clear()


def keep_what_is_stored(folder: str, model: Model) -> None:
    """Have the model hold no more than what is stored."""
    with Chain.open(Path(folder), writer=False) as chain, chain.snapshot() as view:
        model.held = {each for each in model.held if view.block_rows(each) is not None}


@settings(max_examples=examples(10))
@given(number=st.integers(0, 11), chance=st.randoms(use_true_random=False), bound=st.sampled_from((0, 2)))
def test_what_is_too_far_from_the_chain_is_executed_when_it_becomes_the_head(
    number: int, chance: random.Random, bound: int
) -> None:
    model = Model(forest(number))
    with (
        TemporaryDirectory() as folder,
        patch.object(validator, "MAX_ABOVE", bound),
        Chain.open(Path(folder), GENESIS, writer=True, durable=False) as chain,
    ):
        tree = BlockTree(chain)
        for node in sorted(model.nodes.values(), key=lambda node: node.number):
            invalid = model.first_invalid(node.hash)
            if invalid is not None and model.nodes[invalid].number <= bound:
                assert isinstance(tree.judge(node.block), InvalidBlock)
            else:
                assert isinstance(
                    tree.judge(node.block), ValidBlock if node.number <= bound else DeferredBlock
                )
        for node in chance.sample(list(model.nodes.values()), 12):
            change = tree.set_head(node.hash)
            if model.first_invalid(node.hash) is None:
                assert isinstance(change, HeadChange)
                model.set_head(node.hash)
            else:
                assert isinstance(change, InvalidBlock)
            check(chain, model)
