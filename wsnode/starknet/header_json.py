"""JSON of a block's header, starknet-specs' BLOCK_HEADER, with those members that the chain's source had."""

from typing import Any, Final

import msgspec

from wsnode.starknet.felt import ZERO, felt_text
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.starknet.storage.tables import BlockRow


def render_header(view: StarknetSnapshot, number: int, row: BlockRow) -> bytes:
    """Return the JSON of block `number`, without the members that are unknown."""
    members: dict[str, Any] = {"block_hash": felt_text(row.hash)}
    if (parent := _parent_hash(view, number, row)) is not None:
        members["parent_hash"] = felt_text(parent)
    members |= {"block_number": number, "new_root": felt_text(row.new_root)}
    if row.timestamp is not None:
        members["timestamp"] = row.timestamp
    if row.version is not None:
        members["starknet_version"] = row.version
    text = msgspec.json.encode(members)
    text = text[:-1] + b"," + row.more[1:] if row.more else text
    return without_commitments(text) if view.is_before_0_10 else text


def without_commitments(header: bytes) -> bytes:
    """Return a rendered header without the members that starknet-specs 0.10 has added."""
    members = msgspec.json.decode(header)
    return msgspec.json.encode({name: members[name] for name in members if name not in ADDED_MEMBERS})


ADDED_MEMBERS: Final = frozenset(
    (
        *("transaction_commitment", "event_commitment", "receipt_commitment", "state_diff_commitment"),
        *("transaction_count", "event_count", "state_diff_length"),
    )
)
"""Members of headers since starknet-specs 0.10."""
PENDING_MEMBERS: Final = (
    "sequencer_address",
    "l1_gas_price",
    "l2_gas_price",
    "l1_data_gas_price",
    "l1_da_mode",
)
"""Members of a pending block's header that are copied from the head, beside time and version."""


def render_pending_header(number: int, row: BlockRow) -> bytes:
    """Return the JSON of the pending block's header: the head's time, version and prices, `number` + 1."""
    more = msgspec.json.decode(row.more) if row.more else {}
    members: dict[str, Any] = {"block_number": number + 1}
    if row.timestamp is not None:
        members["timestamp"] = row.timestamp
    members |= {name: more[name] for name in PENDING_MEMBERS if name in more}
    if row.version is not None:
        members["starknet_version"] = row.version
    return msgspec.json.encode(members)


def _parent_hash(view: StarknetSnapshot, number: int, row: BlockRow) -> bytes | None:
    """Return the parent hash: the header's own or, for a block stored from a state update alone, the hash of
    the block below; None if that is not stored.
    """
    if row.parent_hash is not None:
        return row.parent_hash
    if number == 0:
        return ZERO
    under = view.block(number - 1)
    return None if under is None else under.hash
