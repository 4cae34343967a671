"""A chain of which another program's node has the same blocks."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.starknet.reference.node import reference_node
from tests.starknet.reference.pair import Pair
from wsnode.starknet.chain import StarknetChain

BLOCKS = 24


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("dump")
    with (
        reference_node(BLOCKS) as reference,
        closing(StarknetChain.open(tmp_path_factory.mktemp("data"), writer=True)) as chain,
    ):
        yield Pair(reference, chain, folder)
