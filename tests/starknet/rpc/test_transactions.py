"""Blocks with transactions, transactions and receipts: what a source had, proved, is returned in full."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.starknet.block_changes import Json
from tests.starknet.conftest import Call, caller_of
from tests.starknet.rpc.test_schemas import DOCUMENT, OF_TRANSACTIONS, validate
from tests.vector_files import CHECKOUT, require_vectors
from wsnode.starknet.chain import StarknetChain
from wsnode.store.environment import Writer
from wsnode.store.table import Table
from wsnode.sync.starknet_folder import import_folder

SEEDS = CHECKOUT / "fuzz/corpus/starknet"
PROOF_FACTS = ["INCLUDE_PROOF_FACTS"]
NAMES = {"0x534e5f4d41494e": "SN_MAIN", "0x534e5f5345504f4c4941": "SN_SEPOLIA"}


def imported(data: Path, folder: Path, first: int, name: str | None) -> StarknetChain:
    chain = StarknetChain.open(data, writer=True)

    async def bring() -> None:
        await import_folder(chain, folder, first_block=first, chain_id=name)

    trio.run(bring)
    return chain


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Call, Json]]:
    """A block of a transaction of each kind, and how to ask for it."""
    folder, data = (tmp_path_factory.mktemp(name) for name in ("dump", "data"))
    block, update = (SEEDS / "seed-poseidon").read_bytes().split(b"\0")
    (folder / "block.json").write_bytes(block)
    (folder / "update.json").write_bytes(update)
    with closing(imported(data, folder, 9, "SN_TEST")) as chain:
        yield caller_of(chain), json.loads(block)


def asked(call: Call, method: str, params: list[Any]) -> Any:
    """Return the result under both names, which is of the specified shape."""
    result = call(f"starknet_{method}", params)
    names = {
        "getTransactionByHash": ("transaction_hash", "response_flags"),
        "getTransactionReceipt": ("transaction_hash",),
        "getTransactionStatus": ("transaction_hash",),
        "getTransactionByBlockIdAndIndex": ("block_id", "index", "response_flags"),
    }.get(method, ("block_id", "response_flags"))
    assert call(f"alt_{method}", dict(zip(names, params, strict=False))) == result
    if not (isinstance(result, dict) and "code" in result):
        validate(f"starknet_{method}", result)
        DOCUMENT.validate(f"alt_{method}", result)
    return result


BLOCK = {"block_number": 9}


def test_a_block_is_returned_in_three_forms(made: tuple[Call, Json]) -> None:
    call, block = made
    hashes = [item["receipt"]["transaction_hash"] for item in block["transactions"]]
    whole = asked(call, "getBlockWithReceipts", [BLOCK])
    assert [item["receipt"]["transaction_hash"] for item in whole["transactions"]] == hashes
    assert asked(call, "getBlockWithTxHashes", [BLOCK]) == whole | {"transactions": hashes}
    transactions = [
        item["transaction"] | {"transaction_hash": text}
        for item, text in zip(whole["transactions"], hashes, strict=True)
    ]
    assert asked(call, "getBlockWithTxs", ["latest"]) == whole | {"transactions": transactions}
    assert asked(call, "getBlockTransactionCount", [{"block_hash": block["block_hash"]}]) == len(hashes)


def test_what_the_source_had_is_returned(made: tuple[Call, Json]) -> None:
    call, block = made
    whole = asked(call, "getBlockWithReceipts", [BLOCK, PROOF_FACTS])
    for told, returned in zip(block["transactions"], whole["transactions"], strict=True):
        assert returned == {
            "transaction": told["transaction"],
            "receipt": told["receipt"],
        }
    header = {name: value for name, value in block.items() if name != "transactions"}
    assert {name: whole[name] for name in header} == header


def test_proof_facts_come_on_request(made: tuple[Call, Json]) -> None:
    call, _ = made
    plain = asked(call, "getTransactionByBlockIdAndIndex", [BLOCK, 0])
    assert "proof_facts" not in plain
    flagged = asked(call, "getTransactionByBlockIdAndIndex", [BLOCK, 0, PROOF_FACTS])
    assert flagged == plain | {"proof_facts": ["0x3"]}
    assert "proof_facts" not in asked(call, "getTransactionByBlockIdAndIndex", [BLOCK, 1, PROOF_FACTS])
    assert call("starknet_getBlockWithTxs", [BLOCK, ["INCLUDE_ALL"]])["code"] == -32602


def test_a_transaction_is_found_by_its_hash(made: tuple[Call, Json]) -> None:
    call, block = made
    for index, item in enumerate(block["transactions"]):
        text = item["receipt"]["transaction_hash"]
        found = asked(call, "getTransactionByHash", [text])
        assert found == asked(call, "getTransactionByBlockIdAndIndex", [BLOCK, index])
        receipt = asked(call, "getTransactionReceipt", [text])
        assert receipt == item["receipt"] | {"block_hash": block["block_hash"], "block_number": 9}
        status = asked(call, "getTransactionStatus", [text])
        assert (status["finality_status"], status["execution_status"]) == (
            "ACCEPTED_ON_L2",
            item["receipt"]["execution_status"],
        )
        assert status.get("failure_reason") == item["receipt"].get("revert_reason")


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("getBlockWithTxs", [{"block_number": 10}], 24),
        ("getBlockWithReceipts", [{"block_hash": "0x1"}], 24),
        ("getBlockWithTxHashes", [{"block_number": 8}], -32000),
        ("getTransactionByBlockIdAndIndex", [BLOCK, 4], 27),
        ("getTransactionByBlockIdAndIndex", ["pending", 0], 27),
        ("getTransactionByBlockIdAndIndex", [BLOCK, -1], -32602),
        ("getTransactionByHash", ["0x1"], 29),
        ("getTransactionReceipt", ["0x1"], 29),
        ("getTransactionStatus", ["0x1"], 29),
    ],
)
def test_what_is_not_there_is_an_error(
    made: tuple[Call, Json], method: str, params: list[Any], code: int
) -> None:
    assert asked(made[0], method, params)["code"] == code


def test_the_pending_block_is_empty_and_follows_the_head(made: tuple[Call, Json]) -> None:
    call, block = made
    for method in ("getBlockWithTxHashes", "getBlockWithTxs", "getBlockWithReceipts"):
        pending = asked(call, method, ["pending"])
        assert (pending["block_number"], pending["transactions"]) == (10, [])
        assert pending["l1_gas_price"] == block["l1_gas_price"]
        assert "block_hash" not in pending
    assert asked(call, "getBlockTransactionCount", ["pending"]) == 0


def test_every_method_of_transactions_is_asked_for() -> None:
    source = "".join(
        Path(__file__).with_name(f"test_{name}.py").read_text() for name in ("transactions", "events")
    )
    assert all(name.removeprefix("starknet_") in source for name in OF_TRANSACTIONS["results"])


def test_a_block_without_transactions_says_so(call: Call) -> None:
    for method in ("getBlockWithTxHashes", "getBlockWithTxs", "getBlockWithReceipts"):
        error = call(f"starknet_{method}", [{"block_number": 3}])
        assert error == {
            "code": -32000,
            "message": "the block was imported without its transactions",
            "data": {"block_number": 3},
        }


@pytest.mark.parametrize("name", ["sepolia_3100000", "sepolia_100000"])
def test_a_nodes_reply_is_returned_as_it_was(tmp_path: Path, name: str) -> None:
    vector = json.loads(require_vectors(f"starknet-live/blocks/{name}.json").read_text())
    block = vector["block"]
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "1.json").write_text(json.dumps(block))
    (folder / "2.json").write_text(json.dumps(vector["state_update"]))
    number = block["block_number"]
    with closing(imported(tmp_path, folder, number, NAMES[vector["chain_id"]])) as chain:
        assert asked(caller_of(chain), "getBlockWithReceipts", [{"block_number": number}]) == block


def test_a_block_of_the_gateway_has_the_specified_shape(tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    source = require_vectors("starknet/mainnet/block_0_with_state_update.json")
    document = json.loads(source.read_text())
    # The gateway tells neither of the first blocks.
    document["block"] |= {"sequencer_address": "0x0", "starknet_version": "0.0.0"}
    (folder / "0.json").write_text(json.dumps(document))
    with closing(imported(tmp_path, folder, 0, None)) as chain:
        block = asked(caller_of(chain), "getBlockWithReceipts", [{"block_number": 0}])
    receipts = [item["receipt"] for item in block["transactions"]]
    told = document["block"]["transactions"]
    assert [item.get("contract_address") for item in receipts if item["type"] == "DEPLOY"] == [
        item["contract_address"] for item in told if item["type"] == "DEPLOY"
    ]


def test_a_block_that_is_replaced_takes_its_transactions_along(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    block, update = (json.loads(part) for part in (SEEDS / "seed-poseidon").read_bytes().split(b"\0"))
    (tmp_path / "first/9.json").write_text(json.dumps({"block": block, "state_update": update}))
    base = {"block_hash": "0x7", "old_root": "0x0", "new_root": "0x1", "block_number": 8}
    empty: Json = {name: [] for name in update["state_diff"]}
    (tmp_path / "first/8.json").write_text(json.dumps(base | {"state_diff": empty}))
    (tmp_path / "second/8.json").write_text(json.dumps(base | {"state_diff": empty}))
    other = {"block_hash": "0x99", "old_root": "0x1", "new_root": "0x2", "block_number": 9}
    (tmp_path / "second/9.json").write_text(json.dumps(other | {"state_diff": empty}))
    text = block["transactions"][0]["receipt"]["transaction_hash"]
    with closing(imported(data, tmp_path / "first", 8, "SN_TEST")) as chain:
        assert caller_of(chain)("starknet_getTransactionByHash", [text])["transaction_hash"] == text

        async def replace() -> None:
            await import_folder(chain, tmp_path / "second", replace=True)

        trio.run(replace)
        call = caller_of(chain)
        assert call("starknet_blockNumber") == 9
        assert call("starknet_getTransactionByHash", [text])["code"] == 29
        assert call("starknet_getBlockWithTxs", ["latest"])["code"] == -32000


def put_row(table: Table, key: bytes, value: bytes, writer: Writer) -> None:
    writer.put(table, key, value)


def test_events_of_blocks_that_are_not_here_are_an_error(made: tuple[Call, Json], call: Call) -> None:
    assert made[0]("starknet_getEvents", [{"chunk_size": 5}]) == {
        "code": -32000,
        "message": "history is not available below block 9",
        "data": {"first_block": 9},
    }
    assert call("starknet_getEvents", [{"chunk_size": 5}]) == {
        "code": -32000,
        "message": "the block was imported without its transactions",
        "data": {"block_number": 1},
    }
