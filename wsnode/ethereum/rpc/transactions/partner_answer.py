"""Checks of a transaction from another node, against its hash and its signature.

The fields are encoded again, and the engine computes the hash and recovers the sender. Members that no
signature covers are checked in form only: the place in the chain and the price paid.
"""

from typing import Annotated, Any, Final

import msgspec

from wsnode.ethereum.codec.blocks import decode_blocks
from wsnode.ethereum.codec.rendering import render_transaction
from wsnode.ethereum.codec.rlp import Item, encode
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.state import ChainSpec

Number = Annotated[str, msgspec.Meta(pattern=r"^0x[0-9a-fA-F]{1,64}\Z")]
Content = Annotated[str, msgspec.Meta(pattern=r"^0x([0-9a-fA-F]{2})*\Z")]
Hash = Annotated[str, msgspec.Meta(pattern=r"^0x[0-9a-fA-F]{64}\Z")]
Account = Annotated[str, msgspec.Meta(pattern=r"^0x[0-9a-fA-F]{40}\Z")]

_FAR: Final = (1 << 62).to_bytes(8, "big")
_NO_BLOOM: Final = bytes(256)
_HASH: Final = bytes(32)
# A block so late that every fork of the chain is in force; only its transaction is read.
_HEADER: Final[list[Item]] = [
    *(_HASH, _HASH, bytes(20), _HASH, _HASH, _HASH, _NO_BLOOM),
    *(b"", _FAR, _FAR, b"", _FAR, b"", _HASH, bytes(8)),
]


class AnswerError(Exception):
    """The partner's answer is not the requested transaction."""


class Access(msgspec.Struct, rename="camel"):
    """An entry of an access list."""

    address: Account
    storage_keys: list[Hash]


class Authorization(msgspec.Struct, rename="camel"):
    """A signed delegation."""

    chain_id: Number
    address: Account
    nonce: Number
    y_parity: Number
    r: Number
    s: Number


class Told(msgspec.Struct, rename="camel"):
    """A transaction object; other members are ignored."""

    type: Number
    hash: Hash
    sender: Account = msgspec.field(name="from")
    to: Account | None
    nonce: Number
    gas: Number
    value: Number
    input: Content
    v: Number
    r: Number
    s: Number
    gas_price: Number
    block_hash: Hash | None
    block_number: Number | None
    transaction_index: Number | None
    block_timestamp: Number | None = None
    chain_id: Number = "0x0"
    max_fee_per_gas: Number = "0x0"
    max_priority_fee_per_gas: Number = "0x0"
    max_fee_per_blob_gas: Number = "0x0"
    access_list: list[Access] = []
    blob_versioned_hashes: list[Hash] = []
    authorization_list: list[Authorization] = []


def checked_transaction(spec: ChainSpec, wanted: bytes, answer: Any) -> bytes:
    """Return the JSON text of the transaction `wanted`, in this node's form.

    Raises:
        AnswerError: The answer is not that transaction.
    """
    try:
        told = msgspec.convert(answer, Told)
        encoded = _encoded(told)
    except (msgspec.ValidationError, ValueError) as error:
        raise AnswerError(str(error)) from None
    proved = _proved(spec, encoded)
    if proved["hash"] != hexadecimal(wanted) or told.hash.lower() != proved["hash"]:
        raise AnswerError(f"the fields are those of {proved['hash']}")
    if proved["from"] != told.sender.lower():
        raise AnswerError(f"the sender is {proved['from']}, not {told.sender}")
    return msgspec.json.encode(proved | _unsigned(told, int(proved["gasPrice"], 16)))


def _proved(spec: ChainSpec, transaction: Item) -> dict[str, Any]:
    block = encode([_HEADER, [transaction], []])
    blocks, error = decode_blocks(spec, [block])
    text = None if error is not None else render_transaction(blocks[0].header, blocks[0].body, 0)
    if text is None:
        raise AnswerError(str(error))
    proved: dict[str, Any] = msgspec.json.decode(text)
    return proved


def _unsigned(told: Told, highest_price: int) -> dict[str, Any]:
    """Return the members that no signature covers.

    Raises:
        AnswerError: They contradict each other.
    """
    place = (told.block_hash, told.block_number, told.transaction_index)
    if any(part is None for part in place) and place != (None, None, None):
        raise AnswerError("half a place in the chain")
    if int(told.gas_price, 16) > highest_price:
        raise AnswerError("a price above what was signed")
    return {
        "blockHash": told.block_hash and told.block_hash.lower(),
        "blockNumber": _quantity(told.block_number),
        "blockTimestamp": _quantity(told.block_timestamp),
        "transactionIndex": _quantity(told.transaction_index),
        "gasPrice": _quantity(told.gas_price),
    }


def _encoded(told: Told) -> Item:
    """Return the transaction as a block holds it: a list, or the bytes of its envelope."""
    to = b"" if told.to is None else _bytes(told.to)
    nonce, gas, price = _number(told.nonce), _number(told.gas), _number(told.gas_price)
    body: list[Item] = [gas, to, _number(told.value), _bytes(told.input)]
    signature: list[Item] = [_number(told.v), _number(told.r), _number(told.s)]
    kind = int(told.type, 16)
    if kind == 0:
        return [nonce, price, *body, *signature]
    access: list[Item] = [
        [_bytes(entry.address), list(map(_bytes, entry.storage_keys))] for entry in told.access_list
    ]
    fees: list[Item] = [_number(told.max_priority_fee_per_gas), _number(told.max_fee_per_gas)]
    start: list[Item] = [_number(told.chain_id), nonce, *([price] if kind == 1 else fees), *body, access]
    return bytes((kind,)) + encode([*start, *_additions(told, kind), *signature])


def _additions(told: Told, kind: int) -> list[Item]:
    match kind:
        case 1 | 2:
            return []
        case 3:
            return [_number(told.max_fee_per_blob_gas), list(map(_bytes, told.blob_versioned_hashes))]
        case 4:
            return [list(map(_authorization, told.authorization_list))]
    raise ValueError(f"transactions of type {kind} are unknown here")


def _authorization(told: Authorization) -> list[Item]:
    signature = [_number(told.y_parity), _number(told.r), _number(told.s)]
    return [_number(told.chain_id), _bytes(told.address), _number(told.nonce), *signature]


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def _number(text: str) -> bytes:
    number = int(text, 16)
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def _quantity(text: str | None) -> str | None:
    return None if text is None else hex(int(text, 16))
