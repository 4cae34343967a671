"""Windows by time: filled and pruned down to the last block that is old enough."""

from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.memory_transport import asking
from tests.sync.follow.world import Open, World, opened_world
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.networks.table import find_network
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.storage.errors import OtherKindError
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.sync.follow import finality

pytestmark = pytest.mark.slow

BLOCK_SECONDS: Final = 12
"""Between two blocks of the upstreams."""


def timed(seconds: int, blocks: int = 1) -> FolderKind:
    return FolderKind(blocks, is_light=True, window_seconds=seconds)


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    return partial(opened_world, tmp_path, blocks=100, final=10)


def earliest(world: World) -> int:
    with world.chain.snapshot() as view:
        return view.earliest


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        pytest.param(timed(20 * BLOCK_SECONDS), 80, id="as many blocks as the time has"),
        pytest.param(timed(20 * BLOCK_SECONDS + 1), 79, id="a part of a block is one"),
        pytest.param(timed(45 * BLOCK_SECONDS), 55, id="more than one round of backfilling"),
        pytest.param(timed(BLOCK_SECONDS), 90, id="what is not final stays"),
        pytest.param(timed(20 * BLOCK_SECONDS, 40), 61, id="the blocks are more than the time"),
        pytest.param(timed(60 * BLOCK_SECONDS, 40), 40, id="the time is more than the blocks"),
        pytest.param(timed(200 * BLOCK_SECONDS), 0, id="down to the genesis"),
    ],
)
async def test_a_folder_has_the_blocks_of_its_time(opened: Open, kind: FolderKind, first: int) -> None:
    async with opened("a", kind=kind) as (world, sources):
        await world.until_at(sources["a"].head)
        await world.until(lambda: earliest(world) == first)
        # It is at rest there: neither a step down nor one up follows.
        assert world.follower.light is not None
        assert not await world.follower.light.window.step()
        assert earliest(world) == first


async def test_the_window_moves_with_the_head(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    # Otherwise what is final may have been asked for already, and again in a minute only.
    monkeypatch.setattr(finality, "EVERY_BLOCKS", 0)
    async with opened("a", kind=timed(20 * BLOCK_SECONDS)) as (world, sources):
        source = sources["a"]
        await world.until_at(source.head)
        await world.until(lambda: earliest(world) == 80)
        source.grow(30)
        source.finalize(10)
        await source.tell()
        await world.until_at(source.head)
        await world.until(lambda: earliest(world) == 110)
        ask = asking(Dispatcher(build_registry(world.chain), world.chain.snapshot))
        assert ask("eth_getBlockByNumber", "0x6d", False)["error"]["code"] == 4444
        assert ask("eth_capabilities")["result"]["blocks"]["deleteStrategy"]["retentionBlocks"] == hex(21)
        status = world.follower.status()
        assert (status["earliest"], status["window"], status["windowSeconds"]) == ("0x6e", 1, 240)


def test_a_folder_keeps_its_window_and_any_will_do_where_none_is_chosen(tmp_path: Path) -> None:
    genesis = find_network("base").genesis
    usual = FolderKind(7_200, is_light=True, window_seconds=7_200, is_usual=True)

    def open_as(folder: str, kind: FolderKind) -> FolderKind:
        with Chain.open(tmp_path / folder, genesis, writer=True, durable=False, kind=kind) as chain:
            return chain.kind

    assert open_as("timed", timed(90)) == open_as("timed", timed(90)) == open_as("timed", usual) == timed(90)
    with pytest.raises(
        OtherKindError, match="is a light folder of 90 seconds, not a light folder of 9 blocks"
    ):
        open_as("timed", FolderKind(9, is_light=True))
    assert open_as("usual", usual) == timed(7_200, 7_200)
    with pytest.raises(
        OtherKindError, match="is a light folder of 7200 seconds, and 7200 blocks or more, not"
    ):
        open_as("usual", timed(7_200))
    # One of before windows by time.
    assert open_as("old", FolderKind(7_200, is_light=True)) == open_as("old", usual)


def test_a_window_by_time_has_an_end_where_times_do_not_go_on() -> None:
    assert timed(7_200).most_blocks == 72_000
    assert timed(60, 5_000).most_blocks == 5_000
    assert FolderKind(9).most_blocks == 9
    assert FolderKind().most_blocks is None
