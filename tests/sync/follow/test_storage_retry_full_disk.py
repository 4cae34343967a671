"""A disk without room stops following only for as long as there is none.

Files that may not grow stand for the disk: what LMDB writes beyond their size fails amid a commit.
"""

import logging

import pytest

from tests.file_limits import files_of_at_most
from tests.sync.follow.world import Open
from wsnode.sync.follow.sync_report import SyncStage

FULL = 4096


@pytest.mark.parametrize("blocks", [3, 150], ids=["some blocks", "a long way"])
async def test_following_goes_on_when_there_is_room_again(
    blocks: int, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened("a") as (world, sources):
        await world.until_at(sources["a"].head)
        await world.until_stage(SyncStage.LIVE)
        before = world.chain.head
        sources["a"].grow(blocks)
        with caplog.at_level(logging.INFO, "wsnode.follow"), files_of_at_most(FULL):
            await sources["a"].tell()
            await world.until_stage(SyncStage.UNSTORED)
            assert world.chain.head == before
            assert world.follower.not_ready_reason() == "blocks cannot be stored"
            assert world.follower.status()["state"] == "cannot store"
            assert world.state_of("a") == ("followed", "")
        await world.until_at(sources["a"].head)
        await world.until_stage(SyncStage.LIVE)
        assert world.follower.not_ready_reason() is None
        numbers = [head.number for change in world.changes for head in change.added]
        assert numbers == list(range(1, before.number + blocks + 1))
        assert [line for line in caplog.messages if "cannot be stored" in line] == [
            line for line in caplog.messages if line.startswith("blocks cannot be stored: ")
        ][:1]


async def test_what_is_announced_meanwhile_is_followed_afterwards(opened: Open) -> None:
    async with opened("a", "b") as (world, sources):
        await world.until_stage(SyncStage.LIVE)
        sources["a"].grow(2)
        with files_of_at_most(FULL):
            await sources["a"].tell()
            await world.until_stage(SyncStage.UNSTORED)
        sources["a"].grow(2)
        with files_of_at_most(FULL):
            await sources["a"].tell()
            await world.until_stage(SyncStage.UNSTORED)
        await world.until_at(sources["a"].head)


async def test_a_driven_chain_that_lacks_room_brings_what_is_wanted_afterwards(opened: Open) -> None:
    async with opened("a", blocks=0, is_driven=True) as (world, sources):
        sources["a"].grow(100)
        await sources["a"].tell()
        await world.until(lambda: world.follower.highest == 100)
        with files_of_at_most(FULL):
            coming = world.follower.want(sources["a"].head.hash)
            await world.until_stage(SyncStage.UNSTORED)
            assert not coming.is_set()
        await coming.wait()
        assert world.live.tree.header(sources["a"].head.hash) is not None
