"""Blocks that left the canonical chain, and the way down to the chain from them."""

from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.notices import MAX_LISTED, ReorganisationNotice
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot


class UnknownPositionError(Exception):
    """Error of a cursor whose block is not stored, or never was canonical; `position` is its content."""

    def __init__(self, position: Position) -> None:
        super().__init__(f"unknown block {position.head}")
        self.position = position


def is_canonical(view: Snapshot, position: Position) -> bool:
    """Return True if the block of a position is canonical.

    Raises:
        UnknownPositionError: The number does not belong to the block, or the position is before the genesis
            block of a folder with a window.
    """
    if position.number < 0:
        if view.earliest > 0:
            raise UnknownPositionError(position)
        return True
    number = view.number_of(position.hash)
    if number is not None and number != position.number:
        raise UnknownPositionError(position)
    return number is not None or _is_below_first(view, position)


def _is_below_first(view: Snapshot, position: Position) -> bool:
    """Return True if a position is that of the parent of the first block in a folder with a window."""
    if position.number != view.earliest - 1:
        return False
    header = view.header(view.earliest)
    return header is not None and view.parent_hash(header) == position.hash


def dropped_from(view: Snapshot, position: Position) -> tuple[list[Head], Head]:
    """Return the dropped blocks from a position down, highest first, and the canonical block below them.

    Raises:
        UnknownPositionError: One of the blocks is not stored.
    """
    dropped: list[Head] = []
    while not is_canonical(view, position):
        dropped.append(position.head)
        position = parent_of(view, position)
    return dropped, position.head


def parent_of(view: Snapshot, position: Position) -> Position:
    """Return the position after the parent of a dropped block.

    Raises:
        UnknownPositionError: The block is not stored.
    """
    header = view.side_header(position.hash)
    if header is None or (fields := header_fields(header)).number != position.number:
        raise UnknownPositionError(position)
    return Position.after(Head(BlockNumber(position.number - 1), Hash32(fields.parent_hash)))


def dropped_rows(view: Snapshot, position: Position) -> tuple[bytes, bytes, bytes]:
    """Return header, body and receipts row of a dropped block.

    Raises:
        UnknownPositionError: The block is not stored, or never was canonical.
    """
    header, body = view.side_header(position.hash), view.side_body(position.hash)
    receipts = view.side_receipts(position.hash)
    if header is None or body is None or receipts is None:
        raise UnknownPositionError(position)
    return header, body, receipts


def known_rows(view: Snapshot, position: Position) -> tuple[bytes, bytes, bytes]:
    """Return header, body and receipts row of a position's block, canonical or dropped.

    Raises:
        UnknownPositionError: The block is not stored, never was canonical, or has another number.
    """
    if is_canonical(view, position):
        return canonical_rows(view, position.number)
    rows = dropped_rows(view, position)
    if header_fields(rows[0]).number != position.number:
        raise UnknownPositionError(position)
    return rows


def canonical_rows(view: Snapshot, number: int) -> tuple[bytes, bytes, bytes]:
    """Return header, body and receipts row of a canonical block."""
    header, body, receipts = view.header(number), view.body(number), view.receipts(number)
    assert header is not None
    assert body is not None
    assert receipts is not None
    return header, body, receipts


def reorganisation(view: Snapshot, dropped: list[Head], ancestor: Head) -> ReorganisationNotice:
    """Return the reorganisation from a position's dropped blocks to the head, for a notice."""
    last = min(view.number, ancestor.number + MAX_LISTED)
    rows = (view.header(number) for number in range(ancestor.number + 1, last + 1))
    return ReorganisationNotice(ancestor, dropped, [head_of(row) for row in rows if row is not None])


def head_of(header: bytes) -> Head:
    """Return number and hash of a header row's block."""
    return Head.of(header_fields(header))
