"""Storage proofs that a light folder passes on are verified, and what a client asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.sync.starknet.made_chain import ACCOUNT, TOKEN, Json, MadeChain, MadeNode
from tests.sync.starknet.test_state_reader import at_head, proving
from tests.sync.starknet.world import World, followed
from tests.upstream.providers import Error
from wsnode.starknet.felt import felt_bytes
from wsnode.starknet.native import verify_starknet_proof

pytestmark = pytest.mark.slow

WINDOW = 4
SLOTS = [{"contract_address": TOKEN, "storage_keys": ["0x1", "0x2"]}]


@pytest.fixture
def made() -> MadeChain:
    chain = MadeChain()
    chain.grow(11)
    return chain


async def prove(world: World, **params: Any) -> Any:
    return await world.call("starknet_getStorageProof", **params)


def verified(made: MadeChain, proof: Json, contracts: list[tuple[str, list[str]]], classes: list[str]) -> Any:
    asked = [(felt_bytes(address), b"".join(map(felt_bytes, keys))) for address, keys in contracts]
    return verify_starknet_proof(
        json.dumps(proof).encode(),
        felt_bytes(made.head.hash),
        felt_bytes(made.head.block["new_root"]),
        b"".join(map(felt_bytes, classes)),
        asked,
    )


async def test_a_client_gets_a_proof_of_what_it_asked_for(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    (class_hash, *_) = made.classes
    async with followed(tmp_path, {"a": proving(made, nursery)}, window=WINDOW) as world:
        await at_head(world, made)
        proof = await prove(
            world,
            block_id="latest",
            class_hashes=[class_hash],
            contract_addresses=[TOKEN, "0xabcdef"],
            contracts_storage_keys=SLOTS,
        )
        found = verified(made, proof, [(TOKEN, ["0x1", "0x2"]), ("0xabcdef", [])], [class_hash])
        (token, nothing) = found.contracts
        assert nothing is None
        assert [int.from_bytes(value, "big") for value in token[3]] == [
            int(made.slot(made.head.number, key), 16) for key in ("0x1", "0x2")
        ]
        assert found.class_leaves[0] is not None
        # The contract of the slots is asked for, and not told.
        proof = await prove(world, block_id="latest", contracts_storage_keys=SLOTS)
        assert proof["contracts_proof"]["contract_leaves_data"] == []
        assert len(proof["contracts_storage_proofs"]) == 1
        empty = await prove(world, block_id="latest")
        assert empty["global_roots"]["block_hash"] == made.head.hash
        assert world.follower.reader.refused == 0


async def test_a_false_proof_is_not_passed_on(tmp_path: Path, nursery: trio.Nursery, made: MadeChain) -> None:
    def lie(_name: str, proof: Json) -> Json:
        proof["contracts_proof"]["contract_leaves_data"][0]["nonce"] = "0x77"
        return proof

    asked = {"block_id": "latest", "contract_addresses": [ACCOUNT], "contracts_storage_keys": SLOTS}
    nodes = {"a": proving(made, nursery, lie), "b": proving(made, nursery)}
    async with followed(tmp_path, nodes, window=WINDOW) as world:
        await at_head(world, made)
        await world.until(lambda: len(world.follower.upstreams.usable) == 2)
        for _ in range(4):
            proof = await prove(world, **asked)
            (leaf,) = proof["contracts_proof"]["contract_leaves_data"]
            assert leaf["nonce"] == hex(12)
    async with followed(tmp_path / "alone", {"a": proving(made, nursery, lie)}, window=WINDOW) as world:
        await at_head(world, made)
        error = await prove(world, **asked)
        assert error["message"] == f"no upstream proves the state of block {made.head.number}"
        assert error["data"]["tried"] == 1
        assert world.follower.reader.refused == 1


async def test_the_storage_root_of_a_leaf_is_the_proved_one(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    def as_juno(_name: str, proof: Json) -> Json:
        for leaf in proof["contracts_proof"]["contract_leaves_data"]:
            leaf["storage_root"] = proof["global_roots"]["contracts_tree_root"]
        return proof

    asked = {"block_id": "latest", "contract_addresses": [TOKEN], "contracts_storage_keys": SLOTS}
    async with followed(tmp_path, {"a": proving(made, nursery, as_juno)}, window=WINDOW) as world:
        await at_head(world, made)
        proof = await prove(world, **asked)
        (leaf,) = proof["contracts_proof"]["contract_leaves_data"]
        honest = made.prove(
            {
                "block_id": {"block_hash": made.head.hash},
                "contract_addresses": [TOKEN],
                "contracts_storage_keys": SLOTS,
            }
        )
        assert leaf == honest["contracts_proof"]["contract_leaves_data"][0]


@pytest.mark.parametrize(
    ("answer", "code"), [(Error(42, "too far"), 42), (Error(-32601, "no such method"), -32000), ([], -32000)]
)
async def test_an_upstream_that_proves_nothing_is_told(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain, answer: Any, code: int
) -> None:
    node = MadeNode(made, nursery)
    node.answers["getStorageProof"] = lambda _params: answer
    async with followed(tmp_path, {"a": node}, window=WINDOW) as world:
        await at_head(world, made)
        assert (await prove(world, block_id="latest", contract_addresses=[TOKEN]))["code"] == code


async def test_contracts_of_slots_count_towards_the_bound(
    tmp_path: Path, nursery: trio.Nursery, made: MadeChain
) -> None:
    def slots(count: int) -> list[Json]:
        return [{"contract_address": hex(0x5000 + each), "storage_keys": ["0x1"]} for each in range(count)]

    async with followed(tmp_path, {"a": proving(made, nursery)}, window=WINDOW) as world:
        await at_head(world, made)
        proof = await prove(world, block_id="latest", contracts_storage_keys=slots(50))
        assert "global_roots" in proof
        error = await prove(world, block_id="latest", contracts_storage_keys=slots(51))
        assert error["code"] == -32602
        assert "too many keys: 102" in error["data"]["reason"]
