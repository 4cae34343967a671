"""A block's header as starknet-specs' BLOCK_HEADER, with the members that the chain's source had."""

from typing import Any

import msgspec

from wsnode.starknet.felt import ZERO, felt_text
from wsnode.starknet.snapshot import Snapshot
from wsnode.starknet.storage.rows import BlockRow


def render_header(view: Snapshot, number: int, row: BlockRow) -> bytes:
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
    return text[:-1] + b"," + row.more[1:] if row.more else text


def _parent_hash(view: Snapshot, number: int, row: BlockRow) -> bytes | None:
    """Return the header's parent hash, or else the hash of the block below: a bare state update follows
    it.
    """
    if row.parent_hash is not None:
        return row.parent_hash
    if number == 0:
        return ZERO
    under = view.block(number - 1)
    return None if under is None else under.hash
