"""A node that follows another program answers what that one answers, in both versions."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.node_process import Node, post, started, until
from tests.starknet.block_changes import Json
from tests.starknet.models import ordered
from tests.starknet.reference.node import CHAIN_ID, ReferenceNode
from tests.starknet.reference.pair import Pair
from tests.starknet.rpc.conftest import BLOCKS
from tests.starknet.rpc.test_methods_versions import calls, each_version
from tests.starknet.rpc.test_schemas import SCHEMAS, validate

pytestmark = pytest.mark.slow

SAMPLE = 150
"""Calls of a run that is not nightly."""
WINDOW = 8
OF_STATE = ("getStorageAt", "getNonce", "getClassHashAt", "getClassAt")
SENDER = {"type": "INVOKE", "version": "0x3", "sender_address": "0x1"}


def ask(node: Node, method: str, params: list[Any], version: str) -> Any:
    request = {"jsonrpc": "2.0", "id": 1, "method": f"starknet_{method}", "params": params}
    reply = json.loads(post(f"{node.bare(node.http_url)}rpc/{version}", json.dumps(request)))
    return reply["result"] if "result" in reply else reply["error"]


def followed(folder: Path, reference: ReferenceNode, transport: str, *kind: str) -> Any:
    upstream = f"{reference.url.replace('http', transport)}/rpc/v0_10"
    chain = ("--chain", f"starknet:{CHAIN_ID}", "--upstream", upstream, *kind)
    return started("follow", "--data", str(folder), *chain, "--listen", "127.0.0.1:0", "--open")


@pytest.fixture(scope="module", params=["full", "light"])
def node(
    request: pytest.FixtureRequest, pair: Pair, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Node]:
    kind = ("--full",) if request.param == "full" else ("--light", "--window", str(WINDOW))
    transport = "ws" if request.param == "full" else "http"
    with followed(tmp_path_factory.mktemp("followed") / "data", pair.reference, transport, *kind) as node:
        first = 0 if request.param == "full" else BLOCKS - WINDOW + 1
        until("it is at the head", lambda: ask(node, "blockNumber", [], "v0_10") == BLOCKS)
        until(
            "its first block is there",
            lambda: "new_root" in ask(node, "getStateUpdate", [{"block_number": first}], "v0_10"),
        )
        until(
            "what L1 has accepted is known",
            lambda: (
                first
                or ask(node, "getBlockWithTxHashes", [{"block_number": 0}], "v0_10")["status"]
                == "ACCEPTED_ON_L1"
            ),
        )
        yield node


def compare(node: Node, pair: Pair, wanted: list[tuple[str, list[Any]]], version: str) -> list[str]:
    """Return the methods that were compared: not those about blocks below the window."""
    wrong, compared = [], []
    for method, params in wanted:
        own = ask(node, method, params, version)
        is_below = isinstance(own, dict) and (
            str(own.get("message")).startswith("history is not") or own.get("code") in (24, 29)
        )
        expected = pair.reference.ask(f"starknet_{method}", params, version)
        if is_below and own != expected:
            assert "--light" in str(node.process.args)
            continue
        compared.append(method)
        if method == "getStateUpdate":
            own, expected = ordered(own), ordered(expected)
        if own != expected:
            wrong.append((method, params, own, expected))
        if (
            version == "v0_10"
            and f"starknet_{method}" in SCHEMAS["results"]
            and "code" not in (own if isinstance(own, dict) else {})
        ):
            validate(f"starknet_{method}", own)
    assert wrong == []
    return compared


@each_version
def test_read_methods_answer_as_the_upstream(node: Node, pair: Pair, version: str) -> None:
    every = list(calls(pair.reference))
    wanted = random.Random(version).sample(every, SAMPLE)
    compared = compare(node, pair, wanted, version)
    assert set(OF_STATE) <= set(compared)


@pytest.mark.nightly
@each_version
def test_all_read_methods_answer_as_the_upstream(node: Node, pair: Pair, version: str) -> None:
    every = list(calls(pair.reference))
    compared = compare(node, pair, every, version)
    assert {method for method, _ in every} == set(compared)


@each_version
def test_forwarded_calls_and_the_pre_confirmed_block_are_the_upstreams(
    node: Node, pair: Pair, version: str
) -> None:
    (entry, *_) = pair.reference.ask("starknet_getBlockWithReceipts", ["latest"])["transactions"]
    called: Json = {"contract_address": "0x1", "entry_point_selector": "0x2", "calldata": ["0x3"]}
    wanted: list[tuple[str, list[Any]]] = [
        ("call", [called, "latest"]),
        ("call", [called | {"contract_address": "0xabcdef"}, "latest"]),
        ("estimateFee", [[SENDER], [], "latest"]),
        ("estimateMessageFee", [SENDER, {"block_number": BLOCKS}]),
        ("traceTransaction", [entry["receipt"]["transaction_hash"]]),
        ("traceTransaction", ["0x5"]),
    ]
    pair.reference.command("preconfirm", count=2)
    try:
        count = ("getBlockTransactionCount", ["pre_confirmed"])
        until(
            "it is shown",
            lambda: ask(node, *count, version) == pair.reference.ask(f"starknet_{count[0]}", count[1]),
        )
        update = pair.reference.ask("starknet_getStateUpdate", ["pre_confirmed"])["state_diff"]
        shown = pair.reference.ask("starknet_getBlockWithTxHashes", ["pre_confirmed"])["transactions"]
        assert shown
        of_block = ("getBlockWithTxHashes", "getBlockWithTxs", "getBlockWithReceipts", "getStateUpdate")
        wanted += [(method, ["pre_confirmed"]) for method in of_block]
        of_transaction = ("getTransactionByHash", "getTransactionReceipt", "getTransactionStatus")
        wanted += [(method, [each]) for method in of_transaction for each in shown]
        wanted += [("getNonce", ["pre_confirmed", row["contract_address"]]) for row in update["nonces"]]
        wanted += [
            ("getStorageAt", [row["address"], slot["key"], "pre_confirmed"])
            for row in update["storage_diffs"]
            for slot in row["storage_entries"]
        ]
        wanted.append(
            ("getEvents", [{"from_block": "pre_confirmed", "to_block": "pre_confirmed", "chunk_size": 99}])
        )
        assert len(compare(node, pair, wanted, version)) == len(wanted)
    finally:
        pair.reference.command("preconfirm", count=0)
