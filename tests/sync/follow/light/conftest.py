"""A light folder with upstreams in memory."""

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
    """Return what opens a light folder that follows new upstreams of these names and lengths."""

    @asynccontextmanager
    async def open_world(
        *names: str, blocks: int = 100, keeps: int = 20, final: int = 10, **settings: Any
    ) -> AsyncIterator[tuple[World, dict[str, Source]]]:
        async with trio.open_nursery() as nursery:
            with sources_of(tmp_path, names, nursery) as sources:
                for source in sources.values():
                    source.grow(blocks)
                    source.finalize(final)
                async with followed(tmp_path, sources, keeps=keeps, **settings) as world:
                    yield world, sources
            nursery.cancel_scope.cancel()

    return open_world
