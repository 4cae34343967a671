"""Iterators of the log index: over the chunks of one value, or of a group of values."""

from collections.abc import Generator
from typing import Final

from pyroaring import BitMap

from wsnode.ethereum.storage.log_entries import (
    CHUNK_BITS,
    CHUNK_KEY,
    Positions,
    decode_positions,
    read_positions,
)
from wsnode.store.table import RowCursor

NO_CHUNK: Final = 1 << (8 * CHUNK_KEY)
"""Chunk number of an iterator at its end."""
ROWS_A_SLICE: Final = 128
"""Rows of one slice, about a millisecond: a seek and reading its bitmap cost 1 to 10 microseconds."""
_CHUNK_SIZE: Final = 1 << CHUNK_BITS


class ValueIterator:
    """Iterator of one value, at a chunk of the index in which it occurs."""

    __slots__ = ("_cursor", "_prefix", "chunk", "row")

    def __init__(self, cursor: RowCursor, prefix: bytes) -> None:
        self._cursor = cursor
        self._prefix = prefix
        self.row = b""
        self.chunk = -1

    def leap(self, target: int, most: int = 1) -> int:
        """Move to the value's first chunk at or after `target`, and return the number of seeks, 1."""
        prefix, cursor = self._prefix, self._cursor
        if target < NO_CHUNK and cursor.set_range(prefix + target.to_bytes(CHUNK_KEY, "big")):
            key, self.row = cursor.item()
            if key.startswith(prefix):
                self.chunk = int.from_bytes(key[-CHUNK_KEY:], "big")
                return 1
        self.chunk = NO_CHUNK
        return 1

    def size(self) -> int:
        return len(self.row)

    def rows(self) -> list[bytes]:
        return [self.row]


class AnyValueIterator:
    """Iterator of the values of one criterion, together at one chunk of the index."""

    __slots__ = ("_index", "_values", "chunk")

    def __init__(self, cursor: RowCursor, prefixes: list[bytes]) -> None:
        # For each value the chunk it occurs in next, as far as it has been looked up.
        self._values = [ValueIterator(cursor, prefix) for prefix in sorted(prefixes)]
        self._index = 0
        self.chunk = -1

    def leap(self, target: int, most: int) -> int:
        """Move to the first chunk at or after `target` with any of the values; return the number of seeks.

        After `most` seeks, at least one, the rest of the way is left to the next call.
        """
        seeks = 0
        while self._index < len(self._values):
            value = self._values[self._index]
            if value.chunk < target:
                if seeks == most:
                    return seeks
                seeks += value.leap(target)
            self._index += 1
        self._index = 0
        self.chunk = min(value.chunk for value in self._values)
        return seeks

    def size(self) -> int:
        return sum(value.size() for value in self._values if value.chunk == self.chunk)

    def rows(self) -> list[bytes]:
        return [value.row for value in self._values if value.chunk == self.chunk]


def common_positions(groups: list[ValueIterator | AnyValueIterator]) -> Generator[None, None, Positions]:
    """Return the positions that all groups have in their common chunk; yield between slices."""
    # The shortest rows are the rarest values, and an empty intersection spares the longer ones.
    ordered = sorted(groups, key=lambda group: group.size()) if len(groups) > 1 else groups
    common = yield from _united(ordered[0].rows())
    for group in ordered[1:]:
        if not common:
            break
        common = _intersection(common, (yield from _united(group.rows())))
    return common


def _united(rows: list[bytes]) -> Generator[None, None, Positions]:
    """Return the positions that are in any of the rows; yield between slices."""
    if len(rows) == 1:
        return read_positions(rows[0])
    united = BitMap.union(*map(decode_positions, rows[:ROWS_A_SLICE]))
    for start in range(ROWS_A_SLICE, len(rows), ROWS_A_SLICE):
        yield
        united |= BitMap.union(*map(decode_positions, rows[start : start + ROWS_A_SLICE]))
    return united


def _intersection(some: Positions, others: Positions) -> Positions:
    if isinstance(some, BitMap):
        if isinstance(others, BitMap):
            some &= others
            return some
        some, others = others, some
    return [position for position in some if position in others]


def within(positions: Positions, begin: int, end: int) -> Positions:
    """Return the positions from `begin` to before `end`."""
    if isinstance(positions, BitMap):
        if begin > 0:
            positions.remove_range(0, begin)
        if end < _CHUNK_SIZE:
            positions.remove_range(end, _CHUNK_SIZE)
    elif begin > 0 or end < _CHUNK_SIZE:
        return [position for position in positions if begin <= position < end]
    return positions
