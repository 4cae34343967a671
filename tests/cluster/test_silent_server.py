"""A server that takes connections and says nothing, as a Redis that was stopped."""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from tests.cluster.drawn import GENESIS
from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import JournalAwayError
from wsnode.cluster.redis_journal import open_journal


@pytest.fixture
def path() -> Iterator[Path]:
    """Yield the path of a socket; that of `tmp_path` may be too long for one."""
    with tempfile.TemporaryDirectory(prefix="silent") as folder:
        yield Path(folder) / "redis"


async def ask(path: Path) -> None:
    """Ask until the answer is given up, which the client may say as a failure of its own."""
    with suppress(JournalAwayError):
        async with open_journal(JournalAddress.parse(f"unix://{path}"), GENESIS) as journal:
            await journal.tip()


async def test_to_give_up_a_connection_leaves_nothing_in_the_log(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with trio.socket.socket(trio.socket.AF_UNIX) as server:
        await server.bind(str(path))
        server.listen(1)
        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as scope:

                async def hear() -> None:
                    client, _address = await server.accept()
                    with client:
                        assert await client.recv(4096)
                        scope.cancel()
                        await trio.sleep_forever()

                nursery.start_soon(hear)
                await ask(path)
            nursery.cancel_scope.cancel()
    assert not caplog.records
