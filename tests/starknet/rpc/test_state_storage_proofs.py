"""Storage proofs: those of another program's node are verified, and this node's are equal to them."""

import json
import random
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.reply_schemas import ReplySchemas, document_of
from tests.starknet.block_changes import Json
from tests.starknet.conftest import Call, caller_of
from tests.starknet.reference.node import reference_node
from tests.starknet.reference.pair import Pair
from tests.starknet.rpc.conftest import BLOCKS
from tests.starknet.rpc.test_schemas import validate_as_specified
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.felt import felt_bytes
from wsnode.starknet.followed import ProofRequest
from wsnode.starknet.native import RefusedProofError, StarknetProvedState, verify_starknet_proof
from wsnode.starknet.proofs import prover
from wsnode.starknet.proofs.prover import StateProofError, StateProver
from wsnode.starknet.rpc import state as state_methods
from wsnode.starknet.rpc.methods import build_registry
from wsnode.sync.starknet_folder import import_folder


@pytest.fixture(scope="module")
def call(pair: Pair) -> Call:
    return caller_of(pair.chain, prover=StateProver(pair.chain))


def written(pair: Pair, number: int) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """Return contracts, slots and classes that the blocks up to a number have written."""
    contracts: dict[str, None] = {}
    slots: dict[tuple[str, str], None] = {}
    classes: dict[str, None] = {}
    for block in range(number + 1):
        diff = pair.reference.ask("starknet_getStateUpdate", [{"block_number": block}])["state_diff"]
        contracts.update(dict.fromkeys(row["address"] for row in diff["deployed_contracts"]))
        classes.update(dict.fromkeys(row["class_hash"] for row in diff["declared_classes"]))
        for row in diff["storage_diffs"]:
            slots.update(dict.fromkeys((row["address"], entry["key"]) for entry in row["storage_entries"]))
    return list(contracts), list(slots), list(classes)


def verified(proof: Json, pair: Pair, number: int, params: Json) -> StarknetProvedState:
    """Return what a reply to `params` proves by the root of this node's own block."""
    with pair.chain.snapshot() as view:
        row = view.block(number)
        assert row is not None
    slots = {item["contract_address"]: item["storage_keys"] for item in params["contracts_storage_keys"]}
    contracts = [
        (felt_bytes(address), b"".join(map(felt_bytes, slots.get(address, ()))))
        for address in params["contract_addresses"]
    ]
    classes = b"".join(map(felt_bytes, params["class_hashes"]))
    return verify_starknet_proof(json.dumps(proof).encode(), row.hash, row.new_root, classes, contracts)


def random_question(chance: random.Random, pair: Pair, number: int, *, share: float = 0.8) -> Json:
    """Return parameters that name contracts, classes and slots, a `share` of the contracts with slots."""
    contracts, slots, classes = written(pair, number)
    names = [*chance.sample(contracts, min(len(contracts), 4)), hex(chance.getrandbits(250)), "0x1"]
    chance.shuffle(names)
    keys = {
        address: [*[key for owner, key in slots if owner == address][:5], hex(chance.getrandbits(250))]
        for address in names
        if chance.random() < share
    }
    return {
        "block_id": {"block_number": number},
        "class_hashes": [*chance.sample(classes, min(len(classes), 2)), hex(chance.getrandbits(250))],
        "contract_addresses": names,
        "contracts_storage_keys": [
            {"contract_address": address, "storage_keys": among} for address, among in keys.items()
        ],
    }


def compare(pair: Pair, proved: StarknetProvedState, number: int, params: Json) -> None:
    """Check each proved value against the reference's own answer."""
    block = {"block_number": number}
    slots = {item["contract_address"]: item["storage_keys"] for item in params["contracts_storage_keys"]}
    for address, found in zip(params["contract_addresses"], proved.contracts, strict=True):
        told = pair.reference.ask("starknet_getClassHashAt", [block, address])
        if found is None:
            assert told["code"] == 20
            continue
        class_hash, nonce, _, values = found
        if address != "0x1":
            assert class_hash == felt_bytes(told)
            assert nonce == felt_bytes(pair.reference.ask("starknet_getNonce", [block, address]))
        keys = slots.get(address, ())
        told = [pair.reference.ask("starknet_getStorageAt", [address, key, block]) for key in keys]
        assert values == list(map(felt_bytes, told))


@pytest.mark.parametrize("style", ["pathfinder", "juno"])
@pytest.mark.parametrize("seed", range(6))
def test_a_proof_of_the_reference_gives_its_values(pair: Pair, seed: int, style: str) -> None:
    chance = random.Random(seed)
    number = chance.randrange(1, BLOCKS + 1)
    # Where the told storage root is none, only the slots' nodes have it.
    params = random_question(chance, pair, number, share=1.0 if style == "juno" else 0.8)
    if style == "juno":
        pair.reference.command("lie", name="juno proofs")
    try:
        proof = pair.reference.ask("starknet_getStorageProof", params)
    finally:
        pair.reference.command("tell the truth")
    proved = verified(proof, pair, number, params)
    compare(pair, proved, number, params)
    assert [leaf is not None for leaf in proved.class_leaves][-1] is False


@pytest.mark.parametrize("seed", range(4))
def test_a_lie_about_a_proof_is_refused(pair: Pair, seed: int) -> None:
    chance = random.Random(seed)
    params = random_question(chance, pair, BLOCKS)
    pair.reference.command("lie", name="proof wrong")
    try:
        proof = pair.reference.ask("starknet_getStorageProof", params)
    finally:
        pair.reference.command("tell the truth")
    with pytest.raises(RefusedProofError) as refused:
        verified(proof, pair, BLOCKS, params)
    assert refused.value.rule == "unknown_storage_root"


def in_any_order(proof: Json) -> Json:
    """Return a proof with its lists of nodes sorted, whose order nobody has fixed."""

    def ordered(nodes: list[Json]) -> list[Json]:
        return sorted(nodes, key=lambda item: str(item["node_hash"]))

    contracts = proof["contracts_proof"]
    return {
        **proof,
        "classes_proof": ordered(proof["classes_proof"]),
        "contracts_proof": {**contracts, "nodes": ordered(contracts["nodes"])},
        "contracts_storage_proofs": list(map(ordered, proof["contracts_storage_proofs"])),
    }


@pytest.mark.parametrize("seed", range(12))
def test_a_proof_is_that_of_the_reference(pair: Pair, call: Call, seed: int) -> None:
    chance = random.Random(100 + seed)
    number = chance.randrange(BLOCKS + 1)
    params = random_question(chance, pair, number)
    expected = in_any_order(pair.reference.ask("starknet_getStorageProof", params))
    for family in ("starknet", "alt"):
        assert in_any_order(call(f"{family}_getStorageProof", params)) == expected
    by_hash = params | {"block_id": {"block_hash": expected["global_roots"]["block_hash"]}}
    assert in_any_order(call("starknet_getStorageProof", list(by_hash.values()))) == expected


def test_a_proof_has_the_shape_of_the_specification(pair: Pair, call: Call) -> None:
    document = ReplySchemas(document_of(build_registry(prover=StateProver(pair.chain))))
    params = random_question(random.Random(7), pair, BLOCKS)
    proof = call("starknet_getStorageProof", params)
    document.validate("starknet_getStorageProof", proof)
    contracts = proof["contracts_proof"]
    # The specification has no form for a contract that does not exist; pathfinder and juno answer null.
    there = [leaf for leaf in contracts["contract_leaves_data"] if leaf is not None]
    assert len(there) < len(contracts["contract_leaves_data"])
    validate_as_specified(
        "starknet_getStorageProof", {**proof, "contracts_proof": {**contracts, "contract_leaves_data": there}}
    )
    only_roots = call("starknet_getStorageProof", ["latest"])
    validate_as_specified("starknet_getStorageProof", only_roots)
    assert only_roots["global_roots"] == proof["global_roots"]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"block_id": "pending"}, -32602),
        ({"block_id": "pre_confirmed"}, -32602),
        ({"block_id": {"block_number": BLOCKS + 1}}, 24),
        ({"block_id": {"block_hash": "0xdead"}}, 24),
        ({"block_id": "latest", "class_hashes": [hex(2**251)]}, -32602),
        ({"block_id": "latest", "class_hashes": "0x1"}, -32602),
        ({"block_id": "latest", "contract_addresses": ["0x1"] * 101}, -32602),
        ({"block_id": "latest", "contract_addresses": ["0x1"] * 60, "class_hashes": ["0x1"] * 41}, -32602),
        ({"block_id": "latest", "contracts_storage_keys": [{"contract_address": "0x1"}]}, -32602),
        (
            {
                "block_id": "latest",
                "contracts_storage_keys": [{"contract_address": "0x1", "storage_keys": ["0x1"] * 101}],
            },
            -32602,
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_other_questions_are_refused(call: Call, params: Json, code: int) -> None:
    assert call("starknet_getStorageProof", params)["code"] == code


def test_a_hundred_keys_are_proved(call: Call) -> None:
    slots = [{"contract_address": "0x1", "storage_keys": list(map(hex, range(50)))}]
    params = {"contract_addresses": ["0x1"] * 30, "class_hashes": ["0x1"] * 20}
    proof = call(
        "starknet_getStorageProof", {"block_id": "latest", "contracts_storage_keys": slots, **params}
    )
    assert len(proof["contracts_proof"]["contract_leaves_data"]) == 30


def test_a_block_too_far_below_the_head_is_not_proved(
    pair: Pair, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_methods, "PROVED_BLOCKS", 5)
    assert "global_roots" in call("starknet_getStorageProof", [{"block_number": BLOCKS - 5}])
    assert call("starknet_getStorageProof", [{"block_number": BLOCKS - 6}]) == {
        "code": 42,
        "message": "the node doesn't support storage proofs for blocks that are too far in the past",
    }


@pytest.fixture
def changing(tmp_path: Path) -> Iterator[Pair]:
    with (
        reference_node(6) as reference,
        closing(StarknetChain.open(tmp_path / "data", writer=True)) as chain,
    ):
        (tmp_path / "dump").mkdir()
        yield Pair(reference, chain, tmp_path / "dump")


@pytest.mark.slow
def test_the_tries_follow_the_chain(changing: Pair) -> None:
    call = caller_of(changing.chain, prover=StateProver(changing.chain))

    def check(number: int) -> None:
        params = random_question(random.Random(number), changing, number)
        expected = changing.reference.ask("starknet_getStorageProof", params)
        assert in_any_order(call("starknet_getStorageProof", params)) == in_any_order(expected)

    for number in (3, 6, 1, 5, 0, 6):
        check(number)
    changing.reference.command("grow", count=2)
    changing.bring()
    check(8)
    changing.reference.command("reorganise", depth=4, count=3)
    changing.bring()
    for number in (7, 4, 5):
        check(number)


def test_a_state_with_too_many_values_is_not_proved(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    with pair.chain.snapshot() as view:
        row = view.block(BLOCKS)
        assert row is not None
    whole = StateProver(pair.chain)
    assert whole.prove(BLOCKS, row.hash, ProofRequest()) is not None
    values = number_of_values(pair)
    monkeypatch.setattr(prover, "MAX_VALUES", values)
    assert StateProver(pair.chain).prove(BLOCKS, row.hash, ProofRequest()) is not None
    monkeypatch.setattr(prover, "MAX_VALUES", values - 1)
    refusing = StateProver(pair.chain)
    for _ in range(2):
        with pytest.raises(StateProofError, match=f"more than {values - 1} values"):
            refusing.prove(BLOCKS, row.hash, ProofRequest())
    answer = caller_of(pair.chain, prover=refusing)("starknet_getStorageProof", ["latest"])
    assert answer["code"] == -32000
    # The tries of an earlier question are used on.
    assert whole.prove(BLOCKS - 1, b"another block", ProofRequest()) is None


def number_of_values(pair: Pair) -> int:
    """Return how many slots, classes of contracts, nonces and compiled classes the blocks have written."""
    found: set[tuple[Any, ...]] = set()
    for number in range(BLOCKS + 1):
        diff = pair.reference.ask("starknet_getStateUpdate", [{"block_number": number}])["state_diff"]
        for row in diff["storage_diffs"]:
            found.update(("slot", row["address"], entry["key"]) for entry in row["storage_entries"])
        found.update(("class", row["address"]) for row in diff["deployed_contracts"])
        found.update(("class", row["contract_address"]) for row in diff["replaced_classes"])
        found.update(("nonce", row["contract_address"]) for row in diff["nonces"])
        found.update(("compiled", row["class_hash"]) for row in diff["declared_classes"])
    return len(found)


def test_a_history_that_begins_later_has_no_proofs(pair: Pair, tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    lines = pair.reference.dump(folder / "blocks.jsonl").read_text().splitlines(keepends=True)
    (folder / "blocks.jsonl").write_text("".join(lines[3:]))
    with closing(StarknetChain.open(tmp_path / "data", writer=True)) as chain:
        trio.run(partial(import_folder, chain, folder, chain_id="SN_TEST", first_block=3))
        answer = caller_of(chain, prover=StateProver(chain))("starknet_getStorageProof", ["latest"])
        assert (answer["code"], answer["data"]) == (-32000, {"first_block": 3})
