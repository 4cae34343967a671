"""A full folder with a window, following: pruned up to what is final, and no further."""

from functools import partial
from pathlib import Path

import pytest

from tests.ethereum.live.growing import SENDER
from tests.memory_transport import asking
from tests.sync.follow.world import Open, World, opened_world
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.jsonrpc.dispatcher import Dispatcher


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Return what opens a full folder with a window that follows new upstreams."""
    return partial(opened_world, tmp_path, blocks=100, kind=FolderKind(20), final=10)


def earliest(world: World) -> int:
    with world.chain.snapshot() as view:
        return view.earliest


async def test_a_folder_is_pruned_to_its_window(opened: Open) -> None:
    async with opened("a") as (world, sources):
        await world.until_at(sources["a"].head)
        await world.until(lambda: earliest(world) == 81)
        ask = asking(Dispatcher(build_registry(world.chain), world.chain.snapshot))
        sender = f"0x{SENDER.hex()}"
        assert "result" in ask("eth_getBalance", sender, "0x51")
        assert ask("eth_getBalance", sender, "0x50")["error"]["code"] == 4444
        status = world.follower.status()
        assert (status["mode"], status["earliest"], status["window"]) == ("full", "0x51", 20)


async def test_what_is_not_final_stays_and_can_be_replaced(opened: Open) -> None:
    async with opened("a", final=60) as (world, sources):
        source = sources["a"]
        await world.until_at(source.head)
        await world.until(lambda: earliest(world) == 40)
        source.growing.reorganise(50, [()] * 52)
        await source.tell()
        await world.until_at(source.head)
        assert earliest(world) == 40
