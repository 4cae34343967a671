"""One growing chain for many tests: each begins with the genesis block."""

from collections.abc import Iterator

import pytest

from tests.ethereum.live.growing import GrowingChain, growing_chain


@pytest.fixture(scope="session")
def _growing_chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrowingChain]:
    with growing_chain(tmp_path_factory.mktemp("growing")) as growing:
        yield growing


@pytest.fixture
def growing(_growing_chain: GrowingChain) -> GrowingChain:
    """Return a chain with nothing but its genesis block."""
    _growing_chain.clear()
    return _growing_chain
