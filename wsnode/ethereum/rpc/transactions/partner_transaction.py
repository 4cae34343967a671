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
from wsnode.jsonrpc.work import JsonText

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


class PartnerAnswerError(Exception):
    """Error of a reply of the partner, another provider's node, that is not the requested transaction."""


class Access(msgspec.Struct, rename="camel"):
    """Entry of a transaction's access list (EIP-2930): an address, and storage keys."""

    address: Account
    storage_keys: list[Hash]


class Authorization(msgspec.Struct, rename="camel"):
    """Entry of a transaction's authorization list (EIP-7702), a signed delegation; numbers in hex."""

    chain_id: Number
    address: Account
    nonce: Number
    y_parity: Number
    r: Number
    s: Number


class PartnerTransaction(msgspec.Struct, rename="camel"):
    """Transaction object in the reply of a partner, another provider's node; unknown members are ignored."""

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


def checked_transaction(spec: ChainSpec, wanted: bytes, answer: Any) -> JsonText:
    """Return the JSON text of the transaction `wanted`, in this node's form.

    Raises:
        PartnerAnswerError: The answer is not that transaction.
    """
    try:
        transaction = msgspec.convert(answer, PartnerTransaction)
        encoded = _encoded(transaction)
    except (msgspec.ValidationError, ValueError) as error:
        raise PartnerAnswerError(str(error)) from None
    proved = _proved(spec, encoded)
    if proved["hash"] != hexadecimal(wanted) or transaction.hash.lower() != proved["hash"]:
        raise PartnerAnswerError(f"the fields are those of {proved['hash']}")
    if proved["from"] != transaction.sender.lower():
        raise PartnerAnswerError(f"the sender is {proved['from']}, not {transaction.sender}")
    return msgspec.json.encode(proved | _unsigned(transaction, int(proved["gasPrice"], 16)))


def _proved(spec: ChainSpec, transaction: Item) -> dict[str, Any]:
    block = encode([_HEADER, [transaction], []])
    blocks, error = decode_blocks(spec, [block])
    text = None if error is not None else render_transaction(blocks[0].header, blocks[0].body, 0)
    if text is None:
        raise PartnerAnswerError(str(error))
    proved: dict[str, Any] = msgspec.json.decode(text)
    return proved


def _unsigned(transaction: PartnerTransaction, highest_price: int) -> dict[str, Any]:
    """Return the members that no signature covers.

    Raises:
        PartnerAnswerError: They contradict each other.
    """
    place = (transaction.block_hash, transaction.block_number, transaction.transaction_index)
    if any(part is None for part in place) and place != (None, None, None):
        raise PartnerAnswerError("half a place in the chain")
    if int(transaction.gas_price, 16) > highest_price:
        raise PartnerAnswerError("a price above what was signed")
    return {
        "blockHash": transaction.block_hash and transaction.block_hash.lower(),
        "blockNumber": _quantity(transaction.block_number),
        "blockTimestamp": _quantity(transaction.block_timestamp),
        "transactionIndex": _quantity(transaction.transaction_index),
        "gasPrice": _quantity(transaction.gas_price),
    }


def _encoded(transaction: PartnerTransaction) -> Item:
    """Return the transaction as a block holds it: a list, or the bytes of its envelope."""
    to = b"" if transaction.to is None else _bytes(transaction.to)
    nonce, gas, price = _number(transaction.nonce), _number(transaction.gas), _number(transaction.gas_price)
    body: list[Item] = [gas, to, _number(transaction.value), _bytes(transaction.input)]
    signature: list[Item] = [_number(transaction.v), _number(transaction.r), _number(transaction.s)]
    kind = int(transaction.type, 16)
    if kind == 0:
        return [nonce, price, *body, *signature]
    access: list[Item] = [
        [_bytes(entry.address), list(map(_bytes, entry.storage_keys))] for entry in transaction.access_list
    ]
    fees: list[Item] = [_number(transaction.max_priority_fee_per_gas), _number(transaction.max_fee_per_gas)]
    start: list[Item] = [
        _number(transaction.chain_id),
        nonce,
        *([price] if kind == 1 else fees),
        *body,
        access,
    ]
    return bytes((kind,)) + encode([*start, *_additions(transaction, kind), *signature])


def _additions(transaction: PartnerTransaction, kind: int) -> list[Item]:
    match kind:
        case 1 | 2:
            return []
        case 3:
            return [
                _number(transaction.max_fee_per_blob_gas),
                list(map(_bytes, transaction.blob_versioned_hashes)),
            ]
        case 4:
            return [list(map(_authorization, transaction.authorization_list))]
    raise ValueError(f"transactions of type {kind} are unknown here")


def _authorization(transaction: Authorization) -> list[Item]:
    signature = [_number(transaction.y_parity), _number(transaction.r), _number(transaction.s)]
    return [
        _number(transaction.chain_id),
        _bytes(transaction.address),
        _number(transaction.nonce),
        *signature,
    ]


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def _number(text: str) -> bytes:
    number = int(text, 16)
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def _quantity(text: str | None) -> str | None:
    return None if text is None else hex(int(text, 16))
