"""Unsigned transactions as geth encodes and shows them: with a signature of zeros."""

from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rlp import Item, encode, number
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.transactions.fees import UnsignedTransaction

LEGACY: Final = 0
WITH_ACCESS_LIST: Final = 1
WITH_DYNAMIC_FEE: Final = 2
WITH_AUTHORIZATIONS: Final = 4

_AUTHORIZATION: Final = ("chainId", "address", "nonce", "yParity", "r", "s")
_NO_SIGNATURE: Final[list[Item]] = [b"", b"", b""]


def kind_of(transaction: UnsignedTransaction) -> int:
    """Return the type of a transaction, derived from its members."""
    if transaction.authorizations is not None:
        return WITH_AUTHORIZATIONS
    if transaction.fees.gas_price is None:
        return WITH_DYNAMIC_FEE
    return LEGACY if transaction.access_list is None else WITH_ACCESS_LIST


def encoded(transaction: UnsignedTransaction) -> bytes:
    """Return the encoded transaction, with v, r and s of zero."""
    kind, fees = kind_of(transaction), transaction.fees
    prices = [fees.gas_price] if fees.gas_price is not None else [fees.max_priority_fee, fees.max_fee]
    items: list[Item] = [number(transaction.nonce), *(number(price or 0) for price in prices)]
    items += [number(transaction.gas), transaction.to or b"", number(transaction.value), transaction.input]
    if kind == LEGACY:
        return encode([*items, *_NO_SIGNATURE])
    lists = [_access_list(transaction)]
    if kind == WITH_AUTHORIZATIONS:
        lists.append(_authorizations(transaction))
    return bytes([kind]) + encode([number(transaction.chain_id), *items, *lists, *_NO_SIGNATURE])


def rendered(transaction: UnsignedTransaction, transaction_hash: bytes) -> dict[str, Any]:
    """Return the transaction as a JSON object in geth's form."""
    kind, fees = kind_of(transaction), transaction.fees
    members: dict[str, Any] = {"type": hex(kind)}
    if kind != LEGACY:
        members["chainId"] = hex(transaction.chain_id)
    members |= {
        "nonce": hex(transaction.nonce),
        "to": None if transaction.to is None else hexadecimal(transaction.to),
        "gas": hex(transaction.gas),
        "gasPrice": _optional(fees.gas_price),
        "maxPriorityFeePerGas": _optional(fees.max_priority_fee),
        "maxFeePerGas": _optional(fees.max_fee),
        "value": hex(transaction.value),
        "input": hexadecimal(transaction.input),
    }
    if kind != LEGACY:
        members["accessList"] = _decoded(transaction.access_list)
    if kind == WITH_AUTHORIZATIONS:
        members["authorizationList"] = _decoded(transaction.authorizations)
    members |= dict.fromkeys(("v", "r", "s") if kind == LEGACY else ("v", "r", "s", "yParity"), "0x0")
    return members | {"hash": hexadecimal(transaction_hash)}


def _optional(price: int | None) -> str | None:
    return None if price is None else hex(price)


def _decoded(listed: bytes | None) -> list[dict[str, Any]]:
    return [] if listed is None else msgspec.json.decode(listed)


def _access_list(transaction: UnsignedTransaction) -> Item:
    return [
        [_bytes(entry["address"]), [_bytes(key) for key in entry["storageKeys"]]]
        for entry in _decoded(transaction.access_list)
    ]


def _authorizations(transaction: UnsignedTransaction) -> Item:
    return [
        [
            _bytes(entry[name]) if name == "address" else number(int(entry[name], 16))
            for name in _AUTHORIZATION
        ]
        for entry in _decoded(transaction.authorizations)
    ]


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])
