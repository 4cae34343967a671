"""The members of a header beside links and roots: the rest of starknet-specs' BLOCK_HEADER."""

from typing import Annotated, Any, Literal

import msgspec

from wsnode.starknet.felt import Felt, decode_felt, felt_text
from wsnode.untrusted.decoding import JsonDecoder, MalformedError

_Count = Annotated[int, msgspec.Meta(ge=0)]
_Price = Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]+$")]


class _Prices(msgspec.Struct, frozen=True):
    price_in_fri: _Price
    price_in_wei: _Price


class _Receipt(msgspec.Struct, frozen=True):
    events: list[msgspec.Raw]


class _HeaderMembers(msgspec.Struct, frozen=True):
    sequencer_address: Felt | None = None
    l1_gas_price: _Prices | None = None
    l2_gas_price: _Prices | None = None
    l1_data_gas_price: _Prices | None = None
    l1_da_mode: Literal["BLOB", "CALLDATA"] | None = None
    transaction_commitment: Felt | None = None
    event_commitment: Felt | None = None
    receipt_commitment: Felt | None = None
    state_diff_commitment: Felt | None = None
    transaction_count: _Count | None = None
    event_count: _Count | None = None
    state_diff_length: _Count | None = None


class _Contents(msgspec.Struct, frozen=True):
    """Transactions and receipts in the feeder gateway's form of a block, for counting them; nodes send these
    counts as members instead.
    """

    transactions: list[msgspec.Raw] | None = None
    transaction_receipts: list[_Receipt] | None = None


_decode = JsonDecoder(_HeaderMembers, dec_hook=lambda _type, value: decode_felt(value)).decode
_decode_names = JsonDecoder[dict[str, msgspec.Raw]](dict[str, msgspec.Raw]).decode
_decode_contents = JsonDecoder(_Contents).decode


def header_members(text: bytes | msgspec.Raw) -> dict[str, Any]:
    """Return the members of a block's document in the form of results, without malformed ones.

    They are in the document's order, so a node that has a block from another one answers alike.
    """
    try:
        members, names = _decode(text), _decode_names(text)
        counts = _counts(text)
    except MalformedError:
        return {}
    told = {name: getattr(members, name, None) for name in names}
    return counts | {name: _answered(value) for name, value in told.items() if value is not None}


def _counts(text: bytes | msgspec.Raw) -> dict[str, int]:
    contents = _decode_contents(text)
    counts = {}
    if contents.transactions is not None:
        counts["transaction_count"] = len(contents.transactions)
    if (receipts := contents.transaction_receipts) is not None:
        counts["event_count"] = sum(len(receipt.events) for receipt in receipts)
    return counts


def _answered(value: Any) -> Any:
    if isinstance(value, Felt):
        return felt_text(value)
    if isinstance(value, _Prices):
        return {name: hex(int(price, 16)) for name, price in msgspec.structs.asdict(value).items()}
    return value
