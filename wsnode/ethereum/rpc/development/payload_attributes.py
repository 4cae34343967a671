"""The parameter of testing_buildBlockV1 that describes a block: the engine API's payload attributes."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.ethereum.rpc.development.schemas import PAYLOAD_ATTRIBUTES
from wsnode.ethereum.rpc.form.decoding import decode_bytes, decode_quantity, field, kind, mismatch
from wsnode.ethereum.rpc.form.parameters import decode_address, decode_hash
from wsnode.ethereum.rpc.form.schemas import ANY_BYTES
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.schema import list_of

STRUCT: Final = "PayloadAttributes"
_REQUIRED: Final = ("timestamp", "prevRandao", "suggestedFeeRecipient")
_WITHDRAWAL: Final = ("index", "validatorIndex", "address", "amount")

Withdrawal: TypeAlias = tuple[int, int, bytes, int]
"""Index, validator index, address, amount in gwei."""


class PayloadAttributes:
    """The attributes of the block to build; `timestamp` is in seconds.

    Without a target the gas limit stays that of the parent.
    """

    def __init__(
        self,
        *,
        timestamp: int,
        prev_randao: Hash32,
        fee_recipient: Address,
        withdrawals: Sequence[Withdrawal],
        parent_beacon_block_root: Hash32 | None,
        target_gas_limit: int | None,
    ) -> None:
        self.timestamp = timestamp
        self.prev_randao = prev_randao
        self.fee_recipient = fee_recipient
        self.withdrawals = withdrawals
        self.parent_beacon_block_root = parent_beacon_block_root
        self.target_gas_limit = target_gas_limit


class EncodedTransactions(tuple[bytes, ...]):
    """Signed transactions."""

    __slots__ = ()


def decode_attributes(value: Any) -> PayloadAttributes:
    """Return the attributes that a JSON object describes.

    Raises:
        ValueError: A member is missing or malformed.
    """
    if type(value) is not dict:
        raise mismatch(kind(value), "engine.PayloadAttributes")
    for name in _REQUIRED:
        if value.get(name) is None:
            raise ValueError(f"missing required field '{name}' for {STRUCT}")
    root, limit = value.get("parentBeaconBlockRoot"), value.get("targetGasLimit")
    place = field(STRUCT, "parentBeaconBlockRoot")
    return PayloadAttributes(
        timestamp=_number(value["timestamp"], "timestamp"),
        prev_randao=decode_hash(value["prevRandao"], field(STRUCT, "prevRandao")),
        fee_recipient=decode_address(value["suggestedFeeRecipient"], field(STRUCT, "suggestedFeeRecipient")),
        withdrawals=tuple(map(_withdrawal, value.get("withdrawals") or ())),
        parent_beacon_block_root=None if root is None else decode_hash(root, place),
        target_gas_limit=None if limit is None else _number(limit, "targetGasLimit"),
    )


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


def _decode_transactions(value: Any) -> EncodedTransactions:
    if type(value) is not list:
        raise mismatch(kind(value), "[]hexutil.Bytes")
    return EncodedTransactions(decode_bytes(item) for item in value)


register_type(PayloadAttributes, decode_attributes, PAYLOAD_ATTRIBUTES)
register_type(EncodedTransactions, _decode_transactions, list_of(ANY_BYTES))
