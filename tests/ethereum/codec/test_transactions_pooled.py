"""Transactions that clients send, signed by another implementation; the words are geth 1.17.8's."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.codec.signing import CHAIN_ID, SECRET, chain_until, head_of
from wsnode.ethereum.codec.rlp import Item, encode
from wsnode.ethereum.codec.transactions import PooledTransaction, check_transaction
from wsnode.ethereum.state import InvalidTransactionError, address_of

Account = pytest.importorskip("eth_account").Account

SPEC = chain_until("osaka")
OWNER = Account.from_key(SECRET)
TRANSFER: dict[str, Any] = {
    "chainId": CHAIN_ID,
    "nonce": 0,
    "to": "0x" + "22" * 20,
    "value": 1,
    "gas": 50_000,
}
DYNAMIC = {"maxFeePerGas": 10**10, "maxPriorityFeePerGas": 10**9}
FIXED = {"gasPrice": 10**10}
ACCESS = [{"address": "0x" + "33" * 20, "storageKeys": ["0x" + "44" * 32]}]

quantities = st.integers(0, 2**64 - 2)
fees = st.integers(0, 2**100)
access_lists = st.lists(
    st.builds(
        lambda address, keys: {
            "address": "0x" + address.hex(),
            "storageKeys": ["0x" + key.hex() for key in keys],
        },
        st.binary(min_size=20, max_size=20),
        st.lists(st.binary(min_size=32, max_size=32), max_size=2),
    ),
    max_size=2,
)
members = st.fixed_dictionaries(
    {
        "chainId": st.just(CHAIN_ID),
        "nonce": quantities,
        "gas": quantities,
        "value": st.integers(0, 2**256 - 1),
        "data": st.binary(max_size=80),
        "to": st.binary(min_size=20, max_size=20) | st.just(b""),
    }
)
prices = st.one_of(
    st.fixed_dictionaries({"gasPrice": fees}),
    st.fixed_dictionaries({"gasPrice": fees, "accessList": access_lists}),
    st.fixed_dictionaries({"maxFeePerGas": fees, "maxPriorityFeePerGas": fees, "accessList": access_lists}),
)


def signed(**members: Any) -> bytes:
    return bytes(OWNER.sign_transaction(TRANSFER | members).raw_transaction)


def authorized(nonce: int) -> Any:
    return OWNER.sign_authorization({"chainId": CHAIN_ID, "address": "0x" + "33" * 20, "nonce": nonce})


def read_or_refused(encoded: bytes) -> PooledTransaction | None:
    try:
        return PooledTransaction(SPEC, encoded)
    except InvalidTransactionError:
        return None


@settings(max_examples=examples(60))
@given(members, prices)
def test_what_another_implementation_signs_is_read_member_for_member(
    members: dict[str, Any], price: dict[str, Any]
) -> None:
    done = OWNER.sign_transaction(members | price)
    read = PooledTransaction(SPEC, bytes(done.raw_transaction))
    assert (read.hash, read.sender) == (bytes(done.hash), address_of(SECRET))
    assert (read.nonce, read.gas, read.value) == (members["nonce"], members["gas"], members["value"])
    assert (read.to or b"", read.input) == (members["to"], members["data"])
    fee = price.get("gasPrice", price.get("maxFeePerGas"))
    assert (read.max_fee, read.max_priority_fee) == (fee, price.get("maxPriorityFeePerGas", fee))
    assert read.encoded == bytes(done.raw_transaction)
    assert (read.max_blob_fee, read.blob_hashes, read.authorities) == (None, [], [])
    assert read.is_replay_protected
    assert not read.is_impersonated


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(st.sampled_from([FIXED, FIXED | {"accessList": ACCESS}, DYNAMIC]), st.data())
def test_a_changed_byte_is_another_sender_or_a_refusal(price: dict[str, Any], data: st.DataObject) -> None:
    encoded = bytearray(signed(**price))
    place = data.draw(st.integers(0, len(encoded) - 1))
    encoded[place] ^= data.draw(st.integers(1, 255))
    read = read_or_refused(bytes(encoded))
    assert read is None or (read.encoded == encoded and read.sender != address_of(SECRET))


@settings(max_examples=examples(200))
@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_refused(encoded: bytes) -> None:
    with pytest.raises(InvalidTransactionError):
        PooledTransaction(SPEC, encoded)


def test_one_that_sets_code_names_who_allowed_it() -> None:
    read = PooledTransaction(SPEC, signed(**DYNAMIC, authorizationList=[authorized(1)]))
    assert (read.type, read.authorities) == (4, [address_of(SECRET)])
    check_transaction(SPEC, head_of(SPEC), read)


def test_an_unprotected_signature_is_read_as_such() -> None:
    unprotected = {name: member for name, member in TRANSFER.items() if name != "chainId"}
    read = PooledTransaction(SPEC, bytes(OWNER.sign_transaction(unprotected | FIXED).raw_transaction))
    assert (read.sender, read.is_replay_protected) == (address_of(SECRET), False)


@pytest.mark.parametrize(
    ("encoded", "words"),
    [
        (b"", "typed transaction too short"),
        (b"\2", "typed transaction too short"),
        (b"\5\xc0", "transaction type not supported"),
        (b"\0\xc0", "transaction type not supported"),
        (b"\x83abc", "rlp: no legacy transaction"),
        (b"\xc0", "rlp: no legacy transaction"),
        (b"\2\xc0", "rlp: input too short"),
        (b"\1\xf8\x70", "rlp: input too short"),
        (signed(**DYNAMIC) + b"\0", "rlp: unexpected length"),
    ],
)
def test_what_is_no_transaction_is_refused(encoded: bytes, words: str) -> None:
    with pytest.raises(InvalidTransactionError) as caught:
        PooledTransaction(SPEC, encoded)
    assert str(caught.value) == words


ADDRESS = b"\x22" * 20
DYNAMIC_MEMBERS: list[Item] = [
    b"\5\x39",
    b"",
    b"\1",
    b"\2",
    b"\x52\x08",
    ADDRESS,
    b"",
    b"",
    [],
    b"",
    b"\1",
    b"\1",
]
WRONG_MEMBERS: list[tuple[int, Item, str]] = [
    (0, b"\1", "invalid sender: invalid chain id for signer: have 1 want 1337"),
    (0, b"\1" * 9, "invalid sender: invalid chain id for signer: have 18519084246547628289 want 1337"),
    (1, b"\0\1", "rlp: leading zero"),
    (1, b"\1" * 9, "rlp: overflow"),
    (3, b"\1" * 33, "max fee per gas higher than 2^256-1"),
    (5, b"\1" * 19, "rlp: unexpected length"),
    (6, b"\1" * 33, "insufficient funds for gas * price + value"),
    (7, [], "rlp: unexpected list"),
    (8, [[ADDRESS, [b"\1" * 31]]], "rlp: unexpected length"),
    (8, [[ADDRESS]], "rlp: input too short"),
    (9, b"\2", "invalid sender: invalid transaction v, r, s values"),
    (10, b"", "invalid sender: invalid transaction v, r, s values"),
    (10, b"\5", "invalid sender: recovery failed"),
    (11, b"\xff" * 32, "invalid sender: invalid transaction v, r, s values"),
]


@pytest.mark.parametrize(("place", "member", "words"), WRONG_MEMBERS)
def test_a_wrong_member_is_refused(place: int, member: Item, words: str) -> None:
    items = [*DYNAMIC_MEMBERS[:place], member, *DYNAMIC_MEMBERS[place + 1 :]]
    with pytest.raises(InvalidTransactionError) as caught:
        PooledTransaction(SPEC, b"\2" + encode(items))
    assert str(caught.value) == words
