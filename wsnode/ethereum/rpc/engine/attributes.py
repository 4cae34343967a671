"""Payload attributes out of JSON."""

from typing import Any, Final

from wsnode.ethereum.payloads.payload import PayloadAttributes, Withdrawal
from wsnode.ethereum.rpc.calls.schemas import MAX_WITHDRAWALS
from wsnode.ethereum.rpc.common.decoding import (
    decode_array,
    decode_bytes,
    decode_quantity,
    field,
    kind,
    mismatch,
)
from wsnode.ethereum.rpc.common.parameters import decode_address, decode_hash, register_list
from wsnode.ethereum.rpc.common.schemas import ANY_BYTES
from wsnode.ethereum.rpc.engine.schemas import PAYLOAD_ATTRIBUTES
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.session_limits import check_count

MAX_TRANSACTIONS: Final = 10_000
"""Maximum number of transactions of a test's block: they use 210,000,000 gas at least."""
STRUCT: Final = "PayloadAttributes"
_REQUIRED: Final = ("timestamp", "prevRandao", "suggestedFeeRecipient")
_OPTIONAL: Final = ("withdrawals", "parentBeaconBlockRoot", "slotNumber", "targetGasLimit")
_WITHDRAWAL: Final = ("index", "validatorIndex", "address", "amount")


class AttributesParameter:
    """Attributes of a payload to build, as an object of the Engine API; other members are ignored."""

    __slots__ = ("value",)

    def __init__(self, value: PayloadAttributes) -> None:
        self.value = value


class ExactAttributes(AttributesParameter):
    """Attributes of a payload to build, as an object of the Engine API; other members are an error."""

    __slots__ = ()


class EncodedTransactions(tuple[bytes, ...]):
    """Signed transactions, each as hex."""

    __slots__ = ()


def decode_attributes(value: Any) -> AttributesParameter:
    """Return the attributes that a JSON object describes; members that are unknown are passed over.

    Raises:
        ValueError: A member is missing or malformed.
    """
    return AttributesParameter(PayloadAttributes(**_members(_object(value))))


def decode_exactly(value: Any) -> ExactAttributes:
    """Return the attributes of an object that may have no other members.

    Raises:
        ValueError: A member is missing, malformed or unknown.
    """
    if unknown := _object(value).keys() - {*_REQUIRED, *_OPTIONAL}:
        raise ValueError(f"unknown field '{min(unknown)}' for {STRUCT}")
    return ExactAttributes(PayloadAttributes(**_members(value)))


def _object(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise mismatch(kind(value), "engine.PayloadAttributes")
    return value


def _members(value: dict[str, Any]) -> dict[str, Any]:
    for name in _REQUIRED:
        if value.get(name) is None:
            raise ValueError(f"missing required field '{name}' for {STRUCT}")
    withdrawals, root = value.get("withdrawals"), value.get("parentBeaconBlockRoot")
    slot, limit = value.get("slotNumber"), value.get("targetGasLimit")
    place = field(STRUCT, "parentBeaconBlockRoot")
    return {
        "timestamp": _number(value["timestamp"], "timestamp"),
        "prev_randao": decode_hash(value["prevRandao"], field(STRUCT, "prevRandao")),
        "fee_recipient": decode_address(
            value["suggestedFeeRecipient"], field(STRUCT, "suggestedFeeRecipient")
        ),
        "withdrawals": None if withdrawals is None else _withdrawals(withdrawals),
        "parent_beacon_block_root": None if root is None else decode_hash(root, place),
        "slot_number": None if slot is None else _number(slot, "slotNumber"),
        "target_gas_limit": None if limit is None else _number(limit, "targetGasLimit"),
    }


def _withdrawals(value: Any) -> tuple[Withdrawal, ...]:
    decode_array(value, "[]*types.Withdrawal", field(STRUCT, "withdrawals"))
    check_count(len(value), MAX_WITHDRAWALS, "withdrawals")
    return tuple(map(_withdrawal, value))


def _withdrawal(value: Any) -> Withdrawal:
    if type(value) is not dict:
        raise mismatch(kind(value), "types.Withdrawal", field(STRUCT, "withdrawals"))
    for name in _WITHDRAWAL:
        if value.get(name) is None:
            raise ValueError(f"missing required field '{name}' for Withdrawal")
    index, validator, address, amount = (value[name] for name in _WITHDRAWAL)
    return (
        _number(index, "withdrawals.index"),
        _number(validator, "withdrawals.validatorIndex"),
        decode_address(address, field(STRUCT, "withdrawals.address")),
        _number(amount, "withdrawals.amount"),
    )


def _number(value: Any, name: str) -> int:
    return decode_quantity(value, 64, "hexutil.Uint64", field(STRUCT, name))


register_type(AttributesParameter, decode_attributes, PAYLOAD_ATTRIBUTES)
register_type(ExactAttributes, decode_exactly, PAYLOAD_ATTRIBUTES)
register_list(
    EncodedTransactions, decode_bytes, ANY_BYTES, most=MAX_TRANSACTIONS, type_name="[]hexutil.Bytes"
)
