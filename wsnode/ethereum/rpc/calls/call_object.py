"""The call object of eth_call and eth_estimateGas, with geth's errors for each member."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.ethereum.rpc.common.decoding import (
    decode_array,
    decode_bytes,
    decode_quantity,
    field,
    kind,
    mismatch,
)
from wsnode.ethereum.rpc.common.parameters import decode_address, decode_hash
from wsnode.ethereum.rpc.common.schemas import ANY_ADDRESS, ANY_BYTES, ANY_HASH, ANY_QUANTITY
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.schema import Schema, list_of, members, or_null
from wsnode.jsonrpc.session_limits import check_count

STRUCT = "TransactionArgs"
UINT64 = "hexutil.Uint64"
BIG = "*hexutil.Big"

MAX_ACCESSES: Final = 10_000
"""Addresses and slots of one call's access list, or of several calls' together: 6 us each.

A transaction of the gas that a block has at most since Osaka pays for 8,800 slots.
"""
MAX_AUTHORIZATIONS: Final = 1_000
"""25 us each."""
MAX_BLOBS: Final = 128


class CallObject:
    """A call or an unsigned transaction, in geth's form; every member may be missing."""

    # Defaults on the class: a call sets only the members that it has.
    sender: Address | None = None
    to: Address | None = None
    gas: int | None = None
    gas_price: int | None = None
    max_fee: int | None = None
    max_priority_fee: int | None = None
    max_blob_fee: int | None = None
    value: int | None = None
    nonce: int | None = None
    data: bytes | None = None
    input: bytes | None = None
    chain_id: int | None = None
    access_list: bytes | None = None
    blob_hashes: list[Hash32] | None = None
    authorizations: bytes | None = None


def decode_call_object(value: Any) -> CallObject:
    """Return the call that a JSON object describes; names match in any case, unknown ones are ignored.

    Raises:
        ValueError: A member is malformed.
    """
    if type(value) is not dict:
        raise mismatch(kind(value), "ethapi.TransactionArgs")
    call = CallObject()
    for name, member in value.items():
        known = _MEMBERS.get(name) or _MEMBERS_BY_LOWER_CASE.get(name.lower())
        if known is not None:
            attribute, decode, place = known
            setattr(call, attribute, None if member is None else decode(member, place))
    return call


def check_accesses(calls: Iterable[Any]) -> None:
    """Check the number of addresses and slots in all access lists of calls that are not decoded.

    Raises:
        ValueError: There are more than one request may have.
    """
    objects = (call for call in calls if type(call) is dict)
    members = (member for call in objects for name, member in call.items() if name.lower() == "accesslist")
    _check_accesses(sum(_accesses(member) for member in members if type(member) is list))


def check_authorizations(calls: Iterable[Any]) -> None:
    """Check the number of authorizations of calls that are not decoded.

    Raises:
        ValueError: There are more than one request may have.
    """
    objects = (call for call in calls if type(call) is dict)
    members = (
        member for call in objects for name, member in call.items() if name.lower() == "authorizationlist"
    )
    count = sum(len(member) for member in members if type(member) is list)
    check_count(count, MAX_AUTHORIZATIONS, "authorizations")


def _check_accesses(count: int) -> None:
    check_count(count, MAX_ACCESSES, "addresses and slots in access lists")


def _accesses(tuples: list[Any]) -> int:
    slots = (item.get("storageKeys") for item in tuples if type(item) is dict)
    return len(tuples) + sum(len(keys) for keys in slots if type(keys) is list)


def _uint64(value: Any, place: str) -> int:
    return decode_quantity(value, 64, UINT64, place)


def _big(value: Any, place: str) -> int:
    return decode_quantity(value, 256, BIG, place)


def _payload(value: Any, place: str) -> bytes:
    return decode_bytes(value, place=place)


def _access_list(value: Any, place: str) -> bytes:
    """Return the access list as JSON in lower case, for the engine."""
    tuples = decode_array(value, "types.AccessList", place)
    _check_accesses(_accesses(tuples))
    return msgspec.json.encode([_access_tuple(item, place) for item in tuples])


def _access_tuple(value: Any, place: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise mismatch(kind(value), "types.AccessTuple", place)
    if value.get("address") is None:
        raise ValueError("missing required field 'address' for AccessTuple")
    address = decode_address(value["address"], f"{place}.address")
    if value.get("storageKeys") is None:
        raise ValueError("missing required field 'storageKeys' for AccessTuple")
    keys = decode_array(value["storageKeys"], "[]common.Hash", f"{place}.storageKeys")
    slots = [decode_hash(key, f"{place}.storageKeys") for key in keys]
    return {"address": f"0x{address.hex()}", "storageKeys": [f"0x{slot.hex()}" for slot in slots]}


def _blob_hashes(value: Any, place: str) -> list[Hash32]:
    items = decode_array(value, "[]common.Hash", place)
    check_count(len(items), MAX_BLOBS, "blob hashes")
    return [decode_hash(item, place) for item in items]


_AUTHORIZATION: dict[str, tuple[int, str]] = {
    "chainId": (256, "*uint256.Int"),
    "nonce": (64, UINT64),
    "yParity": (8, UINT64),
    "r": (256, "*uint256.Int"),
    "s": (256, "*uint256.Int"),
}


def _authorizations(value: Any, place: str) -> bytes:
    """Return the authorization list as JSON with plain quantities, for the engine."""
    items = decode_array(value, "[]types.SetCodeAuthorization", place)
    check_count(len(items), MAX_AUTHORIZATIONS, "authorizations")
    return msgspec.json.encode([_authorization(item, place) for item in items])


def _authorization(value: Any, place: str) -> dict[str, str]:
    if type(value) is not dict:
        raise mismatch(kind(value), "types.SetCodeAuthorization", place)
    for name in ("chainId", "address", "nonce", "yParity", "r", "s"):
        if value.get(name) is None:
            raise ValueError(f"missing required field '{name}' for SetCodeAuthorization")
    quantities = {
        name: hex(decode_quantity(value[name], bits, type_name, f"{place}.{name}"))
        for name, (bits, type_name) in _AUTHORIZATION.items()
    }
    return {"address": f"0x{decode_address(value['address'], f'{place}.address').hex()}", **quantities}


_SIGNATURE = ("chainId", "nonce", "yParity", "r", "s")
_ACCESSES = list_of(
    members(
        {"address": ANY_ADDRESS, "storageKeys": list_of(ANY_HASH, most=MAX_ACCESSES)},
        "address",
        "storageKeys",
    ),
    most=MAX_ACCESSES,
)
_SIGNED = list_of(
    members({"address": ANY_ADDRESS, **dict.fromkeys(_SIGNATURE, ANY_QUANTITY)}, "address", *_SIGNATURE),
    most=MAX_AUTHORIZATIONS,
)
_DESCRIPTIONS: tuple[tuple[str, str, Callable[[Any, str], Any], Schema], ...] = (
    ("from", "sender", decode_address, ANY_ADDRESS),
    ("to", "to", decode_address, or_null(ANY_ADDRESS)),
    ("gas", "gas", _uint64, ANY_QUANTITY),
    ("gasPrice", "gas_price", _big, ANY_QUANTITY),
    ("maxFeePerGas", "max_fee", _big, ANY_QUANTITY),
    ("maxPriorityFeePerGas", "max_priority_fee", _big, ANY_QUANTITY),
    ("maxFeePerBlobGas", "max_blob_fee", _big, ANY_QUANTITY),
    ("value", "value", _big, ANY_QUANTITY),
    ("nonce", "nonce", _uint64, ANY_QUANTITY),
    ("chainId", "chain_id", _big, ANY_QUANTITY),
    ("input", "input", _payload, ANY_BYTES),
    ("data", "data", _payload, ANY_BYTES),
    ("accessList", "access_list", _access_list, _ACCESSES),
    ("blobVersionedHashes", "blob_hashes", _blob_hashes, list_of(ANY_HASH, most=MAX_BLOBS)),
    ("authorizationList", "authorizations", _authorizations, _SIGNED),
)
"""Members of a call: name, attribute of `CallObject`, decoder, and schema of the values."""
_MEMBERS = {
    name: (attribute, decode, field(STRUCT, name)) for name, attribute, decode, _schema in _DESCRIPTIONS
}
_MEMBERS_BY_LOWER_CASE = {name.lower(): member for name, member in _MEMBERS.items()}
CALL: Final = members({name: schema for name, _attribute, _decode, schema in _DESCRIPTIONS})

register_type(CallObject, decode_call_object, CALL)
