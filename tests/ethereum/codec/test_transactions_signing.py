"""What the engine signs, read by another implementation; what it leaves unsigned, refused by every reader."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.codec.signing import CHAIN_ID, SECRET, chain_until
from wsnode.ethereum.codec.blocks import decode_blocks
from wsnode.ethereum.codec.rlp import encode, encoded_items
from wsnode.ethereum.codec.rows import block_rlp
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.state import (
    InvalidTransactionError,
    address_of,
    sign_message,
    sign_transaction,
    unsigned_transaction,
)

SPEC = chain_until("osaka")
MEMBERS: dict[str, Any] = {
    "chain_id": CHAIN_ID,
    "nonce": 7,
    "to": b"\x22" * 20,
    "value": 10**18,
    "input": b"\1\2\3",
    "gas": 100_000,
}
ACCESS = json.dumps([{"address": "0x" + "33" * 20, "storageKeys": ["0x" + "44" * 32]}]).encode()
AUTHORIZATION = (
    b'[{"chainId":"0x1","address":"0x3333333333333333333333333333333333333333",'
    b'"nonce":"0x0","yParity":"0x0","r":"0x1","s":"0x1"}]'
)
FEES = {"max_fee": 9, "max_priority_fee": 3}
TYPES: list[dict[str, Any]] = [
    {"gas_price": 5},
    {"gas_price": 5, "access_list": ACCESS},
    FEES,
    FEES | {"access_list": ACCESS},
    FEES | {"authorizations": AUTHORIZATION},
]
KINDS = [0, 1, 2, 2, 4]


@pytest.mark.parametrize(("price", "kind"), list(zip(TYPES, KINDS, strict=True)))
def test_members_make_the_type(price: dict[str, Any], kind: int) -> None:
    read = PooledTransaction(SPEC, sign_transaction(SECRET, **MEMBERS, **price))
    assert (read.type, read.sender, read.nonce, read.gas) == (kind, address_of(SECRET), 7, 100_000)


@pytest.mark.parametrize("price", TYPES)
def test_another_implementation_finds_the_signer(price: dict[str, Any]) -> None:
    account = pytest.importorskip("eth_account").Account
    found = account.recover_transaction(sign_transaction(SECRET, **MEMBERS, **price))
    assert bytes.fromhex(found[2:]) == address_of(SECRET)


@settings(max_examples=examples(50))
@given(st.binary(max_size=200))
def test_a_message_has_the_signature_that_another_implementation_gives_it(message: bytes) -> None:
    account = pytest.importorskip("eth_account").Account
    encode_defunct = pytest.importorskip("eth_account.messages").encode_defunct
    expected = account.sign_message(encode_defunct(message), SECRET).signature
    assert sign_message(SECRET, message) == bytes(expected)


@pytest.mark.parametrize("price", [{}, {"max_fee": 1}, FEES | {"gas_price": 1}])
def test_one_price_is_named(price: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="give gas_price, or max_fee and max_priority_fee"):
        sign_transaction(SECRET, **MEMBERS, **price)


@pytest.mark.parametrize("price", TYPES)
@pytest.mark.parametrize(
    "sender", [bytes(20), b"\0" * 19 + b"\1", b"\xff" * 20], ids=lambda sender: sender.hex()
)
def test_only_who_is_told_to_takes_a_placeholder_for_a_signature(
    price: dict[str, Any], sender: bytes
) -> None:
    encoded = unsigned_transaction(sender, **MEMBERS, **price)
    told = PooledTransaction.impersonated(SPEC, encoded)
    assert (told.sender, told.is_impersonated, told.encoded) == (sender, True, encoded)
    with pytest.raises(InvalidTransactionError) as caught:
        PooledTransaction(SPEC, encoded)
    assert caught.value.kind == "signature"


@pytest.mark.parametrize("price", TYPES)
def test_a_signed_transaction_impersonates_nobody(price: dict[str, Any]) -> None:
    with pytest.raises(InvalidTransactionError, match="names no impersonated sender"):
        PooledTransaction.impersonated(SPEC, sign_transaction(SECRET, **MEMBERS, **price))


@pytest.mark.parametrize("price", TYPES)
def test_a_block_that_holds_a_placeholder_is_refused(price: dict[str, Any]) -> None:
    encoded = unsigned_transaction(b"\7" * 20, **MEMBERS, **price)
    genesis = SPEC.genesis_block()
    header, _, ommers, withdrawals = encoded_items(block_rlp(genesis.header, genesis.body))
    item = encoded if encoded[0] >= 0xC0 else encode(encoded)
    members = [header, _list([item]), ommers, withdrawals]
    blocks, error = decode_blocks(SPEC, [_list(members)])
    assert not blocks
    assert error is not None
    assert error.rule == "transaction_signature"


def _list(items: list[bytes]) -> bytes:
    """Return the list of items that are encoded already."""
    content = b"".join(items)
    if len(content) < 56:
        return bytes([0xC0 + len(content)]) + content
    size = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes([0xF7 + len(size)]) + size + content
