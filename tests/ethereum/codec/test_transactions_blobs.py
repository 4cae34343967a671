"""Blob transactions as clients send them: with one proof a blob, and with one a cell."""

import hashlib

import pytest

from tests.ethereum.codec.signing import CHAIN_ID, SECRET, chain_until, head_of
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rlp import Item, encode, number
from wsnode.ethereum.codec.transactions import PooledTransaction, check_transaction
from wsnode.ethereum.state import InvalidTransactionError, address_of

pytestmark = pytest.mark.slow

eth_keys = pytest.importorskip("eth_keys")

SPEC = chain_until("osaka")
# A blob of ones is the polynomial 1: its commitment is the curve's generator, proofs the point at infinity.
BLOB = (bytes(31) + b"\1") * 4096
GENERATOR = bytes.fromhex(
    "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"
)
INFINITY = b"\xc0" + bytes(47)
CELLS: list[Item] = [INFINITY] * 128
HASH = b"\1" + hashlib.sha256(GENERATOR).digest()[1:]


def inner(hashes: list[Item], fee: int = 1, to: bytes = b"\x22" * 20) -> list[Item]:
    """Return the members of a signed blob transaction."""
    members: list[Item] = [number(CHAIN_ID), b"", number(2), number(10), number(100_000), to, b"", b"", []]
    members += [number(fee), hashes]
    signed = eth_keys.keys.PrivateKey(SECRET).sign_msg_hash(keccak256(b"\3" + encode(members)))
    return [*members, number(signed.v), number(signed.r), number(signed.s)]


def wrapped(*items: Item) -> bytes:
    return b"\3" + encode(list(items))


def refusal(encoded: bytes) -> tuple[str, str]:
    with pytest.raises(InvalidTransactionError) as caught:
        check_transaction(SPEC, head_of(SPEC), PooledTransaction(SPEC, encoded))
    return caught.value.kind, str(caught.value)


def test_blobs_are_proved_by_blob_or_by_cell_and_not_kept() -> None:
    members = inner([HASH])
    by_blob = wrapped(members, [BLOB], [GENERATOR], [INFINITY])
    by_cell = wrapped(members, b"\1", [BLOB], [GENERATOR], CELLS)
    for encoded in (by_blob, by_cell):
        read = PooledTransaction(SPEC, encoded)
        assert (read.type, read.size, read.max_blob_fee) == (3, len(encoded), 1)
        assert (read.encoded, read.blob_hashes) == (wrapped(*members), [HASH])
        assert (read.sender, read.hash) == (address_of(SECRET), keccak256(wrapped(*members)))
        for _ in range(2):
            check_transaction(SPEC, head_of(SPEC), read)


def test_blobs_are_asked_for_unless_a_block_held_the_transaction() -> None:
    encoded = wrapped(*inner([HASH]))
    assert refusal(encoded) == ("sidecar", "missing sidecar in blob transaction")
    check_transaction(SPEC, head_of(SPEC), PooledTransaction(SPEC, encoded), was_included=True)


def test_a_proof_of_something_else_is_refused() -> None:
    members: list[Item] = inner([HASH])
    commitments: list[Item] = [GENERATOR]
    wrong: list[Item] = [*CELLS[1:], GENERATOR]
    words = ("kzg", "KZG verification error: can't verify opening proof")
    assert refusal(wrapped(members, b"\1", [BLOB], commitments, wrong)) == words
    assert refusal(wrapped(members, [BLOB], commitments, [GENERATOR])) == words
    other = b"\0" * 31 + b"\7" + BLOB[32:]
    assert refusal(wrapped(members, b"\1", [other], commitments, CELLS)) == words


def test_a_sidecar_of_another_form_is_refused_in_geths_words() -> None:
    members, proofs = inner([HASH]), CELLS
    commitments: list[Item] = [GENERATOR]
    cases: list[list[Item]] = [
        [b"\1", [BLOB], commitments, proofs[1:]],
        [b"\1", [BLOB], [], []],
        [b"\1", [], commitments, proofs],
        [b"\1", [BLOB, BLOB], commitments, proofs],
        [b"\1", [b"\xff" * 32 + BLOB[32:]], commitments, proofs],
        [b"\2", [BLOB], commitments, proofs],
        [b"\1", [BLOB[1:]], commitments, proofs],
        [b"\1", [BLOB], commitments],
    ]
    assert [refusal(wrapped(members, *case))[1] for case in cases] == [
        "Wrong sidecar format: invalid number of 127 blob proofs expected 128",
        "invalid number of 0 blob commitments compared to 1 blob hashes",
        "blobless blob transaction",
        "invalid number of 2 blobs compared to 1 commitments",
        "scalar is not canonical when interpreted as a big integer in big-endian",
        "unsupported blob tx version 2",
        "rlp: unexpected list",
        "rlp: unexpected list",
    ]


def test_members_of_a_blob_transaction_are_checked() -> None:
    def with_cells(members: list[Item]) -> bytes:
        return wrapped(members, b"\1", [BLOB], [GENERATOR], CELLS)

    words = "transaction gas price below minimum: blob fee cap 0, minimum needed 1"
    assert refusal(with_cells(inner([HASH], fee=0))) == ("underpriced", words)
    wrong = b"\1" + bytes(31)
    words = f"blob 0: computed hash 0x{HASH.hex()} mismatches transaction one 0x{wrong.hex()}"
    assert refusal(with_cells(inner([wrong]))) == ("blob_hash", words)
    assert refusal(with_cells(inner([HASH], to=b""))) == ("rlp", "rlp: unexpected list")


def test_a_transaction_has_at_most_six_blobs() -> None:
    members = inner([HASH] * 7)
    encoded = wrapped(members, [BLOB] * 7, [GENERATOR] * 7, [INFINITY] * 7)
    words = "transaction blob limit exceeded: blob count 7, limit 6"
    assert refusal(encoded) == ("too_many_blobs", words)
