"""Access lists of a light folder's blocks: fetched beside their receipts, verified, and no condition."""

import logging
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.ethereum.live.growing import SENDER
from tests.sync.follow.world import NOT_SAID, Open, Source, World, opened_world
from tests.upstream.providers import Error
from wsnode.demo.genesis import development_genesis
from wsnode.ethereum.storage.folder_kind import FolderKind

METHOD = "debug_getRawBlockAccessList"
GENESIS = development_genesis([SENDER], 1, 1_700_000_000, fork="amsterdam")


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Return what opens a light folder that follows new upstreams after Amsterdam."""
    kind = FolderKind(20, is_light=True)
    return partial(opened_world, tmp_path, blocks=30, kind=kind, final=5, genesis=GENESIS)


def missing_lists(world: World, source: Source) -> list[int]:
    """Return the blocks of a folder whose lists are not kept; those that are have to be the source's."""
    missing = []
    with world.chain.snapshot() as ours, source.growing.chain.snapshot() as theirs:
        for number in range(ours.earliest, ours.number + 1):
            found = ours.access_list_at(number)
            assert found in (None, theirs.access_list_at(number))
            if found is None:
                missing.append(number)
    return missing


async def grown(world: World, source: Source) -> None:
    """Return once a new block of the source is the folder's head."""
    source.grow()
    await source.tell()
    await world.until_at(source.head)


def earliest(world: World) -> int:
    with world.chain.snapshot() as view:
        return view.earliest


async def test_lists_come_with_the_blocks_of_the_window_and_go_with_them(opened: Open) -> None:
    async with opened("a") as (world, sources):
        source = sources["a"]
        await world.until_at(source.head)
        await world.until(lambda: earliest(world) == 11)
        assert missing_lists(world, source) == []
        source.finalize(0)
        await grown(world, source)
        with world.chain.snapshot() as view:
            final = view.hash_of(view.number - 1)
        await world.follower._head_tracker.mark(safe=final, finalized=final)
        await world.until(lambda: earliest(world) == 12)
        assert missing_lists(world, source) == []
        with world.chain.snapshot() as view:
            assert view.access_list_at(11) is None


@pytest.mark.parametrize(
    "error",
    [Error(-32601, "no such method"), Error(4444, "pruned"), None],
    ids=["no method", "pruned", "null"],
)
async def test_an_upstream_without_lists_is_followed_as_well(opened: Open, error: Error | None) -> None:
    async with opened("a", blocks=12) as (world, sources):
        source, asked = sources["a"], Counter[Any]()

        def refuse(params: list[Any]) -> Any:
            asked[params[0]] += 1
            return error

        source.overrides[METHOD] = refuse
        await world.until_at(source.head)
        for _ in range(3):
            await grown(world, source)
            # A node that lacks the method is not asked again; lists of older blocks may be on their way.
            is_asked = error is None or error.code != -32601
            assert asked[f"0x{source.head.hash.hex()}"] == is_asked
        # The genesis block has its list, which is empty, from its header.
        assert [number for number in missing_lists(world, source) if number > 12] == [13, 14, 15]
        assert world.state_of("a") == ("followed", "")


def of_another_block(source: Source, params: list[Any]) -> Any:
    return source._ask(METHOD, "0x1")["result"] if params[0] != "0x1" else NOT_SAID


@pytest.mark.slow
@pytest.mark.parametrize("lie", ["0x", "0xc0", "0xc1", "0x77", "no hex", 7, "another block"])
async def test_a_wrong_list_is_logged_and_not_kept_and_the_block_is_taken(
    opened: Open, caplog: pytest.LogCaptureFixture, lie: Any
) -> None:
    caplog.set_level(logging.WARNING)
    async with opened("a", blocks=12, final=12) as (world, sources):
        source = sources["a"]
        await world.until_at(source.head)
        answer = partial(of_another_block, source) if lie == "another block" else lambda _params: lie
        source.overrides[METHOD] = answer
        first = source.head.number + 1
        for _ in range(2):
            await grown(world, source)
        assert missing_lists(world, source) == [first, first + 1]
        assert world.state_of("a") == ("followed", "")
    wrong = [record.message for record in caplog.records if "wrong access list" in record.message]
    # Something that is no bytes at all is the failure of one answer.
    assert len(wrong) == (lie not in ("no hex", 7))
