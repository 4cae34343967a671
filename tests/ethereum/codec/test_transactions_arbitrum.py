"""Transactions of Arbitrum's own types: read from RLP and JSON, verified, and given as nodes do."""

import json
from typing import Any, Final

import msgspec
import pytest
from eth_account import Account

from tests.ethereum.codec.test_transactions_system import (
    EMPTY_OMMERS,
    RECIPIENT,
    SENDER,
)
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
from wsnode.ethereum.codec.rows import block_rlp, transaction_parties
from wsnode.ethereum.networks.table import find_network
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.state import ChainSpec, InvalidBlockError

ARBITRUM = ChainSpec(find_network("arbitrum").genesis)
CHAIN: Final = number(42161)
ARBOS: Final = bytes.fromhex("00000000000000000000000000000000000a4b05")
RETRYABLES: Final = bytes(19) + b"\x6e"
REQUEST, TICKET, REFUND = b"\x33" * 32, b"\x44" * 32, b"\x55" * 20
INTERNAL: Final = b"\x6a" + encode([CHAIN, b"\x6b\xf6\xa4\x2d" + bytes(128)])
DATA: Final = b"\x07" * 33
BASE_FEE: Final = 7
ACCOUNT: Final = Account.from_key(b"\x01" * 32)
SEND_ROOT, SEND_COUNT, L1_BLOCK = b"\x66" * 32, 9, 18_563_001

OFFERED: Final = number(1_000)
TRANSACTIONS: Final = {
    "0x64": [CHAIN, REQUEST, SENDER, RECIPIENT, number(6)],
    "0x65": [CHAIN, SENDER, number(3), OFFERED, number(21_000), RECIPIENT, number(6), DATA],
    "0x66": [CHAIN, REQUEST, SENDER, OFFERED, number(21_000), RECIPIENT, number(6), DATA],
    "0x68": [
        *[CHAIN, number(2), SENDER, OFFERED, number(21_000), RECIPIENT, number(6), DATA],
        *[TICKET, REFUND, number(8), number(9)],
    ],
    "0x69": [
        *[CHAIN, REQUEST, SENDER, number(11), number(12), OFFERED, number(21_000), RECIPIENT, number(13)],
        *[SENDER, number(14), REFUND, DATA],
    ],
}
"""Members of a transaction of each type but the internal one."""

CREATIONS: Final = {"0x65": 5, "0x66": 5, "0x68": 5, "0x69": 7}
"""Place of the member that is empty where a contract is created."""


def envelope(kind: str, **changed: bytes) -> bytes:
    """Return the bytes of a transaction, with members at other places' numbers (`_3`) changed."""
    members: list[Item] = list(TRANSACTIONS[kind])
    for place, value in changed.items():
        members[int(place[1:])] = value
    return bytes([int(kind, 16)]) + encode(members)


def root_of_two(first: bytes, second: bytes) -> bytes:
    """Return the root of a trie of two items of 32 bytes or more, whose keys are the numbers 0 and 1."""
    branch: list[Item] = [b""] * 17
    branch[8] = keccak256(encode([b"\x30", first]))
    branch[0] = keccak256(encode([b"\x31", second]))
    return keccak256(encode(branch))


def block_of(
    transaction: bytes,
    *,
    flags: int = 0,
    version: int = 32,
    state_root: bytes = bytes(32),
) -> bytes:
    """Return the RLP of a block that has a transaction after the internal one, by a version of ArbOS."""
    receipts = [receipt_of(INTERNAL[0], 0), receipt_of(transaction[0], 21_000)]
    positions = SEND_COUNT, L1_BLOCK, version
    mix_hash = b"".join(each.to_bytes(8, "big") for each in positions) + bytes([0, flags]) + bytes(6)
    header: list[Item] = [
        bytes(32),
        EMPTY_OMMERS,
        bytes(20),
        state_root,
        root_of_two(INTERNAL, transaction),
        root_of_two(*receipts),
        bytes(256),
        number(1),
        number(9),
        number(1 << 50),
        number(21_000),
        number(1_000),
        SEND_ROOT,
        mix_hash,
        (5).to_bytes(8, "big"),
        number(BASE_FEE),
    ]
    return encode([header, [INTERNAL, transaction], []])


def receipt_of(kind: int, gas: int) -> bytes:
    return bytes([kind]) + encode([b"\x01", number(gas), bytes(256), []])


def upstream_receipts() -> bytes:
    common: dict[str, Any] = {"status": "0x1", "logsBloom": "0x" + "00" * 256, "logs": []}
    told = [{**common, "cumulativeGasUsed": gas, "gasUsedForL1": "0x99"} for gas in ("0x0", "0x5208")]
    return msgspec.json.encode(told)


def verified(encoded: bytes) -> BuiltBlock:
    blocks, error = decode_blocks(ARBITRUM, [encoded])
    assert error is None, str(error)
    assert blocks[0].has_own_body
    found = verify_with_receipts(ARBITRUM, blocks[0], encode_json_receipts(upstream_receipts()))
    assert isinstance(found, BuiltBlock), str(found)
    return found


def shown(found: BuiltBlock) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a block as objects: itself, and the receipt of its last transaction."""
    block = json.loads(render_block(found.header, found.body, full=True))
    return block, json.loads(render_receipts(found.header, found.body, found.receipts))[1]


EXPECTED: Final[dict[str, dict[str, Any]]] = {
    "0x64": {"gas": "0x0", "gasPrice": "0x0", "nonce": "0x0", "requestId": hexadecimal(REQUEST)},
    "0x65": {"gas": "0x5208", "gasPrice": "0x3e8", "maxFeePerGas": "0x3e8", "nonce": "0x3"},
    "0x66": {"maxFeePerGas": "0x3e8", "nonce": "0x0", "requestId": hexadecimal(REQUEST)},
    "0x68": {
        "nonce": "0x2",
        "ticketId": hexadecimal(TICKET),
        "refundTo": hexadecimal(REFUND),
        "maxRefund": "0x8",
        "submissionFeeRefund": "0x9",
    },
    "0x69": {
        "to": hexadecimal(RETRYABLES),
        "value": "0x0",
        "nonce": "0x0",
        "requestId": hexadecimal(REQUEST),
        "l1BaseFee": "0xb",
        "depositValue": "0xc",
        "retryTo": hexadecimal(RECIPIENT),
        "retryValue": "0xd",
        "retryData": hexadecimal(DATA),
        "beneficiary": hexadecimal(SENDER),
        "maxSubmissionFee": "0xe",
        "refundTo": hexadecimal(REFUND),
    },
}


@pytest.mark.parametrize("kind", TRANSACTIONS)
def test_a_transaction_is_given_by_the_members_of_its_type(kind: str) -> None:
    found = verified(block_of(envelope(kind)))
    block, receipt = shown(found)
    transaction = block["transactions"][1]
    common = {
        "type": kind,
        "hash": hexadecimal(keccak256(envelope(kind))),
        "from": hexadecimal(SENDER),
        "chainId": "0xa4b1",
        "transactionIndex": "0x1",
        **dict.fromkeys("vrs", "0x0"),
    }
    assert transaction | common | EXPECTED[kind] == transaction
    to = hexadecimal(RETRYABLES if kind == "0x69" else RECIPIENT)
    assert (transaction["to"], receipt["to"], receipt["contractAddress"]) == (to, to, None)
    assert transaction_parties(found.body)[1] == (SENDER, bytes.fromhex(to[2:]))


@pytest.mark.parametrize("kind", TRANSACTIONS)
def test_a_block_in_json_is_what_it_was_in_rlp(kind: str) -> None:
    encoded = block_of(envelope(kind))
    found = verified(encoded)
    text = render_block(found.header, found.body, full=True)
    assert encode_json_block(text, []) == encoded == block_rlp(found.header, found.body)
    # Some nodes give the price that is offered under the older name alone.
    block = json.loads(text)
    block["transactions"][1].pop("maxFeePerGas", None)
    assert encode_json_block(msgspec.json.encode(block), []) == encoded


def test_members_of_the_header_are_shown_with_a_block_and_its_receipts() -> None:
    block, receipt = shown(verified(block_of(envelope("0x65"))))
    assert (block["sendRoot"], block["sendCount"]) == (hexadecimal(SEND_ROOT), hex(SEND_COUNT))
    assert block["l1BlockNumber"] == receipt["l1BlockNumber"] == hex(L1_BLOCK)
    assert (receipt["effectiveGasPrice"], receipt["gasUsed"]) == (hex(BASE_FEE), "0x5208")
    assert not receipt.keys() & {"gasUsedForL1", "timeboosted"}


def test_transactions_pay_more_than_the_base_fee_where_the_header_says_so() -> None:
    fees = {"maxFeePerGas": 1_000, "maxPriorityFeePerGas": 493}
    members = {"to": hexadecimal(RECIPIENT), "gas": 21_000, "nonce": 0, "value": 0, "chainId": 42161}
    signed = bytes(ACCOUNT.sign_transaction(members | fees).raw_transaction)
    for flags, price in ((0, BASE_FEE), (1, 500)):
        block, receipt = shown(verified(block_of(signed, flags=flags)))
        assert receipt["effectiveGasPrice"] == hex(price)
        assert block["transactions"][1]["gasPrice"] == hex(500)


def test_a_submitted_ticket_shows_the_call_that_it_stands_for() -> None:
    block, _receipt = shown(verified(block_of(envelope("0x69"))))
    data = bytes.fromhex(block["transactions"][1]["input"][2:])
    words = [data[start : start + 32] for start in range(4, len(data), 32)]
    numbers = [int.from_bytes(word, "big") for word in words]
    assert data[:4].hex() == "c9f95d32"
    assert words[0] == REQUEST
    assert numbers[1:7] == [11, 12, 13, 1_000, 21_000, 14]
    assert [word[12:] for word in words[7:10]] == [REFUND, SENDER, RECIPIENT]
    assert numbers[10:12] == [32 * 11, len(DATA)]
    assert data[4 + 32 * 12 :] == DATA + bytes(31)


@pytest.mark.parametrize("kind", CREATIONS)
def test_a_contract_is_named_where_its_creators_nonce_is_in_the_block(kind: str) -> None:
    block, receipt = shown(verified(block_of(envelope(kind, **{f"_{CREATIONS[kind]}": b""}))))
    if kind == "0x69":
        assert "retryTo" not in block["transactions"][1]
        assert receipt["contractAddress"] is None
        return
    assert block["transactions"][1]["to"] is None
    if kind == "0x65":
        assert receipt["contractAddress"] == "0x" + keccak256(encode([SENDER, number(3)]))[12:].hex()
    else:
        assert "contractAddress" not in receipt


@pytest.mark.parametrize(
    "transaction",
    [
        envelope("0x64", _1=b"\x33" * 31),
        envelope("0x64", _3=b""),
        envelope("0x65", _1=b""),
        envelope("0x65", _2=b"\x01" * 9),
        envelope("0x66", _5=b"\x22" * 19),
        envelope("0x68", _8=b""),
        envelope("0x68", _10=b"\x00\x01"),
        envelope("0x69", _9=b""),
        envelope("0x69") + b"\x00",
        b"\x64" + encode([CHAIN]),
        b"\x6a" + encode([CHAIN, b"", b""]),
    ],
)
def test_a_malformed_transaction_is_refused(transaction: bytes) -> None:
    blocks, error = decode_blocks(ARBITRUM, [block_of(transaction)])
    assert not blocks
    assert error is not None
    assert error.rule == "rlp"


def test_a_changed_member_of_a_transaction_gives_another_body() -> None:
    for kind in TRANSACTIONS:
        found = verified(block_of(envelope(kind)))
        block = json.loads(render_block(found.header, found.body, full=True))
        for name in (EXPECTED[kind].keys() | {"from", "chainId"}) - {"to", "gasPrice", "value"}:
            transaction = block["transactions"][1]
            if (kind, name) in (("0x64", "gas"), ("0x64", "nonce"), ("0x66", "nonce"), ("0x69", "nonce")):
                continue
            lie = {
                **transaction,
                name: transaction[name][:-1] + ("1" if transaction[name][-1] != "1" else "2"),
            }
            text = msgspec.json.encode({**block, "transactions": [block["transactions"][0], lie]})
            blocks, error = decode_blocks(ARBITRUM, [encode_json_block(text, [])])
            assert error is None
            assert not blocks[0].has_own_body, (kind, name)


def test_a_block_before_nitro_is_refused_with_the_reason() -> None:
    classic = b"\x78" + encode([number(1)] * 20)
    blocks, error = decode_blocks(ARBITRUM, [block_of(classic)])
    assert not blocks
    assert error is not None
    assert error.rule == "transaction_type"
    assert "type 0x78 (classic)" in str(error)
    found = verified(block_of(envelope("0x64")))
    block = json.loads(render_block(found.header, found.body, full=True))
    block["transactions"][1]["type"] = "0x78"
    with pytest.raises(InvalidBlockError, match=r"type 0x78, of a block before Arbitrum's Nitro"):
        encode_json_block(msgspec.json.encode(block), [])


def test_other_families_have_none() -> None:
    base = ChainSpec(find_network("base").genesis)
    blocks, error = decode_blocks(base, [block_of(envelope("0x64"))])
    assert not blocks
    assert error is not None
    assert "transaction 0 of type 0x6a (internal)" in str(error)
