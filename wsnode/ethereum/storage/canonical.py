"""The canonical chain's rows by number: append blocks at the end, take blocks off the end."""

from collections.abc import Sequence

import msgspec

from wsnode.ethereum.codec.blocks import VerifiedBlock
from wsnode.ethereum.codec.chain_tables import append_blocks, chain_totals, logs_before, remove_last_block
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.codec.rows import log_entries as entries_of
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.storage import log_entries, meta, side_blocks
from wsnode.ethereum.storage.tables import ACCESS_LISTS, BODIES, HEADERS, RECEIPTS, TOTALS, number_key
from wsnode.store.environment import Reader, Writer


class ChainTotals(msgspec.Struct, frozen=True):
    """Totals of the chain from its first block through one block: the number of logs, and the difficulty."""

    logs: int
    difficulty: int


def totals(reader: Reader, number: int) -> ChainTotals:
    """Return the totals through canonical block `number`."""
    return ChainTotals(*chain_totals(reader, number))


def begin_at(writer: Writer, number: int) -> None:
    """Let an empty chain begin with another chain's block `number`; totals through its parent are zero."""
    writer.put(TOTALS, number_key(number - 1), bytes(8))


def append(writer: Writer, blocks: Sequence[VerifiedBlock]) -> Head:
    """Append a run of blocks after the head, or to an empty chain, and return the new head."""
    rows = [(block.header, block.body, block.receipts) for block in blocks]
    before = append_blocks(writer, rows)
    for block in blocks:
        side_blocks.remove(writer, block.hash)
        put_access_list(writer, block)
    log_entries.add(writer, entries_of([receipts for _header, _body, receipts in rows], before))
    head = Head.of(blocks[-1])
    meta.set_mark(writer, meta.HEAD, head)
    return head


def put_access_list(writer: Writer, block: VerifiedBlock) -> None:
    """Store the access list of a canonical block, if it is known."""
    if block.access_list is not None:
        writer.put(ACCESS_LISTS, number_key(block.number), block.access_list)


def unwind(writer: Writer, number: int, first: int = 0) -> list[Head]:
    """Make the blocks above `number` side blocks and return them, highest first.

    `first` is the first block of the chain.
    """
    last = meta.marked_head(writer, meta.HEAD)
    assert last is not None
    first_log = logs_before(writer, first)
    removed = [_take_off(writer, above, first_log) for above in range(last.number, number, -1)]
    header = _row(writer, number)
    head = Head(BlockNumber(number), Hash32(header.hash))
    meta.set_mark(writer, meta.HEAD, head)
    for mark in (meta.SAFE, meta.FINALIZED):
        marked = meta.marked_head(writer, mark)
        if marked is not None and marked.number > number:
            meta.set_mark(writer, mark, head)
    return removed


def _row(reader: Reader, number: int) -> Header:
    row = reader.get(HEADERS, number_key(number))
    assert row is not None, f"block {number} is not canonical"
    return header_fields(row)


def _take_off(writer: Writer, number: int, first_log: int) -> Head:
    key = number_key(number)
    header, body, receipts = (writer.get(table, key) for table in (HEADERS, BODIES, RECEIPTS))
    access_list = writer.get(ACCESS_LISTS, key)
    assert header is not None
    assert body is not None
    assert receipts is not None
    block_hash, through = Hash32(header_fields(header).hash), totals(writer, number)
    log_entries.remove(writer, entries_of([receipts], logs_before(writer, number)), first_log)
    remove_last_block(writer, number)
    writer.delete(ACCESS_LISTS, key)
    side_blocks.add(
        writer,
        block_hash,
        header_row=header,
        body_row=body,
        receipts_row=receipts,
        access_list=access_list,
        difficulty=through.difficulty,
    )
    return Head(BlockNumber(number), block_hash)
