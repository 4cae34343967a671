"""A follower with upstreams in memory."""

from functools import partial
from pathlib import Path

import pytest

from tests.sync.follow.world import Open, opened_world


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Return what opens a follower of new upstreams of these names, with three blocks each unless said."""
    return partial(opened_world, tmp_path)
