"""What a few people send one after the other, good and bad: geth's answers are in geth_answers.json."""

from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from eth_account import Account as Wallet

from tests.ethereum.pool.playground import ALICE, BOB, CAROL, CHAIN_ID, DAVE, ETHER, GWEI, signed
from wsnode.demo.accounts import ACCOUNTS, FundedAccount
from wsnode.ethereum.codec.rlp import encode
from wsnode.ethereum.state import address_of

_SECRET = bytes(31) + b"\x07"
POOR = FundedAccount(address_of(_SECRET), _SECRET)
ERIN, FRANK, GRACE = ACCOUNTS[4:7]
HALF = 5_000 * ETHER
BLOB = bytes(131_072)
# The commitment to a blob of zeros and its proof are the point at infinity.
INFINITY = b"\xc0" + bytes(47)
HASH = "0x01" + sha256(INFINITY).hexdigest()[2:]
ACCESS = {"address": "0x" + "11" * 20, "storageKeys": ["0x" + "00" * 32]}


class Step(NamedTuple):
    """A transaction, and what is worth knowing about it."""

    name: str
    encoded: bytes


def fees(percent: int) -> dict[str, int]:
    """Return fee and tip, in percent of 10 and 1 gwei."""
    return {"maxFeePerGas": GWEI // 10 * percent, "maxPriorityFeePerGas": GWEI // 100 * percent}


def blob_fees(times: int, *, blob: int | None = None) -> dict[str, int]:
    """Return three times as many times what is asked for."""
    return {**fees(100 * times), "maxFeePerBlobGas": 10 * (blob or times)}


def authorization(signer: FundedAccount, nonce: int) -> Any:
    """Return a delegation to the identity contract."""
    return Wallet.sign_authorization(
        {"chainId": CHAIN_ID, "address": "0x" + "00" * 19 + "04", "nonce": nonce}, signer.secret
    )


def plain(sender: FundedAccount, nonce: int, **members: Any) -> bytes:
    return signed(sender, {"nonce": nonce, "gas": 21_000, **members})


def with_blobs(sender: FundedAccount, nonce: int, **members: Any) -> bytes:
    """Return a transaction with one blob, of zeros, in its network form."""
    envelope = signed(
        sender, {"nonce": nonce, "type": 3, **blob_fees(1), "blobVersionedHashes": [HASH], **members}
    )
    content = envelope[1:] + b"".join(encode([item]) for item in (BLOB, INFINITY, INFINITY))
    return b"\x03\xfa" + len(content).to_bytes(3, "big") + content


def delegating(sender: FundedAccount, nonce: int, *signers: tuple[FundedAccount, int]) -> bytes:
    listed = [authorization(signer, of) for signer, of in signers]
    return signed(sender, {"nonce": nonce, "authorizationList": listed})


@cache
def steps() -> list[Step]:
    """Return everything in its order."""
    return [
        Step(f"{part.__name__}: {name}", encoded)
        for part in (replacements, stateless, funds, blobs, delegations)
        for name, encoded in part().items()
    ]


def replacements() -> dict[str, bytes]:
    return {
        "the first": plain(ALICE, 0),
        "the same again": plain(ALICE, 0),
        "another of the same price": plain(ALICE, 0, value=2),
        "a higher tip alone": plain(ALICE, 0, maxPriorityFeePerGas=2 * GWEI),
        "a higher fee alone": plain(ALICE, 0, maxFeePerGas=20 * GWEI),
        "nine percent more": plain(ALICE, 0, **fees(109)),
        "ten percent more": plain(ALICE, 0, **fees(110)),
        "a gap": plain(ALICE, 3),
        "another in the gap": plain(ALICE, 3, value=5),
        "a better one in the gap": plain(ALICE, 3, **fees(111)),
        "the second": plain(ALICE, 1, gasPrice=10 * GWEI),
        "a creation that fills the gap": signed(ALICE, {"nonce": 2, "to": b"", "data": "0x6001"}),
        "below the base fee": plain(ALICE, 4, maxFeePerGas=10, maxPriorityFeePerGas=1),
        "an access list": signed(
            ALICE,
            {"nonce": 5, "type": 1, "gasPrice": GWEI, "accessList": [ACCESS]},
        ),
    }


def stateless() -> dict[str, bytes]:
    return {
        "no tip": plain(BOB, 0, maxPriorityFeePerGas=0),
        "too little gas": plain(BOB, 0, gas=20_999),
        "too little gas for the floor": signed(BOB, {"nonce": 0, "gas": 24_999, "data": "0x" + "11" * 100}),
        "more gas than a transaction may have": plain(BOB, 0, gas=2**24 + 1, **fees(1)),
        "a tip above the fee": plain(BOB, 0, maxFeePerGas=1, maxPriorityFeePerGas=2),
        "another chain": plain(BOB, 0, chainId=5),
        "another chain, long ago": plain(BOB, 0, chainId=5, gasPrice=GWEI),
        "every chain": plain(BOB, 0, chainId=None, gasPrice=GWEI),
        "a mistaken fee": plain(BOB, 0, gas=10**6, maxFeePerGas=10**15),
        "too much": signed(BOB, {"nonce": 0, "gas": 10**7, "data": "0x" + "00" * 140_000}),
        "too much to create": signed(
            BOB, {"nonce": 0, "gas": 10**7, "to": b"", "data": "0x" + "00" * 49_153}
        ),
        "the last nonce": plain(BOB, 2**64 - 1),
        "nothing": b"",
        "one byte": b"\x02",
        "an unknown type": b"\x05\xc0",
    }


def funds() -> dict[str, bytes]:
    return {
        "nothing to spend": plain(POOR, 0),
        "half": plain(CAROL, 0, value=HALF),
        "the other half": plain(CAROL, 1, value=HALF),
        "a little": plain(CAROL, 1, value=ETHER),
        "more than all": plain(CAROL, 0, value=2 * HALF, **fees(200)),
        "all that the other leaves": plain(CAROL, 0, value=2 * HALF - ETHER, **fees(200)),
        "more of the little": plain(CAROL, 1, value=2 * ETHER, **fees(200)),
    }


def blobs() -> dict[str, bytes]:
    return {
        "one": with_blobs(DAVE, 0),
        "the same again": with_blobs(DAVE, 0),
        "a gap": with_blobs(DAVE, 5),
        "the next": with_blobs(DAVE, 1),
        "of the same price": with_blobs(DAVE, 0, value=1),
        "of the same blob fee": with_blobs(DAVE, 0, **blob_fees(3, blob=1)),
        "less than twice the blob fee": with_blobs(DAVE, 0, **{**blob_fees(2), "maxFeePerBlobGas": 19}),
        "twice everything": with_blobs(DAVE, 0, **blob_fees(2)),
        "one without beside them": plain(DAVE, 2),
        "one beside those without": with_blobs(ALICE, 0, **blob_fees(4)),
        "no fee for the blob": with_blobs(ERIN, 0, maxFeePerBlobGas=0),
        "none with it": signed(ERIN, {"nonce": 0, "type": 3, **blob_fees(1), "blobVersionedHashes": [HASH]}),
    }


def delegations() -> dict[str, bytes]:
    return {
        "of somebody else": delegating(ERIN, 0, (FRANK, 0)),
        "its own": delegating(GRACE, 0, (GRACE, 1)),
        "the first of a delegated account": plain(FRANK, 0),
        "a better first": plain(FRANK, 0, **fees(200)),
    }
