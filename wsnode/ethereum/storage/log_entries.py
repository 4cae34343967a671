"""Rows of the log index: the logs of an address, or of a topic at a position.

Logs of the canonical chain are numbered from 0. A row covers 65,536 numbers (a chunk); its key is the kind
and value common to the logs, then the chunk, so all chunks of a value are adjacent. The row's value is the
low 16 bits of the numbers: up to eight as a plain list, more as a roaring bitmap. The length of a row
distinguishes the two: a list has an even length of at most 16 bytes; a bitmap of a single run has 15 bytes,
any other more than 16.
"""

from array import array
from collections.abc import Iterable
from typing import Final, TypeAlias

from pyroaring import BitMap

from wsnode.ethereum.storage.tables import LOG_INDEX
from wsnode.store.environment import Writer

CHUNK_BITS: Final = 16
CHUNK_KEY: Final = 4
_LIST_LENGTH: Final = 8
_LIST_BYTES: Final = 2 * _LIST_LENGTH

Positions: TypeAlias = list[int] | BitMap
"""Low 16 bits of log numbers, ascending; a few are a list, which costs less than a bitmap."""


def read_positions(row: bytes) -> Positions:
    """Return the low 16 bits of the log numbers in a row: at most eight as a list, more as a bitmap."""
    if len(row) <= _LIST_BYTES and len(row) % 2 == 0:
        return array("H", row).tolist()
    return BitMap.deserialize(row)


def decode_positions(row: bytes) -> BitMap:
    """Return the positions of a row as a bitmap."""
    return bitmap_of(read_positions(row))


def bitmap_of(positions: Positions) -> BitMap:
    """Return positions as a bitmap; a bitmap is returned unchanged."""
    return positions if isinstance(positions, BitMap) else BitMap(positions)


def encode_positions(positions: BitMap) -> bytes:
    """Return the row with these positions."""
    if len(positions) <= _LIST_LENGTH:
        return array("H", positions).tobytes()
    return positions.serialize()


def add(writer: Writer, entries: Iterable[tuple[bytes, bytes]]) -> None:
    """Add later logs to the index; an entry is a key and the new positions, four bytes each."""
    for key, positions in entries:
        row = writer.get(LOG_INDEX, key)
        writer.put(LOG_INDEX, key, _extended(row or b"", array("I", positions)))


def _extended(row: bytes, new: "array[int]") -> bytes:
    if len(row) + 2 * len(new) <= _LIST_BYTES:
        return row + array("H", new).tobytes()
    positions = decode_positions(row)
    positions.update(new)
    return positions.serialize()


def add_lower(writer: Writer, entries: Iterable[tuple[bytes, bytes]]) -> None:
    """Add logs before those in the index, given as to `add`."""
    for key, positions in entries:
        row = writer.get(LOG_INDEX, key)
        listed = BitMap(array("I", positions))
        writer.put(
            LOG_INDEX, key, encode_positions(listed if row is None else listed | decode_positions(row))
        )


def last_position(row: bytes) -> int:
    """Return the greatest position in a row."""
    positions = read_positions(row)
    last: int = positions[-1] if isinstance(positions, list) else positions.max()
    return last


def remove(writer: Writer, entries: Iterable[tuple[bytes, bytes]], first: int = 0) -> None:
    """Remove logs from the index, given as to `add`; `first` is the number of the chain's first log."""
    for key, positions in entries:
        row = writer.get(LOG_INDEX, key)
        assert row is not None, f"log index lacks {key.hex()}"
        left = decode_positions(row) - BitMap(array("I", positions))
        # A row that has only logs of pruned blocks left is deleted now: no stored block lists these logs, so
        # no later change would delete the row.
        if left and (int.from_bytes(key[-CHUNK_KEY:], "big") << CHUNK_BITS) + left.max() >= first:
            writer.put(LOG_INDEX, key, encode_positions(left))
        else:
            writer.delete(LOG_INDEX, key)
