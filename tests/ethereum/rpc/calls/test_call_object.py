import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.ethereum.codec.addresses import are_hashes
from wsnode.ethereum.rpc.calls.call_object import decode_call_object
from wsnode.ethereum.rpc.calls.overrides import decode_block_overrides, decode_state_overrides

ADDRESS = "0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"
SLOT = "0x" + "22" * 32
FIELD = "into Go struct field TransactionArgs"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("x", "json: cannot unmarshal string into Go value of type ethapi.TransactionArgs"),
        ({"from": "0x12"}, "hex string has length 2, want 40 for common.Address"),
        ({"from": 5}, f"json: cannot unmarshal non-string {FIELD}.from of type common.Address"),
        ({"to": ""}, "hex string has length 0, want 40 for common.Address"),
        (
            {"gas": "xx"},
            f"json: cannot unmarshal hex string without 0x prefix {FIELD}.gas of type hexutil.Uint64",
        ),
        (
            {"gas": "0x01"},
            f"json: cannot unmarshal hex number with leading zero digits {FIELD}.gas of type hexutil.Uint64",
        ),
        (
            {"gas": "0x1" + "0" * 16},
            f"json: cannot unmarshal hex number > 64 bits {FIELD}.gas of type hexutil.Uint64",
        ),
        (
            {"gasPrice": "0x" + "f" * 65},
            f"json: cannot unmarshal hex number > 256 bits {FIELD}.gasPrice of type *hexutil.Big",
        ),
        ({"value": 5}, f"json: cannot unmarshal non-string {FIELD}.value of type *hexutil.Big"),
        (
            {"nonce": "0xzz"},
            f"json: cannot unmarshal invalid hex string {FIELD}.nonce of type hexutil.Uint64",
        ),
        (
            {"data": "0x1"},
            f"json: cannot unmarshal hex string of odd length {FIELD}.data of type hexutil.Bytes",
        ),
        ({"input": True}, f"json: cannot unmarshal non-string {FIELD}.input of type hexutil.Bytes"),
        ({"accessList": 5}, f"json: cannot unmarshal number {FIELD}.accessList of type types.AccessList"),
        ({"accessList": [{"address": ADDRESS}]}, "missing required field 'storageKeys' for AccessTuple"),
        ({"accessList": [{"storageKeys": []}]}, "missing required field 'address' for AccessTuple"),
        (
            {"accessList": [{"address": ADDRESS, "storageKeys": ["0x1"]}]},
            f"json: cannot unmarshal hex string of odd length {FIELD}.accessList.storageKeys "
            "of type common.Hash",
        ),
        ({"authorizationList": [{}]}, "missing required field 'chainId' for SetCodeAuthorization"),
        (
            {"authorizationList": 5},
            f"json: cannot unmarshal number {FIELD}.authorizationList of type []types.SetCodeAuthorization",
        ),
    ],
)
def test_a_malformed_call_is_refused_in_geths_words(call: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        decode_call_object(call)
    assert str(caught.value) == message


def test_members_are_read_in_any_case_and_null_stands_for_none() -> None:
    call = decode_call_object({"FROM": ADDRESS, "Gas": "0X5208", "value": None, "other": 1, "data": ""})
    assert call.sender == bytes.fromhex(ADDRESS[2:])
    assert (call.gas, call.value, call.data, call.input) == (21000, None, b"", None)


def test_an_access_list_reaches_the_engine_in_lower_case() -> None:
    call = decode_call_object({"accessList": [{"address": ADDRESS.upper(), "storageKeys": [SLOT]}]})
    assert call.access_list is not None
    assert json.loads(call.access_list) == [{"address": ADDRESS, "storageKeys": [SLOT]}]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ("x", "json: cannot unmarshal string into Go value of type override.StateOverride"),
        (
            {"zz": {}},
            "json: cannot unmarshal hex string without 0x prefix into Go value of type common.Address",
        ),
        ({ADDRESS: 5}, "json: cannot unmarshal number into Go value of type override.OverrideAccount"),
        (
            {ADDRESS: {"balance": "zz"}},
            "json: cannot unmarshal hex string without 0x prefix into Go struct field "
            "OverrideAccount.balance of type *hexutil.Big",
        ),
        (
            {ADDRESS: {"state": {"0x1": "0x2"}}},
            "json: cannot unmarshal hex string of odd length into Go struct field "
            "OverrideAccount.state of type common.Hash",
        ),
    ],
)
def test_malformed_state_overrides_are_refused_in_geths_words(overrides: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        decode_state_overrides(overrides)
    assert str(caught.value) == message


def test_malformed_block_overrides_are_refused_in_geths_words() -> None:
    with pytest.raises(ValueError) as caught:
        decode_block_overrides({"number": "zz"})
    assert str(caught.value) == (
        "json: cannot unmarshal hex string without 0x prefix into Go struct field "
        "BlockOverrides.Number of type *hexutil.Big"
    )


@given(st.dictionaries(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32), max_size=4))
def test_slots_are_the_same_however_they_are_written(slots: dict[bytes, bytes]) -> None:
    usual = {f"0x{slot.hex()}": f"0x{value.hex()}" for slot, value in slots.items()}
    unusual = {slot.upper(): value for slot, value in usual.items()}
    assert are_hashes(usual)
    assert are_hashes(unusual) == (unusual == usual)
    decoded = decode_state_overrides({ADDRESS: {"stateDiff": unusual}})
    assert json.loads(decoded) == {ADDRESS: {"stateDiff": usual}}
    assert decode_state_overrides({ADDRESS: {"stateDiff": usual}}) == decoded


@pytest.mark.parametrize(
    "other", [None, 5, [SLOT], SLOT[:-1], SLOT + "2", "0X" + SLOT[2:], SLOT[:-1] + "g", "é" * 33]
)
def test_slots_that_are_no_hashes_are_decoded(other: object) -> None:
    assert not are_hashes({SLOT: SLOT, SLOT[:-1] + "1": other})
    if isinstance(other, str):
        assert not are_hashes({other: SLOT})


def test_overrides_reach_the_engine_under_their_own_names() -> None:
    accounts = {ADDRESS.upper(): {"Balance": "0XA", "code": None}, SLOT[:42]: {"stateDiff": {SLOT: SLOT}}}
    assert json.loads(decode_state_overrides(accounts)) == {
        ADDRESS: {"balance": "0xa"},
        SLOT[:42]: {"stateDiff": {SLOT: SLOT}},
    }
    assert json.loads(decode_block_overrides({"GASLIMIT": "0x1", "number": "0x2", "other": 3})) == {
        "gasLimit": "0x1",
        "number": "0x2",
    }
    assert decode_state_overrides({}) == b""
    assert decode_block_overrides({"number": None}) == b""
