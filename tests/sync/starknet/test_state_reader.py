"""State that no block of a window has written is what upstreams prove by a stored block's state root."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from tests.sync.starknet.made_chain import NOT_SAID, TOKEN, Json, Lie, MadeChain, MadeNode
from tests.sync.starknet.world import World, followed
from tests.upstream.providers import Error
from wsnode.sync.follow.sync_report import SyncStage
from wsnode.sync.starknet import state_reader as module

pytestmark = pytest.mark.slow

WINDOW = 4
NEW = "0xde01"
"""Contract that block 0 deploys."""


@pytest.fixture
def made() -> MadeChain:
    chain = MadeChain()
    chain.grow(11)
    return chain


def proving(made: MadeChain, nursery: trio.Nursery, lie: Lie = lambda _name, _result: NOT_SAID) -> MadeNode:
    node = MadeNode(made, nursery)

    def prove(params: Json) -> Any:
        proof = made.prove(params)
        told = lie("getStorageProof", proof)
        return proof if told is NOT_SAID else told

    node.answers["getStorageProof"] = prove
    return node


async def at_head(world: World, made: MadeChain) -> None:
    await world.until_at(made)
    await world.until(lambda: world.follower.stage is SyncStage.LIVE)
    await world.until(lambda: len(world.stored()) == WINDOW)


async def test_reads_of_every_block_of_the_window_are_the_chains(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    async with followed(tmp_path, {"a": proving(made, nursery)}, window=WINDOW) as world:
        await at_head(world, made)
        head = made.head.number
        deployed = made.blocks[0].update["state_diff"]["deployed_contracts"][0]["class_hash"]
        for number in range(head - WINDOW + 1, head + 1):
            block_id = {"block_number": number}
            # The last one is never written.
            for key in map(hex, range(head + 2)):
                value = await world.call("starknet_getStorageAt", TOKEN, key, block_id)
                assert value == made.slot(number, key)
            assert await world.call("starknet_getClassHashAt", block_id, NEW) == deployed
            assert await world.call("starknet_getClassAt", block_id, NEW) == made.classes[deployed]
            assert await world.call("starknet_getClass", block_id, deployed) == made.classes[deployed]
            assert await world.call("starknet_getNonce", block_id, NEW) == "0x0"
            assert await world.call("starknet_getStorageAt", NEW, "0x5", block_id) == "0x0"
        assert await world.call("starknet_getStorageAt", TOKEN, "0x2", "pending") == made.slot(head, "0x2")
        assert world.follower.reader.refused == 0


async def test_what_does_not_exist_is_proved_not_to(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    async with followed(tmp_path, {"a": proving(made, nursery)}, window=WINDOW) as world:
        await at_head(world, made)
        absent = {"code": 20, "message": "Contract not found"}
        for address in ("0xabcdef", TOKEN):
            for name in ("getClassHashAt", "getClassAt", "getNonce"):
                assert await world.call(f"starknet_{name}", "latest", address) == absent
        assert await world.call("starknet_getStorageAt", "0xabcdef", "0x1", "latest") == absent
        assert await world.call("starknet_getStorageAt", "0x2", "0x1", "latest") == "0x0"
        assert await world.call("starknet_getClass", "latest", "0xabc") == {
            "code": 28,
            "message": "Class hash not found",
        }
        flagged = await world.call(
            "starknet_getStorageAt", TOKEN, "0x2", "latest", ["INCLUDE_LAST_UPDATE_BLOCK"]
        )
        assert flagged["message"].startswith("history is not available below block")


async def test_a_proved_value_is_kept_while_its_block_is_on_the_chain(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    node = proving(made, nursery)
    async with followed(tmp_path, {"a": node}, window=WINDOW) as world:
        await at_head(world, made)
        for _ in range(3):
            assert await world.call("starknet_getStorageAt", TOKEN, "0x3", "latest") == made.slot(11, "0x3")
        assert node.asked["getStorageProof"] == 1
        await node.grow()
        await world.until_at(made)
        assert await world.call("starknet_getStorageAt", TOKEN, "0x3", "latest") == made.slot(12, "0x3")
        assert node.asked["getStorageProof"] == 1
        await node.reorganise(2, 3)
        await world.until_at(made)
        assert await world.call("starknet_getStorageAt", TOKEN, "0x3", "latest") == made.slot(13, "0x3")
        assert node.asked["getStorageProof"] == 2
        assert world.follower.reader.proved == 2


def _other_value(_name: str, proof: Json) -> Json:
    for nodes in proof["contracts_storage_proofs"]:
        for node in nodes:
            node["node"] = {
                name: "0x77" if name != "length" else value for name, value in node["node"].items()
            }
    return proof


def _other_leaf(_name: str, proof: Json) -> Json:
    for leaf in proof["contracts_proof"]["contract_leaves_data"]:
        leaf["nonce"] = "0x77"
    return proof


def _other_root(_name: str, proof: Json) -> Json:
    proof["global_roots"]["contracts_tree_root"] = "0x77"
    return proof


def _nothing(_name: str, _proof: Json) -> Any:
    return {}


@pytest.mark.parametrize("lie", [_other_value, _other_leaf, _other_root, _nothing])
async def test_a_false_proof_is_not_taken(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, lie: Lie
) -> None:
    liar = proving(made, nursery, lie)
    async with followed(tmp_path, {"a": liar}, window=WINDOW) as world:
        await at_head(world, made)
        error = await world.call("starknet_getStorageAt", TOKEN, "0x2", "latest")
        head, first = made.head.number, made.head.number - WINDOW + 1
        assert error == {
            "code": -32000,
            "message": f"no upstream proves the state of block {head}",
            "data": {"first_block": first, "tried": 1},
        }
        assert world.follower.reader.refused == 1
        liar.answers["getStorageProof"] = made.prove
        assert await world.call("starknet_getStorageAt", TOKEN, "0x2", "latest") == made.slot(11, "0x2")


async def test_the_next_upstream_is_asked_after_a_lie_or_a_refusal(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    nodes = {
        "a": proving(made, nursery, _other_leaf),
        "b": MadeNode(made, nursery),
        "c": proving(made, nursery),
    }
    nodes["b"].answers["getStorageProof"] = lambda _params: Error(42, "too old")
    async with followed(tmp_path, nodes, window=WINDOW) as world:
        await at_head(world, made)
        await world.until(lambda: len(world.follower.upstreams.usable) == 3)
        assert await world.call("starknet_getStorageAt", TOKEN, "0x2", "latest") == made.slot(11, "0x2")


async def test_a_storage_root_that_is_not_true_is_not_read(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    def juno(_name: str, proof: Json) -> Json:
        for leaf in proof["contracts_proof"]["contract_leaves_data"]:
            leaf["storage_root"] = proof["global_roots"]["contracts_tree_root"]
        return proof

    async with followed(tmp_path, {"a": proving(made, nursery, juno)}, window=WINDOW) as world:
        await at_head(world, made)
        assert await world.call("starknet_getStorageAt", TOKEN, "0x2", "latest") == made.slot(11, "0x2")
        assert await world.call("starknet_getNonce", "latest", NEW) == "0x0"


async def test_reads_beyond_the_bounds_are_refused_or_not_kept(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = proving(made, nursery)
    async with followed(tmp_path, {"a": node}, window=WINDOW) as world:
        await at_head(world, made)
        monkeypatch.setattr(module, "MAX_KEPT", 1)
        for key in ("0x2", "0x2", "0x3", "0x2"):
            assert await world.call("starknet_getStorageAt", TOKEN, key, "latest") == made.slot(11, key)
        assert node.asked["getStorageProof"] == 3
        monkeypatch.setattr(module, "MAX_PROVING", 1)
        assert await world.call("starknet_getStorageAt", TOKEN, "0x4", "latest") == made.slot(11, "0x4")
        monkeypatch.setattr(module, "MAX_PROVING", 0)
        error = await world.call("starknet_getStorageAt", TOKEN, "0x5", "latest")
        assert error == {
            "code": -32005,
            "message": "too many values wait for proofs",
            "data": {"limit": 0},
        }


@pytest.mark.parametrize("is_kept", [True, False])
async def test_a_fetched_class_is_kept_within_the_bound(
    tmp_path: Path,
    nursery: trio.Nursery,
    made: MadeChain,
    monkeypatch: pytest.MonkeyPatch,
    is_kept: bool,
) -> None:
    node = proving(made, nursery)
    class_hash = next(iter(made.classes))
    async with followed(tmp_path, {"a": node}, window=WINDOW) as world:
        await at_head(world, made)
        first = node.asked["getClass"]
        if not is_kept:
            monkeypatch.setattr(module, "MAX_CLASS_BYTES", 0)
        for _ in range(3):
            told = await world.call("starknet_getClass", "latest", class_hash)
            assert told == made.classes[class_hash]
        assert node.asked["getClass"] == first + (1 if is_kept else 3)
