"""The canonical chain's rows by number: append blocks at the end, take blocks off the end."""

from collections.abc import Iterator, Sequence

import msgspec

from wsnode.ethereum.codec.blocks import VerifiedBlock
from wsnode.ethereum.codec.rows import Header, header_fields, transaction_hashes, transaction_places
from wsnode.ethereum.codec.rows import log_entries as entries_of
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.storage import log_entries, meta, side, transactions
from wsnode.ethereum.storage.tables import (
    BODIES,
    HEADERS,
    LOG_BLOCKS,
    NUMBERS,
    RECEIPTS,
    TOTALS,
    number_from,
    number_key,
)
from wsnode.store.environment import Reader, Writer


class Totals(msgspec.Struct, frozen=True):
    """Totals of the chain through one block: logs and difficulty."""

    logs: int
    difficulty: int


def totals(reader: Reader, number: int) -> Totals:
    """Return what had added up through a canonical block."""
    row = reader.get(TOTALS, number_key(number))
    assert row is not None, f"block {number} is not canonical"
    return Totals(number_from(row[:8]), int.from_bytes(row[8:], "big"))


def log_count_before(reader: Reader, number: int) -> int:
    """Return how many logs the canonical blocks before this one have."""
    if not number:
        return 0
    row = reader.get(TOTALS, number_key(number - 1))
    assert row is not None, f"block {number - 1} is not canonical"
    return int.from_bytes(row[:8], "big")


def append(writer: Writer, blocks: Sequence[VerifiedBlock]) -> Head:
    """Append a run of blocks after the head, or to an empty chain, and return the new head."""
    first = blocks[0]
    through = totals(writer, first.number - 1) if first.number else Totals(0, 0)
    logs_before = through.logs
    for block in blocks:
        through = _append_rows(writer, block, through)
    transactions.add(writer, _places(blocks))
    log_entries.add(writer, entries_of([block.receipts for block in blocks], logs_before))
    head = Head(BlockNumber(blocks[-1].number), Hash32(blocks[-1].hash))
    meta.set_mark(writer, meta.HEAD, head)
    return head


def _places(blocks: Sequence[VerifiedBlock]) -> Iterator[tuple[bytes, bytes]]:
    for block in blocks:
        yield from transaction_places(block.number, block.transaction_hashes)


def _append_rows(writer: Writer, block: VerifiedBlock, before: Totals) -> Totals:
    key = number_key(block.number)
    through = Totals(before.logs + block.log_count, before.difficulty + block.difficulty)
    writer.append(HEADERS, key, block.header)
    writer.append(BODIES, key, block.body)
    writer.append(RECEIPTS, key, block.receipts)
    writer.append(
        TOTALS, key, number_key(through.logs) + through.difficulty.to_bytes(32, "big").lstrip(b"\0")
    )
    if block.log_count:
        # By the first log number of the next block, so that one seek from a log finds its block.
        writer.append(LOG_BLOCKS, number_key(through.logs), key + number_key(before.logs))
    writer.put(NUMBERS, block.hash, key)
    side.remove(writer, block.hash)
    return through


def unwind(writer: Writer, number: int) -> list[Head]:
    """Move the blocks above `number` beside the chain and return them, highest first."""
    last = meta.marked_head(writer, meta.HEAD)
    assert last is not None
    removed = [_take_off(writer, above) for above in range(last.number, number, -1)]
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


def _take_off(writer: Writer, number: int) -> Head:
    key = number_key(number)
    through = totals(writer, number)
    logs_before = log_count_before(writer, number)
    header, body, receipts = (writer.pop(table, key) for table in (HEADERS, BODIES, RECEIPTS))
    assert header is not None
    assert body is not None
    assert receipts is not None
    block_hash = Hash32(header_fields(header).hash)
    transactions.remove(writer, transaction_places(number, transaction_hashes(body)))
    log_entries.remove(writer, entries_of([receipts], logs_before))
    writer.delete(TOTALS, key)
    if through.logs > logs_before:
        writer.delete(LOG_BLOCKS, number_key(through.logs))
    writer.delete(NUMBERS, block_hash)
    side.add(
        writer,
        block_hash,
        header_row=header,
        body_row=body,
        receipts_row=receipts,
        difficulty=through.difficulty,
    )
    return Head(BlockNumber(number), block_hash)
