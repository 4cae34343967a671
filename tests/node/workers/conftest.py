"""Memory that the processes of a test share."""

import os
from collections.abc import Iterator

import pytest

from wsnode.node.workers.scoreboard import make_memory


@pytest.fixture
def memory() -> Iterator[int]:
    """Return the descriptor of the memory of a scoreboard."""
    descriptor = make_memory()
    yield descriptor
    os.close(descriptor)
