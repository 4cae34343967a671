"""A full folder with a window has its blocks only, and the state of the whole chain."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from tests.doctor.damage import Silence, add, cut, damaged, drop, first_row, flip
from tests.sync.starknet.made_chain import TOKEN, MadeChain, MadeNode
from tests.sync.starknet.test_follower import hashes
from tests.sync.starknet.world import World, followed
from wsnode.doctor.examine import examine
from wsnode.starknet.storage.tables import CLASS_AT, COMPILED_AT, STORAGE_AT, TABLES, key_number
from wsnode.sync.follow.sync_report import SyncStage

pytestmark = pytest.mark.slow

WINDOW = 10
FULL = {"window": WINDOW, "keeps_state": True}
ROWS = (drop, add)
VALUES = (*ROWS, cut, flip)


@pytest.fixture
def made() -> MadeChain:
    chain = MadeChain()
    chain.grow(30)
    return chain


async def until_pruned(world: World, made: MadeChain, window: int = WINDOW) -> None:
    await world.until_at(made)
    await world.until(lambda: world.follower.stage is SyncStage.LIVE)
    await world.until(lambda: world.stored() == hashes(made, made.head.number - window + 1))
    # The thread that prunes has stored this before the writer reads it.
    await world.until(lambda: world.follower.writer.first_block == made.head.number - window + 1)


async def check_state(world: World, made: MadeChain) -> None:
    """Compare every slot at every block of the window; no upstream is asked for any."""
    (deployed, *_) = made.blocks[0].update["state_diff"]["deployed_contracts"]
    for block in made.blocks[-WINDOW:]:
        block_id = {"block_number": block.number}
        for key in map(hex, range(made.head.number + 2)):
            value = await world.call("starknet_getStorageAt", TOKEN, key, block_id)
            assert value == made.slot(block.number, key)
        found = await world.call("starknet_getClassHashAt", block_id, deployed["address"])
        assert found == deployed["class_hash"]
        assert (await world.call("starknet_getNonce", block_id, "0xabcdef"))["code"] == 20


async def test_state_before_the_window_is_there_and_roots_are_recomputed(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    async with followed(tmp_path, {"a": node}, **FULL) as world:
        await until_pruned(world, made)
        assert world.follower.writer.checks_roots
        await check_state(world, made)
        status = world.follower.status()
        assert (status["mode"], status["window"]) == ("full", WINDOW)
        assert status["lowestBlock"] == hex(made.head.number - WINDOW + 1)
        await node.grow(7)
        await until_pruned(world, made)
        await node.reorganise(5, 6)
        await until_pruned(world, made)
        await check_state(world, made)
        proof = await world.call("starknet_getStorageProof", block_id="latest", contract_addresses=[TOKEN])
        asked = {
            "block_id": {"block_hash": made.head.hash},
            "contract_addresses": [TOKEN],
            "contracts_storage_keys": [],
        }
        assert proof["contracts_proof"] == made.prove(asked)["contracts_proof"]
        gone = await world.call("starknet_getStateUpdate", {"block_number": 3})
        assert gone["message"].startswith("history is not available below block")
    assert node.asked["getStorageProof"] == 0
    (found,) = examine(tmp_path / "ours", Silence()).values()
    assert (found.faults, found.notes) == ({}, [])
    assert found.checked["blocks"] == found.checked["state roots"] == WINDOW


async def test_the_doctor_finds_damage_of_the_state_before_the_window(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = MadeNode(made, nursery)
    async with followed(tmp_path, {"a": node}, **FULL) as world:
        await until_pruned(world, made)
    store = tmp_path / "ours/alt/chain"
    # Of a class row the last byte is not the class.
    for table, damages in {STORAGE_AT: VALUES, CLASS_AT: ROWS, COMPILED_AT: VALUES}.items():
        key, value = first_row(store, TABLES, table)
        assert key_number(key) < made.head.number - WINDOW
        for damage in damages:
            with damaged(store, TABLES, table, damage, key, value):
                (found,) = examine(tmp_path / "ours", Silence()).values()
            assert "roots" in found.faults, (table.name, damage)


async def test_a_full_folder_takes_a_window_later_and_keeps_it(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    nodes = {"a": MadeNode(made, nursery)}
    async with followed(tmp_path, nodes, keeps_state=True) as world:
        await world.until(lambda: world.stored() == hashes(made))
    async with followed(tmp_path, nodes, **FULL) as world:
        await until_pruned(world, made)
        await check_state(world, made)
    # What is stored counts where no window is said.
    async with followed(tmp_path, nodes, keeps_state=True) as world:
        await nodes["a"].grow(3)
        await until_pruned(world, made)
        assert world.follower.writer.checks_roots
    # Another one replaces it; what has been removed stays away.
    async with followed(tmp_path, nodes, window=5, keeps_state=True) as world:
        await until_pruned(world, made, 5)


async def test_a_light_folder_does_not_become_a_full_one(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    nodes = {"a": MadeNode(made, nursery)}
    async with followed(tmp_path, nodes, window=WINDOW) as world:
        await until_pruned(world, made)
    async with followed(tmp_path, nodes, window=20, keeps_state=True) as world:
        await nodes["a"].grow()
        await until_pruned(world, made)
        assert world.follower.status()["mode"] == "light"
        assert not world.follower.writer.checks_roots


async def test_a_wrong_root_is_refused_above_a_pruned_state(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    nodes = {"a": MadeNode(made, nursery)}
    async with followed(tmp_path, nodes, **FULL) as world:
        await until_pruned(world, made)
    made.grow_with_another_root()
    async with followed(tmp_path, nodes, **FULL) as world:
        await world.until(lambda: world.state_of("a")[0] == "quarantined")
        assert "state_root" in world.state_of("a")[1]
        assert max(world.stored()) == made.head.number - 1
