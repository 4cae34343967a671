"""Pages of the events between a position and the head, each from one snapshot.

The generators yield between slices of about a millisecond and return a page. A page's position leads to the
next page, from any later snapshot, with reorganisations in between.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.rendering import render_each_log, render_header
from wsnode.ethereum.codec.rows import log_values
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.branches import (
    canonical_rows,
    dropped_from,
    dropped_rows,
    is_canonical,
    parent_of,
)
from wsnode.ethereum.live.contents import (
    BlockContentOptions,
    BlockRows,
    Hashes,
    MinedFilter,
    render_all,
    render_mined,
    render_some,
)
from wsnode.ethereum.live.position import ALL, Position
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.logs.pages import page_of_logs
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.storage.canonical import totals

PAGE_BYTES: Final = 64 * 1024
"""Bytes of a page: enough to keep a client busy, few enough to hold while it reads."""
WINDOW: Final = 1 << 22
"""Maximum number of logs searched for one page, so that no snapshot is held for long."""
RECEIPT_BLOCKS: Final = 1024
"""Maximum number of blocks, empty ones too, for one page of all receipts or of transactions."""
_RENDERED_AT_ONCE: Final = 16
_BLOCKS_A_SLICE: Final = 32


class Item(msgspec.Struct, frozen=True, gc=False):
    """Event to replay: the JSON text of a log, header, block, transaction or array of receipts, and the
    position after it.
    """

    result: bytes
    behind: Position


class Page(msgspec.Struct, frozen=True):
    """Next stored events of a resuming subscription, in order, and the position from which the next page
    continues.
    """

    items: Sequence[Item]
    position: Position


Pages: TypeAlias = Generator[None, None, Page]


def log_page(
    view: Snapshot, wanted: LogFilter, position: Position, target: Head, floor: Head | None = None
) -> Pages:
    """Return a page of removed logs, or of new logs up to the canonical block `target`.

    Logs of `floor` and of blocks below it are not removed, even if these blocks are dropped too.

    Raises:
        UnknownPositionError: The position's block is not stored.
    """
    if is_canonical(view, position):
        return (yield from _following_logs(view, wanted, position, target))
    return (yield from _removed_logs(view, wanted, position, floor))


def header_page(view: Snapshot, position: Position, target: Head, *, hashes: bool = False) -> Pages:
    """Return a page of the following blocks' headers or `hashes`, up to the canonical block `target`.

    Raises:
        UnknownPositionError: The position's block is not stored.
    """

    def text(number: int) -> bytes:
        if hashes:
            return b'"0x%b"' % _hash_of(view, number).hex().encode()
        row = view.header(number)
        assert row is not None
        return render_header(row)

    return _texts_of_blocks(view, position, target, text, _BLOCKS_A_SLICE)


def block_page(view: Snapshot, contents: BlockContentOptions, position: Position, target: Head) -> Pages:
    """Return a page of the following whole blocks, up to the canonical block `target`.

    Raises:
        UnknownPositionError: The position's block is not stored.
    """

    def text(number: int) -> bytes:
        return contents.render(canonical_rows(view, number))

    return _texts_of_blocks(view, position, target, text, 1)


def _texts_of_blocks(
    view: Snapshot, position: Position, target: Head, text: Callable[[int], bytes], blocks_a_slice: int
) -> Pages:
    _dropped, ancestor = dropped_from(view, position)
    items: list[Item] = []
    size = 0
    for number in range(ancestor.number + 1, target.number + 1):
        behind = Position(number, _hash_of(view, number), 0)
        items.append(Item(text(number), behind))
        size += len(items[-1].result)
        if size >= PAGE_BYTES and number < target.number:
            return Page(items, Position.after(behind.head))
        if len(items) % blocks_a_slice == 0:
            yield
    return Page(items, Position.after(target))


def mined_page(
    view: Snapshot,
    wanted: MinedFilter,
    position: Position,
    target: Head,
    *,
    hashes_only: bool,
    with_removed: bool,
) -> Pages:
    """Return a page of transactions of new blocks up to `target`, or `with_removed` of removed blocks.

    The position counts the transactions of its block that were sent.

    Raises:
        UnknownPositionError: The position's block is not stored.
    """
    on_chain = is_canonical(view, position)
    if not on_chain and not with_removed:
        _dropped, ancestor = dropped_from(view, position)
        return Page((), Position.after(ancestor))

    def pieces(position: Position, rows: BlockRows) -> Iterator[Sequence[tuple[int, bytes]]]:
        for some in _pieces(_passed(wanted.matching(rows[1]), position.logs, on_chain=on_chain)):
            yield [
                (index, render_mined(rows, index, hashes_only=hashes_only, removed=not on_chain))
                for index in some
            ]

    if on_chain:
        return (yield from _following(view, position, target, pieces))
    return (yield from _removed(view, position, None, pieces))


def _passed(indices: Sequence[int], count: int, *, on_chain: bool) -> Sequence[int]:
    """Return the indices still to be sent, or to be removed in reverse, of a block with `count` sent ones."""
    if on_chain:
        return [index for index in indices if index >= count]
    return [index for index in indices if index < count][::-1]


def receipt_page(view: Snapshot, hashes: Hashes, position: Position, target: Head) -> Pages:
    """Return a page of receipts of `hashes`, or of all, in the following blocks up to the block `target`.

    Each item is a JSON array with the receipts of one block.

    Raises:
        UnknownPositionError: The position's block is not stored.
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
    """Yield blocks in order, each with the JSON array of its wanted receipts, None if it has none."""
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
    """Return the numbers of the first log to search and of the log after the last, among the chain's logs."""
    begin, end = 0, totals(view.reader, target.number).logs
    if 0 <= position.number < view.earliest:
        begin = view.log_count_before(view.earliest)
    elif position.number >= 0:
        before = view.log_count_before(position.number)
        begin = min(before + position.logs, totals(view.reader, position.number).logs)
    if wanted.first > 0:
        begin = max(begin, view.log_count_before(min(wanted.first, target.number + 1)))
    if wanted.last is not None and wanted.last < target.number:
        # A window may have moved beyond the last wanted block.
        end = view.log_count_before(max(wanted.last + 1, view.earliest))
    return begin, max(begin, end)


def _behind_log(view: Snapshot, count: int) -> Position:
    """Return the position after the chain's first `count` logs."""
    number, index = view.place_of_log(count - 1)
    return Position(number, _hash_of(view, number), index + 1)


_Texts: TypeAlias = Callable[[Position, BlockRows], Iterator[Sequence[tuple[int, bytes]]]]
"""Function that yields the texts of a block with their indices, some at a time."""


def _removed_logs(view: Snapshot, wanted: LogFilter, position: Position, floor: Head | None) -> Pages:
    def pieces(position: Position, rows: BlockRows) -> Iterator[Sequence[tuple[int, bytes]]]:
        for some in _pieces(_wanted_logs(wanted, position, rows[2])):
            yield list(zip(some, render_each_log(*rows, some, removed=True), strict=True))

    return _removed(view, position, floor, pieces)


def _following(view: Snapshot, position: Position, target: Head, pieces: _Texts) -> Pages:
    """Return the page of events after a position on the chain, up to the block `target`."""
    items: list[Item] = []
    size = 0
    begun = position.number >= view.earliest and position.logs < ALL
    last = min(target.number, position.number + RECEIPT_BLOCKS)
    for number in range(position.number if begun else position.number + 1, last + 1):
        start = position if number == position.number else Position(number, _hash_of(view, number), 0)
        for some in pieces(start, canonical_rows(view, number)):
            for index, text in some:
                items.append(Item(text, Position(number, start.hash, index + 1)))
                size += len(text)
            if size >= PAGE_BYTES:
                return Page(items, items[-1].behind)
            yield
        yield
    return Page(items, Position.after(Head(BlockNumber(last), _hash_of(view, last))))


def _removed(view: Snapshot, position: Position, floor: Head | None, pieces: _Texts) -> Pages:
    """Return the page of removed events from a position back, down to `floor` or to the chain."""
    items: list[Item] = []
    size = 0
    while position.head != floor and not is_canonical(view, position):
        for some in pieces(position, dropped_rows(view, position)):
            for index, text in some:
                items.append(Item(text, Position(position.number, position.hash, index)))
                size += len(text)
            if size >= PAGE_BYTES:
                return Page(items, items[-1].behind)
            yield
        position = parent_of(view, position)
        yield
    return Page(items, position)


def _wanted_logs(wanted: LogFilter, position: Position, receipts: bytes) -> list[int]:
    """Return the indices of a dropped block's logs that were sent, in reverse."""
    if not wanted.covers(position.number):
        return []
    told = enumerate(log_values(receipts)[: position.logs])
    return [index for index, log in told if wanted.matches(log)][::-1]


def _pieces(indices: Sequence[int]) -> Iterator[Sequence[int]]:
    return (indices[start : start + _RENDERED_AT_ONCE] for start in range(0, len(indices), _RENDERED_AT_ONCE))
