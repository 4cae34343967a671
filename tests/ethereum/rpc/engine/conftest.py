"""A chain of the newest fork that is driven."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.ethereum.rpc.engine.driving import Driven, Made, opened

OpenDriven = Callable[..., AbstractAsyncContextManager[Driven]]


@pytest.fixture
def open_driven(tmp_path: Path) -> OpenDriven:
    """Return what opens a driven chain of a fork, in a folder of its own."""

    def open_one(fork: str = "osaka", name: str = "node") -> AbstractAsyncContextManager[Driven]:
        return opened(tmp_path / name, fork)

    return open_one


@pytest.fixture
async def node(open_driven: OpenDriven) -> AsyncIterator[Driven]:
    async with open_driven() as driven:
        yield driven


_foreign: list[Made] = []
"""Built once: they are the same each time."""


@pytest.fixture
async def foreign(open_driven: OpenDriven) -> list[Made]:
    """Return ten payloads, one on the other, that another node has built on the same genesis."""
    if not _foreign:
        async with open_driven(name="other") as other:
            made: list[Made] = []
            while len(made) < 10:
                await other.send(other.transfer(sender=len(made) % 3))
                made.append(await other.extended(made[-1] if made else None))
        _foreign.extend(made)
    return list(_foreign)
