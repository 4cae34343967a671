"""First block of a chain that begins above its genesis block; backfilling and pruning move it.

Folders with a window have such a first block. In a light folder logs are numbered from `FIRST_LOG` on, which
leaves lower numbers for the logs of earlier blocks.
"""

from array import array
from time import sleep
from typing import Final

from wsnode.ethereum.codec.blocks import VerifiedBlock
from wsnode.ethereum.codec.chain_tables import logs_before, prepend_block, remove_first_block
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.codec.rows import log_entries as entries_of
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.storage import canonical, log_entries, meta, side_blocks
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.ethereum.storage.tables import (
    ACCESS_LISTS,
    BODIES,
    HEADERS,
    LIGHT_SCHEMA_VERSION,
    LOG_INDEX,
    META,
    NUMBERS,
    RECEIPTS,
    SIDE_BLOCKS,
    TOTALS,
    number_from,
    number_key,
)
from wsnode.store.environment import Reader, Writer

FIRST_LOG: Final = 1 << 40
_WINDOW: Final = b"window"
_WINDOW_SECONDS: Final = b"window_seconds"
_FIRST: Final = b"first"
_SIDE_HEADER: Final = b"h"
_KEYS_AT_ONCE: Final = 128


def window(reader: Reader) -> int | None:
    """Return the number of blocks that a folder keeps, None for all."""
    stored = reader.get(META, _WINDOW)
    return None if stored is None else number_from(stored)


def kind(reader: Reader) -> FolderKind:
    """Return the kind with which the folder was created."""
    seconds = reader.get(META, _WINDOW_SECONDS)
    return FolderKind(
        window(reader),
        meta.schema_version(reader) == LIGHT_SCHEMA_VERSION,
        None if seconds is None else number_from(seconds),
    )


def set_window(writer: Writer, blocks: int, seconds: int | None) -> None:
    """Set the window of a new store: `blocks` blocks, and all blocks younger than `seconds`."""
    writer.put(META, _WINDOW, number_key(blocks))
    if seconds is not None:
        writer.put(META, _WINDOW_SECONDS, number_key(seconds))


def first(reader: Reader) -> BlockNumber | None:
    """Return the first block of a folder with a window, None in a light folder without blocks."""
    stored = reader.get(META, _FIRST)
    return None if stored is None else number_from(stored)


def begin_at_genesis(writer: Writer) -> None:
    """Set the stored genesis block as the first block."""
    writer.put(META, _FIRST, number_key(0))


def begin_at(writer: Writer, block: VerifiedBlock, total_difficulty: int) -> None:
    """Replace the genesis block by `block` as first block, and mark it as head, safe and finalized.

    `total_difficulty` is its parent's.
    """
    remove_first_block(writer, 0)
    for table in (TOTALS, ACCESS_LISTS):
        writer.delete(table, number_key(0))
    before = number_key(FIRST_LOG) + total_difficulty.to_bytes(32, "big").lstrip(b"\0")
    writer.put(TOTALS, number_key(block.number - 1), before)
    head = canonical.append(writer, [block])
    for mark in (meta.SAFE, meta.FINALIZED):
        meta.set_mark(writer, mark, head)
    writer.put(META, _FIRST, number_key(block.number))


def prepend(writer: Writer, block: VerifiedBlock) -> None:
    """Put the parent of the first block below it."""
    before = prepend_block(writer, block.header, block.body, block.receipts)
    side_blocks.remove(writer, block.hash)
    canonical.put_access_list(writer, block)
    log_entries.add_lower(writer, entries_of([block.receipts], before))
    writer.put(META, _FIRST, number_key(block.number))


def prepend_genesis(writer: Writer, block: VerifiedBlock) -> None:
    """Put the genesis block below block 1; its totals are stored already."""
    key = number_key(0)
    for table, row in ((HEADERS, block.header), (BODIES, block.body), (RECEIPTS, block.receipts)):
        writer.put(table, key, row)
    canonical.put_access_list(writer, block)
    writer.put(NUMBERS, block.hash, key)
    writer.put(META, _FIRST, key)


def prune(writer: Writer, number: int) -> None:
    """Remove the first block, `number`."""
    receipts = writer.get(RECEIPTS, number_key(number))
    assert receipts is not None, "the first block is stored"
    # A row stays until the last log that it lists is pruned: searches begin at the first stored log, so they
    # skip earlier ones.
    for place, (key, positions) in enumerate(entries_of([receipts], logs_before(writer, number))):
        if place % _KEYS_AT_ONCE == 0:
            # Other threads must not wait for the interpreter's lock until all logs of a large block are
            # removed.
            sleep(0)
        row = writer.get(LOG_INDEX, key)
        if row is not None and log_entries.last_position(row) == array("I", positions)[-1]:
            writer.delete(LOG_INDEX, key)
    remove_first_block(writer, number)
    writer.delete(ACCESS_LISTS, number_key(number))
    writer.put(META, _FIRST, number_key(number + 1))


def prune_side(writer: Writer, start: bytes, below: int, most: int) -> bytes:
    """Remove side blocks with numbers below `below`, of at most `most` blocks from key `start` on.

    Return the key to continue from, empty after the last side block.
    """
    cursor = writer.cursor(SIDE_BLOCKS)
    looked: list[bytes] = []
    found = cursor.set_range(start)
    while found and len(looked) < most:
        if (key := cursor.key()).endswith(_SIDE_HEADER) and len(key) == len(_SIDE_HEADER) + 32:
            looked.append(key[:32])
        found = cursor.next()
    after = cursor.key() if found else b""
    for block_hash in looked:
        header = side_blocks.header(writer, Hash32(block_hash))
        if header is not None and header_fields(header).number < below:
            side_blocks.remove(writer, block_hash)
    return after
