"""Transactions that a chain's protocol makes: read by the members of their type, and given as nodes do."""

import json
from typing import Any

import msgspec
import pytest

from wsnode.ethereum.codec.blocks import (
    BuiltBlock,
    decode_blocks,
    encode_json_block,
    encode_json_receipts,
    keccak256,
    verify_with_receipts,
)
from wsnode.ethereum.codec.rendering import render_block, render_receipts
from wsnode.ethereum.codec.rlp import Item, encode, number
from wsnode.ethereum.codec.rows import transaction_parties
from wsnode.ethereum.networks.table import find_network
from wsnode.ethereum.state import ChainSpec, InvalidBlockError

BASE = ChainSpec(find_network("base").genesis)
POLYGON = ChainSpec(find_network("polygon").genesis)
EMPTY_OMMERS = keccak256(b"\xc0")
SENDER, RECIPIENT = b"\x11" * 20, b"\x22" * 20
STATE_SYNC = b"\x7f" + encode([[number(7), RECIPIENT, b"\x01\x02", bytes(32)]])


def deposit(**members: bytes) -> bytes:
    """Return the envelope of a deposit."""
    values = {
        "source_hash": b"\x33" * 32,
        "sender": SENDER,
        "to": RECIPIENT,
        "mint": number(5),
        "value": number(6),
        "gas": number(21_000),
        "is_system": b"",
        "input": b"\x07",
    }
    assert members.keys() <= values.keys()
    return b"\x7e" + encode(list((values | members).values()))


def root_of_one(value: bytes) -> bytes:
    """Return the root of a trie of one item, whose key is the number 0."""
    return keccak256(encode([b"\x20\x80", value]))


def block(envelope: bytes, receipt: bytes, state_root: bytes = bytes(32)) -> bytes:
    """Return the RLP of a block of one transaction."""
    roots: list[Item] = [state_root, root_of_one(envelope), root_of_one(receipt)]
    header: list[Item] = [
        bytes(32),
        EMPTY_OMMERS,
        bytes(20),
        *roots,
        bytes(256),
        b"",
        number(9),
        number(30_000_000),
        number(21_000),
        number(1_000),
        b"",
        bytes(32),
        bytes(8),
        number(7),
    ]
    return encode([header, [envelope], []])


def receipt_of(kind: int, *more: bytes) -> bytes:
    return bytes([kind]) + encode([b"\x01", number(21_000), bytes(256), [], *more])


def told_receipt(**members: str) -> bytes:
    common: dict[str, Any] = {
        "status": "0x1",
        "cumulativeGasUsed": "0x5208",
        "logsBloom": "0x" + "00" * 256,
        "logs": [],
    }
    return msgspec.json.encode([common | members])


def verified(spec: ChainSpec, encoded: bytes, receipts: bytes) -> BuiltBlock:
    blocks, error = decode_blocks(spec, [encoded])
    assert error is None, str(error)
    assert blocks[0].has_own_body
    found = verify_with_receipts(spec, blocks[0], encode_json_receipts(receipts))
    assert isinstance(found, BuiltBlock), str(found)
    return found


def shown(found: BuiltBlock) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the objects of a block's transaction and of its receipt."""
    block = json.loads(render_block(found.header, found.body, full=True))
    return block["transactions"][0], json.loads(render_receipts(found.header, found.body, found.receipts))[0]


def test_a_state_sync_transaction_is_read_out_of_rlp_and_its_receipt_is_in_the_root() -> None:
    found = verified(POLYGON, block(STATE_SYNC, receipt_of(0x7F)), told_receipt(type="0x7f"))
    transaction, receipt = shown(found)
    assert transaction["hash"] == "0x" + keccak256(STATE_SYNC).hex()
    assert (transaction["type"], transaction["gas"], transaction["value"]) == ("0x7f", "0x0", "0x0")
    assert transaction["from"] == transaction["to"] == "0x" + "00" * 20
    assert (receipt["type"], receipt["gasUsed"], receipt["contractAddress"]) == ("0x7f", "0x5208", None)


def test_a_deposit_that_creates_a_contract_shows_which() -> None:
    envelope, nonce = deposit(to=b"", mint=b""), 3
    encoded = block(envelope, receipt_of(0x7E, number(nonce), b"\x01"))
    receipts = told_receipt(depositNonce=hex(nonce), depositReceiptVersion="0x1")
    transaction, receipt = shown(verified(BASE, encoded, receipts))
    assert (transaction["to"], transaction["mint"], transaction["nonce"]) == (None, "0x0", "0x3")
    assert "isSystemTx" not in transaction
    assert receipt["contractAddress"] == "0x" + keccak256(encode([SENDER, number(nonce)]))[12:].hex()
    assert (receipt["depositNonce"], receipt["depositReceiptVersion"]) == ("0x3", "0x1")


def test_a_deposit_of_the_system_says_so() -> None:
    encoded = block(deposit(is_system=b"\x01"), receipt_of(0x7E))
    transaction, receipt = shown(verified(BASE, encoded, told_receipt(depositNonce="0x4")))
    assert transaction["isSystemTx"] is True
    # Without a version no root commits to the nonce.
    assert "nonce" not in transaction
    assert "depositNonce" not in receipt


@pytest.mark.parametrize(
    "envelope",
    [
        deposit(source_hash=b"\x33" * 31),
        deposit(sender=b""),
        deposit(to=b"\x22" * 19),
        deposit(mint=b"\x00\x05"),
        deposit(value=b"\x01" * 33),
        deposit(gas=b"\x01" * 9),
        deposit(is_system=b"\x02"),
        deposit() + b"\x00",
        b"\x7e" + encode([b"\x33" * 32]),
        b"\x7e\xf8",
        b"\x7e",
    ],
    ids=["hash", "sender", "recipient", "zeros", "value", "gas", "flag", "more", "few", "cut", "empty"],
)
def test_a_malformed_deposit_is_refused(envelope: bytes) -> None:
    blocks, error = decode_blocks(BASE, [block(envelope, b"")])
    assert not blocks
    assert error is not None
    assert error.rule == "rlp"


def test_a_deposit_in_json_is_what_it_was_in_rlp() -> None:
    encoded = block(deposit(), receipt_of(0x7E, b"", b"\x01"))
    receipts = told_receipt(depositNonce="0x0", depositReceiptVersion="0x1")
    found = verified(BASE, encoded, receipts)
    text = render_block(found.header, found.body, full=True)
    assert encode_json_block(text, []) == encoded


def test_a_state_sync_transaction_in_json_says_what_gives_its_data() -> None:
    found = verified(POLYGON, block(STATE_SYNC, receipt_of(0x7F)), told_receipt(type="0x7f"))
    text = render_block(found.header, found.body, full=True)
    with pytest.raises(InvalidBlockError, match="of type 0x7f, whose data only debug_getRawBlock gives"):
        encode_json_block(text, [])


def test_ethereums_chains_have_none() -> None:
    blocks, error = decode_blocks(ChainSpec(find_network("mainnet").genesis), [block(deposit(), b"")])
    assert not blocks
    assert error is not None
    assert error.rule == "transaction_type"


def test_the_parties_of_a_system_transaction_are_its_sender_and_its_recipient() -> None:
    encoded = block(deposit(), receipt_of(0x7E, b"", b"\x01"))
    receipts = told_receipt(depositNonce="0x0", depositReceiptVersion="0x1")
    assert transaction_parties(verified(BASE, encoded, receipts).body) == [(SENDER, RECIPIENT)]
    state_sync = verified(POLYGON, block(STATE_SYNC, receipt_of(0x7F)), told_receipt(type="0x7f"))
    assert transaction_parties(state_sync.body) == [(bytes(20), bytes(20))]
