"""A follower with upstreams in memory."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import trio

from tests.sync.follow.world import Source, World, followed, sources_of

Open: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[World, dict[str, Source]]]]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Return what opens a follower of new upstreams of these names, each with so many blocks."""

    @asynccontextmanager
    async def open_world(
        *names: str, blocks: int = 3, **settings: Any
    ) -> AsyncIterator[tuple[World, dict[str, Source]]]:
        async with trio.open_nursery() as nursery:
            with sources_of(tmp_path, names, nursery) as sources:
                for source in sources.values():
                    source.grow(blocks)
                async with followed(tmp_path, sources, **settings) as world:
                    yield world, sources
            nursery.cancel_scope.cancel()

    return open_world
