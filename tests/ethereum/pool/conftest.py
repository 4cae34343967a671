from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ethereum.pool.playground import Playground


@pytest.fixture
def playground(tmp_path: Path) -> Iterator[Playground]:
    """Return a chain at its genesis and an empty pool on it."""
    made = Playground(tmp_path)
    yield made
    made.close()
