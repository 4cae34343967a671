"""Rows of the canonical blocks in order, in batches of bounded size."""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from wsnode.doctor.faults import MAX_SHOWN, FaultCollector
from wsnode.ethereum.codec.rows import CorruptRowError, header_fields
from wsnode.ethereum.storage.tables import BODIES, HEADERS, RECEIPTS, number_key
from wsnode.store.environment import Reader
from wsnode.store.table import Table, scan

MAX_BYTES: Final = 8 << 20
MAX_BLOCKS: Final = 256


class StoredBlock(msgspec.Struct):
    """Rows of one block as the store has them, None for a missing row, with the hash, parent hash and
    difficulty from its header row.
    """

    number: int
    header: bytes | None
    body: bytes | None
    receipts: bytes | None
    named: bytes | None = None
    """Hash in the header row, None if the row cannot be read."""
    computed: bytes | None = None
    """Hash computed from the header, None before it is checked."""
    parent: bytes | None = None
    difficulty: int = 0


def stored_blocks(reader: Reader, first: int, last: int) -> Iterator[list[StoredBlock]]:
    """Yield batches of the blocks from `first` to `last`, both included."""
    batch: list[StoredBlock] = []
    size = 0
    for number in range(first, last + 1):
        block = _stored(reader, number)
        batch.append(block)
        size += sum(len(row) for row in (block.header, block.body, block.receipts) if row is not None)
        if size >= MAX_BYTES or len(batch) >= MAX_BLOCKS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def search_others(
    reader: Reader,
    table: Table,
    expected: int,
    findings: FaultCollector,
    belongs: Callable[[bytes, bytes], bool],
    what: str = "belongs to no block",
) -> None:
    """Report rows of a table that do not belong there, if it has more than `expected` rows."""
    entries = reader.entries(table)
    if entries <= expected:
        return
    left = min(entries - expected, MAX_SHOWN)
    for done, (key, row) in enumerate(scan(reader, table, b"")):
        findings.progress.advanced(f"search in {table.name}", done, entries)
        if not belongs(key, row):
            findings.fault(table.name, f"the row {key.hex()} {what}")
            left -= 1
        if not left:
            return


def _stored(reader: Reader, number: int) -> StoredBlock:
    key = number_key(number)
    header, body, receipts = (reader.get(table, key) for table in (HEADERS, BODIES, RECEIPTS))
    block = StoredBlock(number, header, body, receipts)
    if header is not None:
        try:
            fields = header_fields(header)
            block.named, block.parent, block.difficulty = fields.hash, fields.parent_hash, fields.difficulty
        except CorruptRowError:
            pass
    return block
