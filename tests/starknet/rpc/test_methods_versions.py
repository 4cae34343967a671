"""Both versions of the specification: all that another node over the same chain answers, and what differs."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.starknet.block_changes import Json
from tests.starknet.conftest import caller_of
from tests.starknet.models import ordered
from tests.starknet.reference.node import ReferenceNode
from tests.starknet.reference.pair import Pair
from tests.starknet.rpc.conftest import BLOCKS
from tests.vector_files import CHECKOUT
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.header_json import ADDED_MEMBERS
from wsnode.starknet.live.contents import BlockContents
from wsnode.starknet.live.streams import HEADS
from wsnode.sync.starknet_folder import import_folder

each_version = pytest.mark.parametrize("version", ["v0_9", "v0_10"])
OF_BLOCKS = (
    *("getBlockWithTxHashes", "getBlockWithTxs", "getBlockWithReceipts"),
    *("getBlockTransactionCount", "getStateUpdate"),
)
OF_CONTRACTS = ("getClassHashAt", "getNonce", "getClassAt")


def blocks(reference: ReferenceNode) -> Iterator[Any]:
    for number in (*range(BLOCKS + 1), BLOCKS + 5):
        yield {"block_number": number}
    yield {"block_hash": reference.ask("starknet_blockHashAndNumber", [])["block_hash"]}
    yield {"block_hash": "0x5"}
    yield "latest"


def calls(reference: ReferenceNode) -> Iterator[tuple[str, list[Any]]]:
    """Yield what can be asked of the chain."""
    for block_id in blocks(reference):
        for method in OF_BLOCKS:
            yield method, [block_id]
    for method in ("blockNumber", "blockHashAndNumber", "chainId", "specVersion", "syncing"):
        yield method, []
    whole = [reference.ask("starknet_getBlockWithReceipts", [{"block_number": n}]) for n in range(BLOCKS)]
    updates = [reference.ask("starknet_getStateUpdate", [{"block_number": n}]) for n in range(BLOCKS)]
    for block in whole:
        for index, item in enumerate(block["transactions"]):
            yield "getTransactionByBlockIdAndIndex", [{"block_hash": block["block_hash"]}, index]
            for method in ("getTransactionByHash", "getTransactionReceipt", "getTransactionStatus"):
                yield method, [item["receipt"]["transaction_hash"]]
    yield "getTransactionByBlockIdAndIndex", ["latest", 20]
    yield "getTransactionReceipt", ["0x5"]
    places = ({"block_number": 3}, {"block_number": BLOCKS // 2}, "latest", {"block_number": BLOCKS + 5})
    diffs = [update["state_diff"] for update in updates]
    addresses = {item["address"] for diff in diffs for item in diff["deployed_contracts"]}
    slots = {
        (item["address"], entry["key"])
        for diff in diffs
        for item in diff["storage_diffs"]
        for entry in item["storage_entries"]
    }
    for place in places:
        for method in OF_CONTRACTS:
            for address in (*sorted(addresses), "0x5"):
                yield method, [place, address]
        for address, key in sorted(slots):
            if (address, place) == ("0x1", {"block_number": 3}):
                # The reference has no such contract before the first write to it.
                continue
            yield "getStorageAt", [address, key, place]
    for item in diffs[0]["declared_classes"]:
        yield "getClass", [{"block_number": 0}, item["class_hash"]]
    yield "getClass", ["latest", "0x5"]


@pytest.mark.slow
@each_version
def test_every_answer_is_that_of_the_reference(pair: Pair, version: str) -> None:
    wrong = []
    for method, params in calls(pair.reference):
        own = pair.calls[version](f"starknet_{method}", params)
        expected = pair.reference.ask(f"starknet_{method}", params, version)
        if method == "getStateUpdate":
            own, expected = ordered(own), ordered(expected)
        if own != expected:
            wrong.append((method, params, own, expected))
    assert wrong == []


@each_version
def test_events_have_the_members_of_their_version(pair: Pair, version: str) -> None:
    for address in (None, pair.events()[0]["from_address"]):
        wanted: Json = {"chunk_size": 100, "address": address}
        page = pair.calls[version]("starknet_getEvents", [wanted])
        expected = pair.reference.ask("starknet_getEvents", [wanted], version)
        assert page["events"] == expected["events"]
        assert page["events"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("getEvents", [{"chunk_size": 1, "address": ["0x1"]}]),
        ("getStateUpdate", ["latest", ["0x1"]]),
        ("getStorageAt", ["0x1", "0x1", "latest", ["INCLUDE_LAST_UPDATE_BLOCK"]]),
        ("getBlockWithTxs", ["latest", ["INCLUDE_PROOF_FACTS"]]),
        ("getBlockWithReceipts", ["latest", ["INCLUDE_PROOF_FACTS"]]),
        ("getTransactionByHash", ["0x1", ["INCLUDE_PROOF_FACTS"]]),
        ("getTransactionByBlockIdAndIndex", ["latest", 0, ["INCLUDE_PROOF_FACTS"]]),
    ],
)
def test_the_earlier_version_refuses_later_parameters(pair: Pair, method: str, params: list[Any]) -> None:
    error = pair.calls["v0_9"](f"starknet_{method}", params)
    assert error["code"] == -32602
    assert error["data"]["reason"].endswith("this path (v0_9) has 0.9, use v0_10")
    assert pair.calls["v0_10"](f"starknet_{method}", params) != error


def test_the_earlier_version_has_no_migrated_classes(tmp_path: Path) -> None:
    block, update = (CHECKOUT / "fuzz/corpus/starknet/seed-poseidon").read_bytes().split(b"\0")
    changed = json.loads(update)
    changed["state_diff"]["migrated_compiled_classes"] = [{"class_hash": "0x1", "compiled_class_hash": "0x2"}]
    header = {name: value for name, value in json.loads(block).items() if name != "transactions"}
    dump = tmp_path / "dump"
    dump.mkdir()
    (dump / "block.json").write_text(json.dumps(header))
    (dump / "update.json").write_text(json.dumps(changed))
    with closing(StarknetChain.open(tmp_path, writer=True)) as chain:

        async def bring() -> None:
            await import_folder(chain, dump, first_block=9)

        trio.run(bring)
        newer, older = (
            caller_of(chain, version)("starknet_getStateUpdate", ["latest"])["state_diff"]
            for version in (None, "v0_9")
        )
    assert newer.keys() - older.keys() == {"migrated_compiled_classes"}
    assert {name: newer[name] for name in older} == older


def test_heads_have_the_members_of_their_version(pair: Pair) -> None:
    with pair.chain.snapshot() as view:
        row = view.block(BLOCKS)
        assert row is not None
        block = BlockContents(view, BLOCKS, row)
        older, newer = (
            json.loads(text)
            for is_before_0_10 in (True, False)
            for _, text in HEADS.items(block, is_before_0_10=is_before_0_10)
        )
    assert newer.keys() - older.keys() == ADDED_MEMBERS
    assert {name: newer[name] for name in older} == older
