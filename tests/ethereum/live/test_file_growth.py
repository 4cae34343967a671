"""A chain's file grows with what is read for long, stops once that has ended, and not by slow replays."""

from pathlib import Path

import pytest

from tests.ethereum.live.growing import EMITTERS, TOPICS, growing_chain
from tests.ethereum.live.sessions import open_node
from wsnode.server.limits import Limits

pytestmark = pytest.mark.slow

LOGS = [(EMITTERS[0], TOPICS[:2]), (EMITTERS[1], ())] * 4
BLOCKS = 150


def file_size(folder: Path) -> int:
    return (folder / "chain/data.mdb").stat().st_size


def test_a_file_that_grew_by_a_held_snapshot_grows_no_more_once_that_has_ended(tmp_path: Path) -> None:
    with growing_chain(tmp_path) as growing:
        for _ in range(10):
            growing.grow(LOGS)
        begun = file_size(tmp_path)
        with growing.chain.snapshot():
            for _ in range(BLOCKS):
                growing.grow(LOGS)
        held = file_size(tmp_path)
        for _ in range(BLOCKS):
            growing.grow(LOGS)
        assert held > begun
        assert file_size(tmp_path) - held < (held - begun) // 4


async def test_a_client_that_does_not_read_its_replay_keeps_no_page(tmp_path: Path) -> None:
    sizes = []
    for pauses in (False, True):
        folder = tmp_path / str(pauses)
        with growing_chain(folder) as growing:
            for _ in range(10):
                growing.grow(LOGS)
            async with open_node(growing, limits=Limits(outbox_bytes=4096)) as node:
                client = await node.connect(pauses=True)
                assert "result" in await client.call("eth_subscribe", "logs", {"fromBlock": "earliest"})
                if pauses:
                    client.pause()
                for _ in range(BLOCKS):
                    growing.grow(LOGS)
                    node.hub.advance()
                    await client.settle()
                    assert growing.chain.store.versions <= 1
                told = sum(map(len, client.told.values()))
                assert (told < BLOCKS * len(LOGS)) == pauses, told
        sizes.append(file_size(folder))
    read, unread = sizes
    assert unread < 1.2 * read, sizes
