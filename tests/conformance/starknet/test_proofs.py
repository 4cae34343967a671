"""A real storage proof, of a juno node of Sepolia: it is verified as it is, and not with other nodes."""

import copy
import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.starknet.block_changes import Json
from tests.vector_files import require_vectors
from wsnode.starknet.felt import felt_bytes, number_felt
from wsnode.starknet.native import RefusedProofError, StarknetProvedState, verify_starknet_proof

HEIGHT = 251


@cache
def vector() -> Json:
    file = require_vectors("starknet-live/messages") / "getStorageProof_result.json"
    proof: Json = json.loads(file.read_text())["result"]
    return proof


def leaves(root: str, nodes: list[Json]) -> list[int]:
    """Return the keys of the leaves that the nodes lead to."""
    known = {item["node_hash"]: item["node"] for item in nodes}
    found: list[int] = []

    def walk(node_hash: str, depth: int, path: int) -> None:
        if depth == HEIGHT:
            found.append(path)
        elif (node := known.get(node_hash)) is not None and "child" in node:
            walk(node["child"], depth + node["length"], path << node["length"] | int(node["path"], 16))
        elif node is not None:
            walk(node["left"], depth + 1, path << 1)
            walk(node["right"], depth + 1, path << 1 | 1)

    walk(root, 0, 0)
    return found


def paths_of(root: str, nodes: list[Json]) -> list[bytes]:
    """Return the keys whose whole paths the nodes are: siblings' leaves have no node of their own."""
    return [number_felt(key) for key in leaves(root, nodes)]


@cache
def question() -> tuple[bytes, list[bytes], list[bytes]]:
    """Return the classes, the contracts and the slots of each storage proof that the nodes lead to."""
    proof = vector()
    roots = proof["global_roots"]
    contracts = paths_of(roots["contracts_tree_root"], proof["contracts_proof"]["nodes"])
    classes = paths_of(roots["classes_tree_root"], proof["classes_proof"])
    slots = []
    for nodes in proof["contracts_storage_proofs"]:
        children = {node for item in nodes for node in item["node"].values()}
        (root,) = (item["node_hash"] for item in nodes if item["node_hash"] not in children)
        slots.append(b"".join(paths_of(root, nodes)))
    return b"".join(classes), contracts, slots


def verify(proof: Json, contracts: list[tuple[bytes, bytes]], root: bytes) -> StarknetProvedState:
    block_hash = felt_bytes(vector()["global_roots"]["block_hash"])
    return verify_starknet_proof(json.dumps(proof).encode(), block_hash, root, question()[0], contracts)


@cache
def asked() -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return the contracts with their slots, and the state root that the two tries have together.

    Neither the vector nor the order of its storage proofs says whose slots are whose, so both ways are tried.
    """
    _, contracts, slots = question()
    for names in (contracts, contracts[::-1]):
        for keys in (slots, slots[::-1]):
            pairs = list(zip(names, keys, strict=True))
            with pytest.raises(RefusedProofError, match="global_roots") as refused:
                verify(vector(), pairs, bytes(32))
            told = re.search(r"got (0x[0-9a-f]+)", str(refused.value))
            assert told is not None
            root = felt_bytes(told[1])
            try:
                verify(vector(), pairs, root)
            except RefusedProofError:
                continue
            return pairs, root
    raise AssertionError("the proof is not verified in any order")


def test_the_proof_of_a_juno_node_is_verified() -> None:
    pairs, root = asked()
    proved = verify(vector(), pairs, root)
    told = vector()["contracts_proof"]["contract_leaves_data"]
    assert len(proved.contracts) == len(told) == 2
    for found, leaf in zip(proved.contracts, told, strict=True):
        assert found is not None
        class_hash, nonce, storage_root, values = found
        assert (class_hash, nonce) == (felt_bytes(leaf["class_hash"]), felt_bytes(leaf["nonce"]))
        # juno tells the root of the contracts as each one's own.
        assert storage_root != felt_bytes(leaf["storage_root"])
        assert values
        assert all(value != bytes(32) for value in values)
    assert all(leaf is not None for leaf in proved.class_leaves)


def nodes_of(proof: Json) -> list[Json]:
    lists = [proof["classes_proof"], proof["contracts_proof"]["nodes"], *proof["contracts_storage_proofs"]]
    return [node for nodes in lists for node in nodes]


@given(st.data())
def test_another_node_is_refused(data: Any) -> None:
    pairs, root = asked()
    proof = copy.deepcopy(vector())
    node = data.draw(st.sampled_from(nodes_of(proof)))
    place = data.draw(st.sampled_from(sorted(node["node"])))
    old = node["node"][place]
    if place == "length":
        node["node"][place] = data.draw(st.integers(0, 300).filter(lambda length: length != old))
    else:
        node["node"][place] = data.draw(
            st.integers(0, 2**251).map(hex).filter(lambda felt: int(felt, 16) != int(old, 16))
        )
    with pytest.raises(RefusedProofError):
        verify(proof, pairs, root)


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (lambda proof: proof["contracts_proof"]["nodes"].pop(), "missing_node"),
        (lambda proof: proof["classes_proof"].pop(), "missing_node"),
        (lambda proof: proof["contracts_proof"]["contract_leaves_data"].reverse(), "unknown_storage_root"),
        (lambda proof: proof["contracts_proof"]["contract_leaves_data"].pop(), "malformed"),
        (lambda proof: proof.pop("global_roots"), "malformed"),
        (lambda proof: proof["global_roots"].update(block_hash="0x1"), "other_value"),
        (lambda proof: proof["global_roots"].update(classes_tree_root="0x0"), "other_value"),
        (lambda proof: proof["contracts_storage_proofs"].append([]), "too_many_items"),
        (lambda proof: proof["contracts_storage_proofs"].clear(), "unknown_storage_root"),
        (lambda proof: proof["contracts_storage_proofs"][0].extend(proof["classes_proof"]), "several_roots"),
    ],
)
def test_a_refusal_names_its_rule(spoil: Callable[[Json], object], rule: str) -> None:
    pairs, root = asked()
    proof = copy.deepcopy(vector())
    spoil(proof)
    with pytest.raises(RefusedProofError) as refused:
        verify(proof, pairs, root)
    assert refused.value.rule == rule
