"""From a block parameter to a block's number or rows, with geth's errors for missing blocks."""

from typing import Final

from wsnode.ethereum.codec.rows import Row, Rows
from wsnode.ethereum.not_found import header_not_found, history_unavailable, pruned_history
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.rpc.common.parameters import (
    EARLIEST,
    LATEST,
    PENDING,
    SAFE,
    TAG_NAMES,
    BlockParameter,
    NumberOrTag,
)
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import RpcError, server_error

GENESIS: Final = BlockNumber(0)


def numbered(view: Snapshot, number: NumberOrTag) -> BlockNumber | None:
    """Return the number of the canonical block that a parameter names, None beyond the head.

    `pending` is the head, which only a light folder asks for.

    Raises:
        RpcError: No block is safe or finalized yet, or the block is below the first one.
    """
    if number >= 0:
        require_kept(view, number)
        return BlockNumber(number) if number <= view.number else None
    found = tagged(view, number)
    if found is None:
        raise server_error(f"{TAG_NAMES[number]} block not found")
    require_kept(view, found)
    return found


def require_kept(view: Snapshot, number: int) -> None:
    """Refuse blocks below the first one.

    Raises:
        RpcError: It is one.
    """
    if number < view.earliest:
        raise below_first(view, number)


def below_first(view: Snapshot, number: int) -> RpcError:
    """Return the error for a block below the first one."""
    earliest = view.earliest
    if view.below is None:
        return pruned_history(number, earliest)
    return history_unavailable(
        f"block {number} is below the fork at block {earliest}, and its node is not asked for this"
    )


def tagged(view: Snapshot, tag: NumberOrTag) -> BlockNumber | None:
    """Return the number of the stored block that a tag names, None if there is none yet."""
    if tag in (LATEST, PENDING):
        return view.number
    if tag == EARLIEST:
        # The earliest block of a forked chain is the genesis block of the chain on which it begins.
        return GENESIS if view.window is None else view.earliest
    return view.safe if tag == SAFE else view.finalized


def state_number(view: Snapshot, block: BlockParameter) -> BlockNumber:
    """Return the number of the stored block whose state a parameter names.

    Raises:
        RpcError: There is no such block on the canonical chain.
    """
    tag = block.number
    if tag is None:
        return _canonical(view, block)
    if tag == LATEST:
        return view.number
    number = numbered(view, tag)
    if number is None:
        raise header_not_found()
    return number


def state_block(view: Snapshot, block: BlockParameter) -> tuple[BlockNumber, Hash32]:
    """Return number and hash of the block whose state a parameter names.

    A number alone could come to name another block while the call runs.

    Raises:
        RpcError: There is no such block on the canonical chain.
    """
    number = state_number(view, block)
    block_hash = view.hash_of(number)
    assert block_hash is not None, "its number has been looked up"
    return number, block_hash


def _canonical(view: Snapshot, block: BlockParameter) -> BlockNumber:
    assert block.hash is not None
    number = view.number_of(block.hash)
    if number is None:
        # The state of side blocks is not kept, so their hashes get the error for unknown blocks.
        known = view.side_header(block.hash) is not None
        raise server_error("hash is not currently canonical" if known else "header for hash not found")
    return number


def rows(view: Snapshot, number: int) -> Rows | None:
    """Return a canonical block's header row and body row, None if one is not stored."""
    header, body = view.header(number), view.body(number)
    return None if header is None or body is None else (header, body)


def viewed_rows(view: Snapshot, number: int) -> tuple[bytes, Row] | None:
    """Return a canonical block's header row and a view of its body row, which is valid until the snapshot is
    closed; None if one is not stored.
    """
    header, body = view.header(number), view.view_body(number)
    return None if header is None or body is None else (header, body)


def numbered_rows(view: Snapshot, number: NumberOrTag) -> Rows | None:
    """Return the rows of the canonical block that a parameter names, None beyond the head."""
    found = numbered(view, number)
    return None if found is None else rows(view, found)


def is_pending(view: Snapshot, number: NumberOrTag | None) -> bool:
    """Return True if a parameter names the block after the head.

    In a light folder `pending` means the head, as on nodes that build no block: it executes none.
    """
    return number == PENDING and not view.is_light
