"""A light folder with upstreams in memory."""

from functools import partial
from pathlib import Path

import pytest

from tests.sync.follow.world import Open, opened_world
from wsnode.ethereum.storage.folder_kind import FolderKind


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Return what opens a light folder that follows new upstreams of these names and lengths."""
    return partial(opened_world, tmp_path, blocks=100, kind=FolderKind(20, is_light=True), final=10)
