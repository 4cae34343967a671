"""engine_getBlobs and blobs bundles, their proofs held against those of the ckzg package."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import ckzg
import eth_account
import pytest
from eth_account import Account as Wallet

from tests.ethereum.rpc.engine.conftest import OpenDriven
from tests.ethereum.rpc.engine.driving import Driven, FailedCallError, Made
from wsnode.demo.accounts import ACCOUNTS
from wsnode.ethereum.codec.rlp import encode
from wsnode.ethereum.pool.blobs import CELLS, Blob, Blobs

pytestmark = pytest.mark.slow

SETUP = Path(eth_account.__file__).parent / "typed_transactions/blob_transactions/kzg_trusted_setup.txt"
BLOB = b"".join(number.to_bytes(32, "big") for number in range(4096))
MISSING = "0x01" + "77" * 31


@cache
def proved() -> tuple[bytes, bytes, list[bytes]]:
    """Return the blob's commitment, its proof and the proofs of its cells."""
    setup = ckzg.load_trusted_setup(str(SETUP), 0)
    commitment = ckzg.blob_to_kzg_commitment(BLOB, setup)
    _cells, proofs = ckzg.compute_cells_and_kzg_proofs(BLOB, setup)
    return commitment, ckzg.compute_blob_kzg_proof(BLOB, commitment, setup), list(proofs)


def versioned_hash() -> str:
    return "0x01" + sha256(proved()[0]).hexdigest()[2:]


def transaction(chain_id: int, *, by_cells: bool) -> str:
    """Return a transaction with the blob, in its network form."""
    commitment, proof, proofs = proved()
    signed = Wallet.sign_transaction(
        {
            "type": 3,
            "chainId": chain_id,
            "nonce": 0,
            "gas": 21_000,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**9,
            "maxFeePerBlobGas": 10**9,
            "to": "0x" + "11" * 20,
            "blobVersionedHashes": [versioned_hash()],
        },
        ACCOUNTS[0].secret,
    ).raw_transaction
    sidecar: list[Any] = [[BLOB], [commitment], proofs if by_cells else [proof]]
    parts = [b"\x01"] if by_cells else []
    content = bytes(signed)[1:] + b"".join(map(encode, [*parts, *sidecar]))
    return "0x03fa" + len(content).to_bytes(3, "big").hex() + content.hex()


def hexadecimals(proofs: list[bytes]) -> list[str]:
    return ["0x" + proof.hex() for proof in proofs]


@pytest.mark.parametrize("by_cells", [False, True], ids=["sent with one proof", "sent with cell proofs"])
async def test_blobs_have_the_proofs_of_the_method_whatever_they_were_sent_with(
    open_driven: OpenDriven, *, by_cells: bool
) -> None:
    _commitment, proof, proofs = proved()
    blob = "0x" + BLOB.hex()
    async with open_driven("prague", "before") as node:
        await node.send(transaction(node.chain.spec.chain_id, by_cells=by_cells))
        found = await node.ask("engine_getBlobsV1", [MISSING, versioned_hash()])
        assert found == [None, {"blob": blob, "proof": "0x" + proof.hex()}]
    async with open_driven("osaka", "since") as node:
        await node.send(transaction(node.chain.spec.chain_id, by_cells=by_cells))
        celled = {"blob": blob, "proofs": hexadecimals(proofs)}
        assert await node.ask("engine_getBlobsV2", [versioned_hash()]) == [celled]
        assert await node.ask("engine_getBlobsV2", [versioned_hash(), MISSING]) is None
        assert await node.ask("engine_getBlobsV3", [MISSING, versioned_hash()]) == [None, celled]


@cache
def cells() -> list[bytes]:
    return list(ckzg.compute_cells(BLOB, ckzg.load_trusted_setup(str(SETUP), 0)))


def bit_field(*indices: int) -> str:
    """Return the bit field of some cells."""
    return "0x" + sum(1 << index for index in indices).to_bytes(16, "little").hex()


@pytest.mark.parametrize("by_cells", [False, True], ids=["sent with one proof", "sent with cell proofs"])
@pytest.mark.parametrize("fork", ["osaka", "amsterdam"])
async def test_cells_are_those_of_the_bit_field_in_the_order_of_their_indices(
    open_driven: OpenDriven, fork: str, *, by_cells: bool
) -> None:
    proofs = proved()[2]
    async with open_driven(fork) as node:
        await node.send(transaction(node.chain.spec.chain_id, by_cells=by_cells))
        for indices in ((), (0,), (7, 8, 64, 127), tuple(range(CELLS))):
            found = await node.ask("engine_getBlobsV4", [versioned_hash(), MISSING], bit_field(*indices))
            assert found == [
                {
                    "blob_cells": hexadecimals([cells()[index] for index in indices]),
                    "proofs": hexadecimals([proofs[index] for index in indices]),
                },
                None,
            ]


async def test_cells_are_null_before_osaka_and_a_field_of_another_size_is_refused(
    open_driven: OpenDriven,
) -> None:
    async with open_driven("prague", "before") as node:
        assert await node.ask("engine_getBlobsV4", [MISSING], bit_field(0)) is None
    async with open_driven("amsterdam", "since") as node:
        for field in ("0x", bit_field(0) + "00", bit_field(0)[:-2], "00" * 16):
            with pytest.raises(FailedCallError) as refused:
                await node.ask("engine_getBlobsV4", [MISSING], field)
            assert refused.value.code == -32602
        with pytest.raises(FailedCallError) as refused:
            await node.ask("engine_getBlobsV4", [MISSING] * 129, bit_field(0))
        assert refused.value.code == -38004


async def test_a_method_of_another_fork_and_too_many_hashes_are_refused(node: Driven) -> None:
    with pytest.raises(FailedCallError) as refused:
        await node.ask("engine_getBlobsV1", [MISSING])
    assert refused.value.code == -38005
    with pytest.raises(FailedCallError) as refused:
        await node.ask("engine_getBlobsV3", [MISSING] * 129)
    assert refused.value.code == -38004
    assert await node.ask("engine_getBlobsV3", [MISSING] * 128) == [None] * 128


@pytest.mark.parametrize(("fork", "count"), [("prague", 1), ("osaka", CELLS)])
async def test_a_payload_comes_with_the_blobs_of_its_transactions(
    open_driven: OpenDriven, fork: str, count: int
) -> None:
    commitment, proof, proofs = proved()
    async with open_driven(fork) as node:
        await node.send(transaction(node.chain.spec.chain_id, by_cells=fork == "prague"))
        # The proofs are kept, and a payload that is asked for at once cannot wait for them to be made.
        await node.ask(f"engine_getBlobsV{1 if fork == 'prague' else 2}", [versioned_hash()])
        reply = await node.choose(node.genesis, attributes=node.attributes(1_700_000_012))
        envelope = await node.fetch(reply["payloadId"])
        assert envelope["blobsBundle"] == {
            "commitments": ["0x" + commitment.hex()],
            "proofs": hexadecimals([proof] if count == 1 else proofs),
            "blobs": ["0x" + BLOB.hex()],
        }
        made = node.made(envelope)
        with_blobs = Made(made.payload, [versioned_hash()], made.root, made.requests)
        assert (await node.give(with_blobs))["status"] == "VALID"
        assert (await node.give(made))["status"] == "INVALID"


def test_blobs_are_bounded_in_bytes_and_the_first_go_first() -> None:
    def blob(number: int) -> Blob:
        return Blob(bytes([number]), bytes(90), bytes(48), [bytes(10)])

    blobs = Blobs(250)
    blobs.add([blob(1), blob(2), blob(1)])
    assert (len(blobs), blobs.bytes) == (2, 200)
    blobs.add([blob(3)])
    assert [blobs.get(bytes([number])) is not None for number in (1, 2, 3)] == [True, False, True]
    assert blobs.bytes == 200
    blobs.replace(Blob(bytes([3]), bytes(90), bytes(48), [bytes(20)] * 8))
    assert (len(blobs), blobs.bytes) == (1, 250)
    blobs.replace(blob(7))
    assert blobs.get(bytes([7])) is None
    blobs.add([Blob(b"large", bytes(251), bytes(48), [])])
    assert (len(blobs), blobs.bytes) == (0, 0)
