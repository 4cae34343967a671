import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.ethereum.rpc.common.decoding import decode_bytes, decode_quantity, parse_bytes, parse_quantity
from wsnode.ethereum.rpc.common.parameters import (
    FINALIZED,
    LATEST_BLOCK,
    PENDING,
    StorageKey,
    decode_address,
    decode_block_number,
    decode_block_parameter,
    decode_hash,
    quoted,
    slot_of,
)

HASH = "0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94"
ADDRESS = "0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"

spelling = st.sampled_from([str, str.upper, str.swapcase])


@given(st.binary(min_size=20, max_size=20), spelling)
def test_an_address_survives_in_any_case(address: bytes, spell: object) -> None:
    assert callable(spell)
    assert decode_address(spell(f"0x{address.hex()}")) == address


@given(st.binary(min_size=32, max_size=32))
def test_a_hash_survives(value: bytes) -> None:
    assert decode_hash(f"0x{value.hex()}") == value


@given(st.binary(), spelling)
def test_bytes_survive(value: bytes, spell: object) -> None:
    assert callable(spell)
    text = spell(f"0x{value.hex()}")
    assert decode_bytes(text) == parse_bytes(text) == value


@given(st.integers(min_value=0, max_value=2**256 - 1), spelling)
def test_a_quantity_survives(number: int, spell: object) -> None:
    assert callable(spell)
    assert parse_quantity(spell(hex(number)), 256) == number


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_a_block_number_survives(number: int) -> None:
    assert decode_block_number(hex(number)) == number
    assert decode_block_parameter(hex(number)).number == number


@given(st.binary(max_size=32), st.booleans())
def test_a_storage_key_is_read_with_and_without_prefix_and_leading_zeros(slot: bytes, prefixed: bool) -> None:
    digits = slot.hex().lstrip("0")
    assert slot_of(StorageKey(("0x" if prefixed else "") + digits)) == slot.rjust(32, b"\0")


@given(st.text())
def test_no_text_makes_a_decoder_fail_otherwise_than_by_a_value_error(text: str) -> None:
    for decode in (decode_address, decode_hash, decode_bytes, decode_block_number, decode_block_parameter):
        with contextlib.suppress(ValueError):
            decode(text)


@pytest.mark.parametrize("text", ["0x_1", "0x+1", "0x-1", "0x 1", "0x1 ", "0x\u0661", "0x1\u0661", "0xg"])
def test_what_python_would_read_as_a_number_is_no_hex(text: str) -> None:
    with pytest.raises(ValueError, match=r"^invalid hex string$"):
        parse_quantity(text, 64)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty hex string"),
        ("12", "hex string without 0x prefix"),
        ("0x", 'hex string "0x"'),
        ("0x00", "hex number with leading zero digits"),
        ("0x01", "hex number with leading zero digits"),
        ("0x10000000000000000", "hex number > 64 bits"),
        ("0x8000000000000000", "block number larger than int64"),
        ("Latest", "hex string without 0x prefix"),
        (HASH, "hex number > 64 bits"),
        (5, "hex string without 0x prefix"),
        ({"blockNumber": "0x1"}, "hex string without 0x prefix"),
        (True, "hex string without 0x prefix"),
    ],
)
def test_a_malformed_block_number_is_refused_in_geths_words(text: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        decode_block_number(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "empty hex string"),
        ("0x8000000000000000", "blocknumber too high"),
        (HASH[:-1] + "g", "invalid hex string"),
        ("11" * 33, "hex string without 0x prefix"),
        (5, "json: cannot unmarshal number into Go value of type string"),
        (True, "json: cannot unmarshal bool into Go value of type string"),
        (["0x1"], "json: cannot unmarshal array into Go value of type string"),
        ({"blockNumber": 5}, "json: cannot unmarshal object into Go value of type string"),
        ({"blockHash": "0x12"}, "json: cannot unmarshal object into Go value of type string"),
        (
            {"blockHash": HASH, "requireCanonical": "yes"},
            "json: cannot unmarshal object into Go value of type string",
        ),
        ({}, "must specify either BlockHash or BlockNumber"),
        (
            {"blockHash": HASH, "blockNumber": "0x1"},
            "cannot specify both BlockHash and BlockNumber, choose one or the other",
        ),
    ],
)
def test_a_malformed_block_parameter_is_refused_in_geths_words(value: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        decode_block_parameter(value)
    assert str(caught.value) == message


def test_a_block_is_named_by_tag_number_hash_or_object() -> None:
    assert decode_block_parameter("latest") is LATEST_BLOCK
    assert decode_block_parameter("pending").number == PENDING
    assert decode_block_parameter({"blockNumber": "finalized"}).number == FINALIZED
    assert decode_block_parameter("0XA").number == 10
    by_hash = decode_block_parameter({"BLOCKHASH": HASH, "requireCanonical": True})
    assert by_hash.hash == bytes.fromhex(HASH[2:])
    assert by_hash.require_canonical
    assert decode_block_parameter(HASH).hash == by_hash.hash


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("0x" + "0" * 65, f'storage key too long (want at most 32 bytes): "0x{"0" * 65}"'),
        ("0xasdf", 'invalid hex in storage key: "0xasdf"'),
        ("0x 1", 'invalid hex in storage key: "0x 1"'),
        ("-1", 'invalid hex in storage key: "-1"'),
        ('é"\n', 'invalid hex in storage key: "é\\"\\n"'),
    ],
)
def test_an_unreadable_storage_key_is_quoted(key: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        slot_of(StorageKey(key))
    assert str(caught.value) == message


def test_control_characters_are_quoted_as_go_does() -> None:
    assert quoted("\x01\\\u2028") == '"\\x01\\\\\\u2028"'


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0x12", "hex string has length 2, want 40 for common.Address"),
        ("", "hex string has length 0, want 40 for common.Address"),
        ("0x123", "json: cannot unmarshal hex string of odd length into Go value of type common.Address"),
        ("12", "json: cannot unmarshal hex string without 0x prefix into Go value of type common.Address"),
        (5, "json: cannot unmarshal non-string into Go value of type common.Address"),
        (
            ADDRESS[:-1] + "z",
            "json: cannot unmarshal invalid hex string into Go value of type common.Address",
        ),
        (
            ADDRESS[:-2] + "  ",
            "json: cannot unmarshal invalid hex string into Go value of type common.Address",
        ),
    ],
)
def test_a_malformed_address_is_refused_in_geths_words(value: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        decode_address(value)
    assert str(caught.value) == message


def test_an_empty_string_is_the_quantity_zero_where_geth_takes_it_so() -> None:
    assert decode_quantity("", 64, "hexutil.Uint") == 0
