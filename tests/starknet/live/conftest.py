"""One growing chain for many tests: each begins without a block."""

from collections.abc import Iterator

import pytest

from tests.starknet.live.growing import GrowingChain, no_body
from wsnode.starknet.chain import StarknetChain


@pytest.fixture(scope="session")
def _growing_chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrowingChain]:
    with StarknetChain.open(tmp_path_factory.mktemp("growing"), writer=True) as chain:
        yield GrowingChain(chain)


@pytest.fixture
def growing(_growing_chain: GrowingChain) -> GrowingChain:
    """Return a chain without a block."""
    _growing_chain.clear()
    _growing_chain.make_body = no_body
    return _growing_chain
