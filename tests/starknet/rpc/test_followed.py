"""A node that follows another program answers what that one answers, in both versions."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from tests.node_process import Node, post, started, until
from tests.starknet.block_changes import Json
from tests.starknet.models import ordered
from tests.starknet.reference.node import CHAIN_ID
from tests.starknet.reference.pair import Pair
from tests.starknet.rpc.conftest import BLOCKS
from tests.starknet.rpc.test_methods_versions import OF_BLOCKS, calls, each_version
from tests.starknet.rpc.test_schemas import SCHEMAS, validate_as_specified
from tests.starknet.rpc.test_state_storage_proofs import random_question

pytestmark = pytest.mark.slow

SAMPLE = 150
"""Calls of a run that is not nightly."""
WINDOW = 8
OF_STATE = ("getStorageAt", "getNonce", "getClassHashAt", "getClassAt")
SENDER = {"type": "INVOKE", "version": "0x3", "sender_address": "0x1"}
FULL: Final = ("--full",)
LIGHT: Final = ("--light", "--window", str(WINDOW))
WAYS: Final = (
    pytest.param((FULL, "ws", "pathfinder", "v0_10"), id="full, ws"),
    pytest.param((LIGHT, "http", "juno", "v0_10"), id="light, http, head proofs"),
    *(
        pytest.param(way, id=", ".join((way[0][0][2:], *way[1:])), marks=pytest.mark.nightly)
        for way in (
            (FULL, "http", "pathfinder", "v0_10"),
            (FULL, "ws", "pathfinder", "v0_9"),
            (LIGHT, "http", "pathfinder", "v0_10"),
            (LIGHT, "ws", "juno", "v0_10"),
            (LIGHT, "ws", "pathfinder", "v0_9"),
        )
    ),
)
"""Kind of folder, transport, form of the upstream's proofs, and version that it is asked in."""


def ask(node: Node, method: str, params: Any, version: str) -> Any:
    request = {"jsonrpc": "2.0", "id": 1, "method": f"starknet_{method}", "params": params}
    reply = json.loads(post(f"{node.bare(node.http_url)}rpc/{version}", json.dumps(request)))
    return reply["result"] if "result" in reply else reply["error"]


@pytest.fixture(scope="module", params=WAYS)
def node(
    request: pytest.FixtureRequest, pair: Pair, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Node]:
    kind, transport, proofs, version = request.param
    upstream = f"{pair.reference.url.replace('http', transport)}/rpc/{version}"
    chain = ("--chain", f"starknet:{CHAIN_ID}", "--upstream", upstream, *kind)
    data = tmp_path_factory.mktemp("followed") / "data"
    if proofs == "juno":
        pair.reference.command("lie", name="juno proofs")
        pair.reference.command("proofs", blocks=0)
    try:
        with started("follow", "--data", str(data), *chain, "--listen", "127.0.0.1:0", "--open") as node:
            until_complete(node, 0 if kind == FULL else BLOCKS - WINDOW + 1)
            yield node
    finally:
        pair.reference.command("tell the truth")
        pair.reference.command("proofs", blocks=64)


def until_complete(node: Node, first: int) -> None:
    """Wait for the head, the first block, and for what L1 has accepted."""
    until("it is at the head", lambda: ask(node, "blockNumber", [], "v0_10") == BLOCKS)
    until(
        "its first block is there",
        lambda: "new_root" in ask(node, "getStateUpdate", [{"block_number": first}], "v0_10"),
    )
    # A stored block has its status from the upstream, which may be known before this tag.
    until(
        "what L1 has accepted is known",
        lambda: first or "status" in ask(node, "getBlockWithTxHashes", ["l1_accepted"], "v0_10"),
    )


def is_light(node: Node) -> bool:
    assert isinstance(node.process.args, list)
    return "--light" in node.process.args


def questions(pair: Pair, version: str) -> list[tuple[str, Any]]:
    """Return what is asked of the chain: each method, in all its forms."""
    return [*calls(pair.reference), *of_events(pair, version), *of_state(pair, version)]


def of_events(pair: Pair, version: str) -> Iterator[tuple[str, Any]]:
    """Yield questions about events, and of the block that L1 has accepted."""
    event = pair.events()[0]
    ranges: list[Json] = [
        {},
        {"from_block": {"block_number": BLOCKS - 3}},
        {"from_block": {"block_number": BLOCKS - 3}, "to_block": {"block_number": BLOCKS - 1}},
        {"from_block": "latest", "to_block": "latest"},
    ]
    filters: list[Json] = [
        {},
        {"address": event["from_address"]},
        {"keys": [[event["keys"][0]]]},
        {"keys": [[], [event["keys"][1], "0x1"]]},
        {"address": "0x5"},
    ]
    if version == "v0_10":
        filters.append({"address": [event["from_address"], "0x5"]})
    for wanted in filters:
        for blocks in ranges:
            yield "getEvents", [{"chunk_size": 1024, **blocks, **wanted}]
    yield "getEvents", [{"chunk_size": 1025}]
    yield "getEvents", [{"chunk_size": 1, "keys": [["0x1"] * 17]}]
    yield "getEvents", [{"chunk_size": 1, "continuation_token": "no token"}]
    for method in OF_BLOCKS:
        yield method, ["l1_accepted"]


def of_state(pair: Pair, version: str) -> Iterator[tuple[str, Any]]:
    """Yield questions about proofs, and those with parameters that only 0.10 has."""
    chance = random.Random(version)
    for number in (BLOCKS, BLOCKS - 1, BLOCKS - 5):
        yield "getStorageProof", random_question(chance, pair, number)
    if version == "v0_9":
        return
    for number in (1, BLOCKS):
        update = pair.reference.ask("starknet_getStateUpdate", [{"block_number": number}])
        rows = update["state_diff"]["storage_diffs"]
        yield "getStateUpdate", [{"block_number": number}, [rows[0]["address"], "0x5"]]
        for row in rows:
            for entry in row["storage_entries"]:
                slot = [row["address"], entry["key"], "latest", ["INCLUDE_LAST_UPDATE_BLOCK"]]
                yield "getStorageAt", slot


def comparable(proof: Json) -> Json:
    """Return a proof without what the schema does not name, and without what juno answers falsely.

    These are null for a contract that does not exist, and storage roots, which proofs do not need.
    """
    contracts = proof["contracts_proof"]
    leaves = [
        {name: value for name, value in leaf.items() if name != "storage_root"}
        for leaf in contracts["contract_leaves_data"]
        if leaf is not None
    ]
    return proof | {"contracts_proof": contracts | {"contract_leaves_data": leaves}}


def compare(node: Node, pair: Pair, wanted: list[tuple[str, Any]], version: str) -> list[str]:
    """Return the methods that were compared: not those about blocks below the window."""
    wrong, compared = [], []
    for method, params in wanted:
        own = ask(node, method, params, version)
        is_below = isinstance(own, dict) and (
            str(own.get("message")).startswith(("history is not", "no upstream proves"))
            or own.get("code") in (24, 29)
        )
        expected = pair.reference.ask(f"starknet_{method}", params, version)
        if is_below and own != expected:
            assert is_light(node), (method, params, own, expected)
            continue
        compared.append(method)
        is_error = isinstance(own, dict) and "code" in own
        if is_error:
            # Data of errors is open.
            own, expected = (
                {name: each.get(name) for name in ("code", "message")} for each in (own, expected)
            )
        if method == "getStorageProof" and not is_error:
            own, expected = comparable(own), comparable(expected)
        if method in ("getStateUpdate", "getStorageProof"):
            own, expected = ordered(own), ordered(expected)
        if (method, params) == ("getStateUpdate", ["pre_confirmed"]) and "old_root" not in expected:
            # An upstream that is asked in 0.9 names it; 0.10 makes it optional.
            own.pop("old_root", None)
        if own != expected:
            wrong.append((method, params, own, expected))
        if not is_error and f"starknet_{method}" in SCHEMAS["results"]:
            validate_as_specified(f"starknet_{method}", own, version)
    assert wrong == []
    return compared


@each_version
def test_read_methods_answer_as_the_upstream(node: Node, pair: Pair, version: str) -> None:
    wanted = random.Random(version).sample(list(calls(pair.reference)), SAMPLE)
    wanted += [*of_events(pair, version), *of_state(pair, version)]
    compared = compare(node, pair, wanted, version)
    assert {*OF_STATE, "getEvents"} <= set(compared)


@pytest.mark.nightly
@each_version
def test_all_read_methods_answer_as_the_upstream(node: Node, pair: Pair, version: str) -> None:
    compared = compare(node, pair, questions(pair, version), version)
    assert set(compared) == {method.removeprefix("starknet_") for method in SCHEMAS["results"]}


@each_version
def test_pages_of_events_are_the_upstreams(node: Node, pair: Pair, version: str) -> None:
    wanted = {"chunk_size": 7, "from_block": {"block_number": BLOCKS - 5}, "to_block": "latest"}

    def all_events(page_of: Callable[[Json], Json]) -> list[Json]:
        page = page_of(wanted)
        events: list[Json] = page["events"]
        while (token := page.get("continuation_token")) is not None:
            page = page_of(wanted | {"continuation_token": token})
            events += page["events"]
        return events

    own = all_events(lambda filter_object: ask(node, "getEvents", [filter_object], version))
    expected = all_events(
        lambda filter_object: pair.reference.ask("starknet_getEvents", [filter_object], version)
    )
    assert own == expected
    assert len(own) > 7


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
    count = ("getBlockTransactionCount", ["pre_confirmed"])

    def is_shown() -> bool:
        shown: bool = ask(node, *count, version) == pair.reference.ask(f"starknet_{count[0]}", count[1])
        return shown

    # The node may still have the pre-confirmed block of another test.
    until("nothing is shown", is_shown)
    pair.reference.command("preconfirm", count=2)
    try:
        until("it is shown", is_shown)
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
