"""Headers of subscriptions have exactly the members that the dump has."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.starknet.rpc.test_schemas import validate_as
from tests.vector_files import require_vectors
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.dump.header_members import header_members
from wsnode.starknet.header_json import render_header
from wsnode.sync.starknet_folder import import_folder


def last_header(chain: StarknetChain) -> dict[str, Any]:
    with chain.snapshot() as view:
        number = view.head
        assert number is not None
        row = view.block(number)
        assert row is not None
        header: dict[str, Any] = json.loads(render_header(view, number, row))
    return header


@pytest.mark.slow
async def test_a_nodes_header_is_told_whole(fresh: StarknetChain) -> None:
    source = require_vectors("starknet/rpc")
    await import_folder(fresh, source, first_block=3100000)
    validate_as("BLOCK_HEADER", last_header(fresh))
    told = json.loads((source / "block_sepolia_3100000.json").read_text())["result"]
    assert last_header(fresh) == {
        name: value for name, value in told.items() if name not in ("status", "transactions")
    }


async def test_the_gateways_header_is_told_in_the_nodes_words(fresh: StarknetChain, tmp_path: Path) -> None:
    source = require_vectors("starknet/single")
    for name in ("sepolia_integration_35748.json", "sepolia_integration_35748_block.json"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    await import_folder(fresh, tmp_path, first_block=35748)
    block = json.loads((source / "sepolia_integration_35748_block.json").read_text())
    other_names = {"parent_block_hash": "parent_hash", "state_root": "new_root"}
    kept = {name for name in block if name not in ("status", "transactions", "transaction_receipts")}
    assert last_header(fresh) == {other_names.get(name, name): block[name] for name in kept} | {
        "transaction_count": 2,
        "event_count": sum(len(receipt["events"]) for receipt in block["transaction_receipts"]),
    }


async def test_of_a_bare_state_update_only_what_it_tells_is_told(fresh: StarknetChain, mainnet: Path) -> None:
    await import_folder(fresh, mainnet / "state_update")
    updates = [json.loads((mainnet / f"state_update/{number}.json").read_text()) for number in (8, 9)]
    assert last_header(fresh) == {
        "block_hash": updates[1]["block_hash"],
        "parent_hash": updates[0]["block_hash"],
        "block_number": 9,
        "new_root": updates[1]["new_root"],
    }


async def test_the_parent_of_the_first_block_is_told_where_it_is_known(
    fresh: StarknetChain, tmp_path: Path
) -> None:
    source = require_vectors("starknet/single")
    (tmp_path / "2800.json.gz").write_bytes((source / "mainnet_2800.json.gz").read_bytes())
    await import_folder(fresh, tmp_path, first_block=2800)
    assert set(last_header(fresh)) == {"block_hash", "block_number", "new_root"}


@pytest.mark.parametrize(
    "members",
    [
        {"l1_da_mode": "OTHER"},
        {"l1_gas_price": {"price_in_wei": "0x1"}},
        {"l1_gas_price": {"price_in_wei": "1", "price_in_fri": "0x1"}},
        {"sequencer_address": "none"},
        {"transaction_count": -1},
        {"transaction_receipts": [{}]},
    ],
    ids=str,
)
def test_nothing_is_taken_from_a_malformed_header(members: dict[str, Any]) -> None:
    assert header_members(json.dumps({"event_count": 1, **members}).encode()) == {}


def test_the_members_are_in_the_order_of_the_document() -> None:
    members = {"transaction_count": 3, "l1_da_mode": "BLOB", "sequencer_address": "0x1", "event_count": 0}
    text = json.dumps({"block_hash": "0x1", **members}).encode()
    assert list(header_members(text).items()) == list(members.items())
