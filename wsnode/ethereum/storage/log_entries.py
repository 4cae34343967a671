"""The rows of the log index: the logs of an address, or of a topic at a position.

Logs of the canonical chain are numbered from 0. A row covers 65,536 numbers (a chunk); its key is the kind
and value that the logs have in common, then the chunk, so all chunks of a value lie side by side. Its value
is the low halves of the numbers: up to eight of them as a plain list, more as a roaring bitmap. A bitmap
of a single run takes 15 bytes, any other more than a list's 16, and lists are even: so a row's length tells.
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
"""Ascending low halves of log numbers. A bitmap is dear where there are but a few."""


def read_positions(row: bytes) -> Positions:
    """Return the low halves of the log numbers that a row lists, as it keeps them: few as a list."""
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
    """Return the row that lists these low halves of log numbers."""
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
    """Return the greatest position that a row lists."""
    positions = read_positions(row)
    last: int = positions[-1] if isinstance(positions, list) else positions.max()
    return last


def remove(writer: Writer, entries: Iterable[tuple[bytes, bytes]], first: int = 0) -> None:
    """Take logs out of the index, given as they were added; `first` is the first log of the chain."""
    for key, positions in entries:
        row = writer.get(LOG_INDEX, key)
        assert row is not None, f"log index lacks {key.hex()}"
        left = decode_positions(row) - BitMap(array("I", positions))
        # What is left of pruned blocks is listed in no block that could take it away later.
        if left and (int.from_bytes(key[-CHUNK_KEY:], "big") << CHUNK_BITS) + left.max() >= first:
            writer.put(LOG_INDEX, key, encode_positions(left))
        else:
            writer.delete(LOG_INDEX, key)
