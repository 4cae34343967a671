"""Rows, tables and keys. Numbers in keys are 8 bytes big-endian, so key order is chain order."""

from typing import Final

import msgspec
import zstandard

from wsnode.store.table import HasCursors, RowCursor, Table

DIFF_LEVEL = 3
CLASS_LEVEL = 9  # written once and read often: a Sierra class of 1.39 MB takes 353 kB at 3, 300 kB at 9


class BlockRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Header of a block as a row of the store; `parent_hash`, `timestamp` and `version` are None if they are
    unknown.
    """

    hash: bytes
    parent_hash: bytes | None
    old_root: bytes
    new_root: bytes
    timestamp: int | None
    version: str | None
    more: bytes = b""
    """Further members of the header: a JSON object, or empty."""


encode_block = msgspec.msgpack.Encoder().encode
decode_block = msgspec.msgpack.Decoder(BlockRow).decode


def compress(text: bytes, level: int) -> bytes:
    """Return `text` as one zstd frame with its size."""
    return zstandard.ZstdCompressor(level=level).compress(text)


def decompress(frame: bytes | memoryview) -> bytes:
    """Return the text of a frame."""
    return zstandard.ZstdDecompressor().decompress(frame)


BLOCKS: Final = Table("blocks")
"""number -> BlockRow"""
NUMBERS: Final = Table("numbers")
"""block hash -> number"""
DIFFS: Final = Table("diffs")
"""number -> zstd of the diff's stored JSON"""
BODIES: Final = Table("bodies")
"""number -> zstd of the transactions and receipts, of blocks that their hashes prove"""
EVENT_BLOOMS: Final = Table("event_blooms")
"""number -> Bloom filter of the addresses and keys of its events, of blocks with a body"""
TRANSACTIONS: Final = Table("transactions")
"""transaction hash -> number, index in the block (4 bytes)"""
CLASS_AT: Final = Table("class_at")
"""address, number -> class hash after that block, then 1 if it was deployed there and 0 if replaced"""
NONCE_AT: Final = Table("nonce_at")
"""address, number -> nonce after that block"""
STORAGE_AT: Final = Table("storage_at")
"""address, key, number -> value after that block, without leading zero bytes"""
COMPILED_AT: Final = Table("compiled_at")
"""class hash, number -> compiled class hash after that block"""
CLASSES: Final = Table("classes")
"""class hash -> kind (1 byte), zstd of the rendered class"""
FIRST_NAMED: Final = Table("first_named")
"""class hash -> number of the first block that declares, deploys or replaces to it"""
MISSING: Final = Table("missing")
"""class hash -> that number, for classes without a definition"""
DROPPED: Final = Table("dropped")
"""hash of a dropped block -> its number, hash of its parent (zero below the first block)"""
META: Final = Table("meta")

HISTORIES: Final = (STORAGE_AT, CLASS_AT, NONCE_AT, COMPILED_AT)
"""Values after the blocks that have changed them."""
TABLES: Final = (
    BLOCKS,
    NUMBERS,
    DIFFS,
    BODIES,
    EVENT_BLOOMS,
    TRANSACTIONS,
    CLASS_AT,
    NONCE_AT,
    STORAGE_AT,
    COMPILED_AT,
    CLASSES,
    FIRST_NAMED,
    MISSING,
    DROPPED,
    META,
)

SCHEMA_KEY: Final = b"schema"
SCHEMA: Final = b"5"
"""The layout; rows of earlier ones have no checksums."""
FIRST_BLOCK_KEY: Final = b"first_block"
CHAIN_ID_KEY: Final = b"chain_id"
WINDOW_KEY: Final = b"window"
"""Key of the number of blocks that a folder keeps; one that keeps all has no such row."""
WHOLE_STATE_KEY: Final = b"whole_state"
"""Key of a row, of any value, in a folder with a window that also has the state written before it."""

NUMBER_BYTES: Final = 8
INDEX_BYTES: Final = 4


def number_key(number: int) -> bytes:
    """Return `number` in the form of keys."""
    return number.to_bytes(NUMBER_BYTES, "big")


def key_number(key: bytes) -> int:
    """Return the number that `key` ends in."""
    return int.from_bytes(key[-NUMBER_BYTES:], "big")


def value_at(reader: HasCursors, table: Table, subject: bytes, number: int) -> bytes | None:
    """Return the value that `subject` has after block `number`, None if no block up to it wrote one."""
    entry = entry_at(reader, table, subject, number)
    return None if entry is None else entry[1]


def entry_at(reader: HasCursors, table: Table, subject: bytes, number: int) -> tuple[bytes, bytes] | None:
    """Return key and value of `subject` after block `number`, None if no block up to it wrote one; the key
    ends with the number of the block that did.
    """
    cursor: RowCursor = reader.cursor(table)
    found = cursor.prev() if cursor.set_range(subject + number_key(number + 1)) else cursor.last()
    if not found:
        return None
    entry = cursor.item()
    key = entry[0]
    return entry if len(key) == len(subject) + NUMBER_BYTES and key.startswith(subject) else None


def first_entry(reader: HasCursors, table: Table, subject: bytes) -> tuple[bytes, bytes] | None:
    """Return key and value of the first entry of `subject` in a history, None if it has none."""
    cursor = reader.cursor(table)
    if not cursor.set_range(subject):
        return None
    entry = cursor.item()
    return entry if entry[0].startswith(subject) else None
