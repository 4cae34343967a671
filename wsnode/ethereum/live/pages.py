"""Pages of the events between a position and the head, each from one snapshot.

The generators yield between slices of about a millisecond and return a page. A page's position
leads to the next page, from any later snapshot, which includes the reorganisations in between.
"""

from collections.abc import Generator, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.rendering import render_each_log, render_header
from wsnode.ethereum.codec.rows import header_fields, log_values
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.branches import (
    canonical_rows,
    dropped_from,
    dropped_rows,
    is_canonical,
    parent_of,
)
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.receipts import Hashes, render_all, render_some
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.logs.pages import page_of_logs
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.storage.canonical import totals

PAGE_BYTES: Final = 64 * 1024
"""Enough to keep a client busy, little enough to hold while it reads."""
WINDOW: Final = 1 << 22
"""Logs of the chain that one page searches at most, so that no snapshot is held for long."""
RECEIPT_BLOCKS: Final = 1024
"""Blocks that one page of all receipts looks at, be they empty."""
_RENDERED_AT_ONCE: Final = 16
_BLOCKS_A_SLICE: Final = 32


class Item(msgspec.Struct, frozen=True, gc=False):
    """A rendered log, header, hash or array of receipts, and the position behind it."""

    result: bytes
    behind: Position


class Page(msgspec.Struct, frozen=True):
    """The next events in order, and the position after them."""

    items: Sequence[Item]
    position: Position


Pages: TypeAlias = Generator[None, None, Page]


def log_page(
    view: Snapshot, wanted: LogFilter, position: Position, target: Head, floor: Head | None = None
) -> Pages:
    """Return the page of removed logs, or of new logs up to the canonical block `target`.

    No logs of `floor` or of blocks below it are removed, even if they are dropped too.

    Raises:
        UnknownBlockError: The position's block is not stored.
    """
    if is_canonical(view, position):
        return (yield from _following_logs(view, wanted, position, target))
    return (yield from _removed_logs(view, wanted, position, floor))


def header_page(view: Snapshot, position: Position, target: Head, *, hashes: bool = False) -> Pages:
    """Return the headers, or their hashes, of the blocks that follow up to the canonical block `target`.

    Raises:
        UnknownBlockError: The position's block is not stored.
    """
    _dropped, ancestor = dropped_from(view, position)
    items: list[Item] = []
    size = 0
    for number in range(ancestor.number + 1, target.number + 1):
        row = view.header(number)
        assert row is not None
        block_hash = Hash32(header_fields(row).hash)
        result = b'"0x%b"' % block_hash.hex().encode() if hashes else render_header(row)
        items.append(Item(result, Position(number, block_hash, 0)))
        size += len(result)
        if size >= PAGE_BYTES and number < target.number:
            return Page(items, Position.after(Head(BlockNumber(number), block_hash)))
        if len(items) % _BLOCKS_A_SLICE == 0:
            yield
    return Page(items, Position.after(target))


def receipt_page(view: Snapshot, hashes: Hashes, position: Position, target: Head) -> Pages:
    """Return the receipts of `hashes`, or all, of the blocks that follow up to the canonical block `target`.

    Each item is a JSON array: those of one block.

    Raises:
        UnknownBlockError: The position's block is not stored.
    """
    _dropped, ancestor = dropped_from(view, position)
    items: list[Item] = []
    size = 0
    first, most = ancestor.number + 1, target.number if hashes else ancestor.number + RECEIPT_BLOCKS
    last = min(most, target.number)
    for number, text in _receipts(view, hashes, first, last):
        if text is not None:
            behind = Position(number, _hash_of(view, number), 0)
            items.append(Item(text, behind))
            size += len(text)
            if size >= PAGE_BYTES and number < last:
                return Page(items, Position.after(behind.head))
        yield
    return Page(
        items, Position.after(Head(BlockNumber(last), _hash_of(view, last)) if first <= last else ancestor)
    )


def _receipts(view: Snapshot, hashes: Hashes, first: int, last: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield blocks in their order, and the JSON array of the receipts that are wanted, if there are any."""
    if not hashes:
        for number in range(first, last + 1):
            yield number, render_all(canonical_rows(view, number))
        return
    places = sorted((found, wanted) for wanted in hashes if (found := view.transaction(wanted)) is not None)
    for number, some in groupby(places, key=lambda place: place[0][0]):
        if first <= number <= last:
            yield number, render_some(view, [wanted for _place, wanted in some])


def _hash_of(view: Snapshot, number: int) -> Hash32:
    block_hash = view.hash_of(number)
    assert block_hash is not None
    return block_hash


def _following_logs(view: Snapshot, wanted: LogFilter, position: Position, target: Head) -> Pages:
    begin, end = _bounds(view, wanted, position, target)
    stop = min(end, begin + WINDOW)
    page = yield from page_of_logs(view.reader, wanted, begin, stop, room=PAGE_BYTES)
    items: list[Item] = []
    for number, logs in groupby(page.logs(), key=itemgetter(0)):
        block_hash = _hash_of(view, number)
        items += [Item(text, Position(number, block_hash, index + 1)) for _number, index, text in logs]
    if not page.is_last:
        return Page(items, items[-1].behind)
    return Page(items, Position.after(target) if stop == end else _behind_log(view, stop))


def _bounds(view: Snapshot, wanted: LogFilter, position: Position, target: Head) -> tuple[int, int]:
    """Return between which of the chain's logs to search."""
    begin, end = 0, totals(view.reader, target.number).logs
    if 0 <= position.number < view.earliest:
        begin = view.log_count_before(view.earliest)
    elif position.number >= 0:
        before = view.log_count_before(position.number)
        begin = min(before + position.logs, totals(view.reader, position.number).logs)
    if wanted.first > 0:
        begin = max(begin, view.log_count_before(min(wanted.first, target.number + 1)))
    if wanted.last is not None and wanted.last < target.number:
        end = totals(view.reader, wanted.last).logs
    return begin, max(begin, end)


def _behind_log(view: Snapshot, count: int) -> Position:
    """Return the position behind the chain's first `count` logs."""
    number, index = view.place_of_log(count - 1)
    return Position(number, _hash_of(view, number), index + 1)


def _removed_logs(view: Snapshot, wanted: LogFilter, position: Position, floor: Head | None) -> Pages:
    items: list[Item] = []
    size = 0
    while position.head != floor and not is_canonical(view, position):
        rows = dropped_rows(view, position)
        for some in _pieces(_wanted_logs(wanted, position, rows[2])):
            for index, text in zip(some, render_each_log(*rows, some, removed=True), strict=True):
                items.append(Item(text, Position(position.number, position.hash, index)))
                size += len(text)
            if size >= PAGE_BYTES:
                return Page(items, items[-1].behind)
            yield
        position = parent_of(view, position)
        yield
    return Page(items, position)


def _wanted_logs(wanted: LogFilter, position: Position, receipts: bytes) -> list[int]:
    """Return the indices of a dropped block's logs that were sent, the last one first."""
    if not wanted.covers(position.number):
        return []
    told = enumerate(log_values(receipts)[: position.logs])
    return [index for index, log in told if wanted.matches(log)][::-1]


def _pieces(indices: Sequence[int]) -> Iterator[Sequence[int]]:
    return (indices[start : start + _RENDERED_AT_ONCE] for start in range(0, len(indices), _RENDERED_AT_ONCE))
