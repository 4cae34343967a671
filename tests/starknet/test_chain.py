"""Every contract, slot and block of the main network's first ten blocks, against the feeder's own words."""

from pathlib import Path
from typing import Any

import pytest

from tests.starknet.conftest import Call
from tests.starknet.models import flat_rows, ordered, rpc_diff, state_updates
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.felt import felt_bytes
from wsnode.starknet.roots import StateRoots

CLASS = "0x10455c752b86932ce552f2b0fe81a880746649b9aee7e0d842bf3f52378f9f8"
NUMBERS = range(10)


def identities(updates: list[dict[str, Any]], number: int) -> list[Any]:
    """Return every way to name block `number`."""
    padded = "0x" + updates[number]["block_hash"][2:].upper().zfill(64)
    names = [{"block_number": number}, {"block_hash": updates[number]["block_hash"]}, {"block_hash": padded}]
    return [*names, "latest", "pending"] if number == 9 else names


@pytest.mark.parametrize("number", NUMBERS)
def test_the_flat_state_update_is_the_feeders(call: Call, mainnet: Path, number: int) -> None:
    updates = state_updates(mainnet)
    expected = updates[number]
    for block_id in [name for name in identities(updates, number) if name != "pending"]:
        answered = call("alt_getStateUpdate", {"block_id": block_id})
        assert {name: answered[name] for name in ("block_hash", "old_root", "new_root")} == {
            name: expected[name] for name in ("block_hash", "old_root", "new_root")
        }
        diff = expected["state_diff"]
        assert ordered(answered["state_diff"]) == ordered(rpc_diff(diff) | {"storage_diffs": flat_rows(diff)})


@pytest.mark.parametrize("number", NUMBERS)
def test_the_nested_state_update_is_the_feeders(call: Call, mainnet: Path, number: int) -> None:
    updates = state_updates(mainnet)
    for block_id in [name for name in identities(updates, number) if name != "pending"]:
        answered = call("starknet_getStateUpdate", [block_id])
        assert ordered(answered["state_diff"]) == ordered(rpc_diff(updates[number]["state_diff"]))


def test_a_contract_has_its_class_from_its_block_on_and_not_before(
    call: Call, mainnet: Path, classes: Path
) -> None:
    updates = state_updates(mainnet)
    seen = 0
    for deployed, update in enumerate(updates):
        for contract in update["state_diff"]["deployed_contracts"]:
            seen += 1
            for number in NUMBERS:
                for block_id in identities(updates, number):
                    params = {"block_id": block_id, "contract_address": contract["address"]}
                    answered = call("alt_getClassHashAt", params)
                    assert answered == (
                        CLASS if number >= deployed else {"code": 20, "message": "Contract not found"}
                    )
                    if number in (deployed - 1, deployed, 9):
                        definition = call("alt_getClassAt", params)
                        assert ("program" in definition) is (number >= deployed)
    assert seen == 29


def test_every_slot_has_at_every_block_what_was_written_last(call: Call, mainnet: Path) -> None:
    updates = state_updates(mainnet)
    every_slot = {
        (row["address"], row["key"]) for update in updates for row in flat_rows(update["state_diff"])
    }
    state: dict[tuple[str, str], str] = {}
    deployed: set[str] = set()
    for number, update in enumerate(updates):
        state.update({(row["address"], row["key"]): row["value"] for row in flat_rows(update["state_diff"])})
        deployed.update(contract["address"] for contract in update["state_diff"]["deployed_contracts"])
        for address, key in every_slot:
            params = {"block_id": {"block_number": number}, "contract_address": address, "key": key}
            answered = call("alt_getStorageAt", params)
            absent = "0x0" if address in deployed else {"code": 20, "message": "Contract not found"}
            assert answered == state.get((address, key), absent)


def test_a_flag_asks_for_the_block_that_wrote_a_slot(call: Call, mainnet: Path) -> None:
    row = flat_rows(state_updates(mainnet)[9]["state_diff"])[0]
    flags = ["INCLUDE_LAST_UPDATE_BLOCK"]
    answered = call("starknet_getStorageAt", [row["address"], row["key"], "latest", flags])
    assert answered == {"value": row["value"], "last_update_block": 9}
    never = call("starknet_getStorageAt", [row["address"], "0x123456", "latest", flags])
    assert never == {"value": "0x0", "last_update_block": 0}


def test_tries_built_from_the_store_have_the_heads_root(chain: StarknetChain, mainnet: Path) -> None:
    updates = state_updates(mainnet)
    with chain.reader() as reader:
        roots = StateRoots.of_head(reader)
    assert roots.root() == felt_bytes(updates[9]["new_root"])
