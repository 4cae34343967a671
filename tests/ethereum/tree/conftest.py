"""A chain that begins with the genesis block of the random trees."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ethereum.tree.random_trees import GENESIS
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.tree.tree import BlockTree


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    with Chain.open(tmp_path / "chain", GENESIS, writer=True, durable=False) as chain:
        yield chain


@pytest.fixture
def tree(chain: Chain) -> BlockTree:
    return BlockTree(chain)
