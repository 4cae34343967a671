"""Real Starknet blocks: each is proved by its own hash, and a change of a covered member is refused."""

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.starknet.block_changes import Json, changed, is_trusted, paths
from tests.vector_files import find_vectors, require_vectors
from wsnode.starknet.felt import felt_bytes
from wsnode.starknet.native import RefusedBlockError, StarknetBlockProof, verify_starknet_block

COMMITMENTS = (
    "transaction_commitment",
    "event_commitment",
    "receipt_commitment",
    "state_diff_commitment",
)
COUNTS = ("transaction_count", "event_count", "state_diff_length")


def files() -> list[Path]:
    root = find_vectors("starknet-live")
    return sorted((root / "blocks").glob("*.json")) if root else []


@cache
def read(path: Path) -> Json:
    vector: Json = json.loads(path.read_text())
    return vector


def verify(vector: Json) -> StarknetBlockProof:
    update = vector["state_update"]
    return verify_starknet_block(
        json.dumps(vector["block"]).encode(),
        None if update is None else json.dumps(update).encode(),
        bytes.fromhex(vector["chain_id"].removeprefix("0x")).decode(),
    )


each_block = pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
each_with_update = pytest.mark.parametrize(
    "path", [path for path in files() if read(path)["state_update"]], ids=lambda path: path.stem
)


@each_block
def test_a_block_is_proved_by_its_hash(path: Path) -> None:
    vector = read(path)
    proof = verify(vector)
    block = vector["block"]
    assert proof.hash == felt_bytes(block["block_hash"])
    assert proof.parent_hash == felt_bytes(block["parent_hash"])
    assert (proof.number, proof.new_root) == (block["block_number"], felt_bytes(block["new_root"]))
    told = [felt_bytes(item["receipt"]["transaction_hash"]) for item in block["transactions"]]
    assert proof.transaction_hashes == told
    for member in COMMITMENTS:
        assert getattr(proof, member) == (felt_bytes(block[member]) if member in block else None), member
    for member in COUNTS:
        assert getattr(proof, member) == block.get(member), member


@each_with_update
def test_commitments_are_computed_where_a_header_lacks_them(path: Path) -> None:
    vector = read(path)
    block = {name: value for name, value in vector["block"].items() if name not in (*COMMITMENTS, *COUNTS)}
    proof, whole = verify(vector | {"block": block}), verify(vector)
    for member in ("hash", "old_root", *COMMITMENTS, *COUNTS):
        assert getattr(proof, member) == getattr(whole, member), member


@pytest.mark.slow
def test_a_change_of_any_member_that_the_hash_covers_is_refused() -> None:
    require_vectors("starknet-live")
    whole = (("chain_id",), ("state_update",))
    blocks = [read(path) for path in files()]
    places = [(vector, path) for vector in blocks for path in paths(vector) if path not in whole]

    @given(st.sampled_from(places))
    def check(place: tuple[Json, tuple[str | int, ...]]) -> None:
        vector, path = place
        if is_trusted(vector, path):
            assert verify(changed(vector, path)).number == vector["block"]["block_number"]
            return
        with pytest.raises(RefusedBlockError) as refused:
            verify(changed(vector, path))
        assert is_named(refused.value.member, path), f"{path}: {refused.value}"

    check()


def is_named(member: str, path: tuple[str | int, ...]) -> bool:
    """Whether an error's member is that at the path, its transaction or the commitment that covers it."""
    covering = {
        "receipt": ("event_", "receipt_"),
        "transaction": ("transaction_",),
        "state_update": ("state_", "deployed", "nonces"),
    }
    if path[0] == "state_update":
        return member.startswith(covering["state_update"])
    if path[1] != "transactions":
        return member.startswith((str(path[1]), "block_hash", "state_update."))
    if len(path) == 2:
        return member == "transaction_commitment"
    own = f"transactions[{path[2]}]"
    return member.startswith((own, *covering[str(path[3])])) if len(path) > 3 else member.startswith(own)


@each_block
def test_events_and_transactions_in_another_order_are_refused(path: Path) -> None:
    vector = read(path)
    block = vector["block"]
    swapped = [block["transactions"][-1], *block["transactions"][1:-1], block["transactions"][0]]
    with pytest.raises(RefusedBlockError) as refused:
        verify(vector | {"block": block | {"transactions": swapped}})
    assert refused.value.member == "transaction_commitment"


def test_a_block_of_another_network_is_refused() -> None:
    for vector in map(read, files()):
        with pytest.raises(RefusedBlockError) as refused:
            verify(vector | {"chain_id": f"0x{b'SN_OTHER'.hex()}"})
        assert refused.value.member == "transactions[0].receipt.transaction_hash"
