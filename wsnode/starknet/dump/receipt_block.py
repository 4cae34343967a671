"""A dump's blocks with transactions and receipts, in the form of a node's `getBlockWithReceipts`.

The feeder gateway has transactions and receipts in two lists, names of its own, and no unit of fees.
"""

from typing import Any, Final

import msgspec

from wsnode.untrusted.decoding import JsonDecoder, MalformedError

VERSION_OF_FRI: Final = 3
"""First version of transactions that pay in STRK; earlier ones, and L1 handlers, pay in ETH."""
# Price in nodes' answers for a gas that did not exist yet at a block; the feeder leaves it out.
NO_PRICE: Final = {"price_in_wei": "0x1", "price_in_fri": "0x1"}
RENAMED: Final = {"parent_block_hash": "parent_hash", "state_root": "new_root"}
KINDS: Final = {"INVOKE_FUNCTION": "INVOKE"}
LAYERS: Final = ("L1", "L2")


class _Lists(msgspec.Struct, frozen=True):
    transactions: list[msgspec.Raw] | None = None
    transaction_receipts: list[msgspec.Raw] | None = None


class _Item(msgspec.Struct, frozen=True):
    receipt: msgspec.Raw


class _Gas(msgspec.Struct, frozen=True):
    l1_gas: int = 0
    l1_data_gas: int = 0
    l2_gas: int = 0


class _Resources(msgspec.Struct, frozen=True):
    total_gas_consumed: _Gas = _Gas()


class _FeederReceipt(msgspec.Struct, frozen=True):
    transaction_hash: str
    actual_fee: str
    l2_to_l1_messages: list[msgspec.Raw]
    events: list[msgspec.Raw]
    execution_status: str = "SUCCEEDED"
    revert_error: str | None = None
    execution_resources: _Resources | None = None


class _FeederLists(msgspec.Struct, frozen=True):
    transactions: list[dict[str, Any]]
    transaction_receipts: list[_FeederReceipt]


_decode_lists = JsonDecoder(_Lists).decode
_decode_item = JsonDecoder(_Item).decode
_decode_feeder = JsonDecoder(_FeederLists).decode
_decode_members = JsonDecoder[dict[str, msgspec.Raw]](dict[str, msgspec.Raw]).decode


def has_receipts(text: bytes | msgspec.Raw) -> bool:
    """Return True if the block's document has all of its transactions with their receipts."""
    try:
        lists = _decode_lists(text)
        if lists.transactions is None:
            return False
        if lists.transactions and lists.transaction_receipts is None:
            _decode_item(lists.transactions[0])
    except MalformedError:
        return False
    return True


def node_block(text: bytes | msgspec.Raw) -> bytes:
    """Return the block of a document with receipts in the form of nodes; a node's document is unchanged.

    Raises:
        MalformedError: Transactions or receipts have another form.
    """
    if _decode_lists(text).transaction_receipts is None:
        return bytes(text)
    lists = _decode_feeder(text)
    if len(lists.transactions) != len(lists.transaction_receipts):
        raise MalformedError(
            f"{len(lists.transactions)} transactions and {len(lists.transaction_receipts)} receipts"
        )
    members = {RENAMED.get(name, name): value for name, value in _decode_members(text).items()}
    del members["transaction_receipts"]
    pairs = zip(lists.transactions, lists.transaction_receipts, strict=True)
    block = {"l2_gas_price": NO_PRICE} | members | {"transactions": [_pair(*pair) for pair in pairs]}
    return msgspec.json.encode(block)


def _pair(source: dict[str, Any], receipt: _FeederReceipt) -> dict[str, Any]:
    transaction = _transaction(source)
    resources = receipt.execution_resources or _Resources()
    answered = {
        "type": transaction.get("type"),
        "transaction_hash": receipt.transaction_hash,
        "actual_fee": {"amount": receipt.actual_fee, "unit": _fee_unit(transaction)},
        "execution_status": receipt.execution_status,
        "messages_sent": receipt.l2_to_l1_messages,
        "events": receipt.events,
        "execution_resources": resources.total_gas_consumed,
    }
    if receipt.revert_error is not None:
        answered["revert_reason"] = receipt.revert_error
    return {"transaction": transaction, "receipt": answered}


def _transaction(source: dict[str, Any]) -> dict[str, Any]:
    transaction = source | {"type": KINDS.get(str(source.get("type")), source.get("type"))}
    for member in ("nonce_data_availability_mode", "fee_data_availability_mode"):
        if (mode := source.get(member)) in (0, 1):
            transaction[member] = LAYERS[mode]
    if isinstance(bounds := source.get("resource_bounds"), dict):
        transaction["resource_bounds"] = {name.lower(): bound for name, bound in bounds.items()}
    return transaction


def _fee_unit(transaction: dict[str, Any]) -> str:
    try:
        version = int(str(transaction.get("version")), 16)
    except ValueError:
        raise MalformedError("a transaction's version is no number") from None
    is_fri = version == VERSION_OF_FRI and transaction.get("type") != "L1_HANDLER"
    return "FRI" if is_fri else "WEI"
