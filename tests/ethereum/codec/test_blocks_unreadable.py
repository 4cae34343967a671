"""Blocks and receipts as other nodes tell them, of which something cannot be read."""

import json
from typing import Any

import pytest

from wsnode.ethereum.codec.blocks import encode_json_block, encode_json_receipts
from wsnode.ethereum.state import InvalidBlockError

HASH = "0x" + "77" * 32
DEPOSIT = {"type": "0x7e", "hash": HASH, "blockNumber": "0x1406f40", "sourceHash": HASH, "mint": "0x0"}
"""A transaction of a type that Ethereum does not have."""
LEGACY = {
    "type": "0x0",
    "hash": HASH,
    "from": "0x" + "11" * 20,
    "to": "0x" + "22" * 20,
    "nonce": "0x0",
    "gas": "0x5208",
    "gasPrice": "0x1",
    "value": "0x0",
    "input": "0x",
    "chainId": "0x1",
    "v": "0x25",
    "r": "0x1",
    "s": "0x1",
    "blockHash": HASH,
    "blockNumber": "0x1406f40",
    "transactionIndex": "0x0",
}


def refusal(encode: Any, told: Any, *rest: Any) -> str:
    with pytest.raises(InvalidBlockError) as error:
        encode(json.dumps(told).encode(), *rest)
    return str(error.value)


def test_a_block_names_the_transaction_that_cannot_be_read_and_its_type() -> None:
    block = {"number": "0x1406f40", "transactions": [LEGACY, DEPOSIT]}
    words = refusal(encode_json_block, block, [])
    assert f"block 21000000, transaction 1 ({HASH}) of type 0x7e" in words
    assert "untagged" not in words


def test_receipts_name_the_one_that_cannot_be_read_and_its_type() -> None:
    receipt = {"type": "0x7e", "transactionHash": HASH, "blockNumber": "0x1406f40"}
    words = refusal(encode_json_receipts, [receipt])
    assert f"block 21000000, the receipt of transaction 0 ({HASH}) of type 0x7e" in words
    assert "untagged" not in words


def test_a_block_whose_header_cannot_be_read_says_so() -> None:
    assert "missing field" in refusal(encode_json_block, {"number": "0x1", "transactions": [LEGACY]}, [])
