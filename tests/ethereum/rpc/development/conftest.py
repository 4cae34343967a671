"""A fresh development chain for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ethereum.development.playground import Playground, playground


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Playground]:
    """Return a chain of one block whose transactions get a block each."""
    with playground(tmp_path) as opened:
        yield opened
