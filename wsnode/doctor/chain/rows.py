"""The canonical blocks in order, a batch of bounded size at a time."""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from wsnode.doctor.faults import MOST_SHOWN, FaultCollector
from wsnode.ethereum.codec.rows import CorruptRowError, header_fields
from wsnode.ethereum.storage.tables import BODIES, HEADERS, RECEIPTS, number_key
from wsnode.store.environment import Reader
from wsnode.store.table import Table, scan

MOST_BYTES: Final = 8 << 20
MOST_BLOCKS: Final = 256


class StoredBlock(msgspec.Struct):
    """A block's rows, None where one is missing, and what its header row says."""

    number: int
    header: bytes | None
    body: bytes | None
    receipts: bytes | None
    named: bytes | None = None
    """The hash in the header row."""
    computed: bytes | None = None
    """The hash of the header itself."""
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
        if size >= MOST_BYTES or len(batch) >= MOST_BLOCKS:
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
    """Name the rows of a table that do not belong there, if there are more than the `expected` ones."""
    entries = reader.entries(table)
    if entries <= expected:
        return
    left = min(entries - expected, MOST_SHOWN)
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
