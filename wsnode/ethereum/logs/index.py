"""Search of logs by address and topics; its cost grows with the results, not with the range of blocks.

A criterion is a group of values, one of which a log must have; a search finds the logs that meet every
criterion. Each value's chunks are adjacent in the index. So each group jumps to its next chunk until all
groups are at one chunk, and only then bitmaps are read and intersected. Many values among few logs are
searched without the index: to look up a value in it costs as much as to compare a hundred logs with a set of
all values.
"""

from array import array
from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec
from pyroaring import BitMap

from wsnode.ethereum.codec.chain_tables import LogCriteria, blocks_of_logs, locate_logs, logs_before
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.storage.log_entries import (
    CHUNK_BITS,
    CHUNK_KEY,
    Positions,
    decode_positions,
    read_positions,
)
from wsnode.ethereum.storage.tables import LOG_INDEX
from wsnode.store.environment import Reader
from wsnode.store.table import RowCursor


class BlockLogs(NamedTuple):
    """Logs of one block by their index in it, ascending; `indices` of None means all of the block's logs."""

    number: BlockNumber
    indices: Sequence[int] | None


class LogMatches(msgspec.Struct, frozen=True):
    """Number of matching logs and their blocks; if `exceeded`, there are more matches than the limit."""

    count: int
    exceeded: bool
    blocks: list[BlockLogs]


Search = Generator[None, None, LogMatches]


def add_located(blocks: list[BlockLogs], located: list[tuple[int, Sequence[int]]]) -> None:
    """Append located logs to `blocks`, merging those of a block that is there already."""
    if blocks and located and blocks[-1].number == located[0][0]:
        # The previous slice ended within this block, so both lists of indices are joined.
        number, indices = located[0]
        located[0] = number, [*(blocks.pop().indices or ()), *indices]
    # `_make` takes a third of the time of calls with keyword arguments, which would be a twentieth of a
    # search for ten logs.
    blocks += map(BlockLogs._make, located)


def first_of(found: LogMatches, most: int) -> LogMatches:
    """Return the first `most` logs of a search; `exceeded` means that there are more."""
    if found.count <= most:
        return found
    blocks: list[BlockLogs] = []
    room = most
    for number, indices in found.blocks:
        assert indices is not None, "logs that match are listed"
        if not room:
            break
        blocks.append(BlockLogs(number, indices[:room]))
        room -= len(blocks[-1].indices or ())
    return LogMatches(most, exceeded=True, blocks=blocks)


NO_CHUNK: Final = 1 << (8 * CHUNK_KEY)
"""Chunk number of an iterator at its end."""
ROWS_A_SLICE: Final = 128
"""Rows of one slice, about a millisecond: a seek and reading its bitmap cost 1 to 10 microseconds."""
_CHUNK_SIZE: Final = 1 << CHUNK_BITS


class ValueIterator:
    """Iterator over the chunks of the log index with one value, an address or a topic; `chunk` is the current
    one.
    """

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
    """Iterator over the chunks of the log index with any value of one condition (the addresses, or the topics
    at one position); `chunk` is the current one.
    """

    __slots__ = ("_index", "_values", "chunk")

    def __init__(self, cursor: RowCursor, prefixes: list[bytes]) -> None:
        # Each iterator stands at the next chunk with its value, as far as that has been looked up.
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
    # The shortest rows belong to the rarest values, and an empty intersection spares reading the longer rows.
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


LOGS_A_VALUE: Final = 64
"""Logs compared, at 7 to 13 ns each, in less than the time of one look-up, 1.1 to 3.4 microseconds."""
LOGS_A_BLOCK: Final = 32
"""Logs compared in the time of finding a block's receipts; more if their page is not in memory."""
LOGS_A_SLICE: Final = 4096
"""Logs compared in one slice of some 50 microseconds; 128 blocks with one log each take as long."""


def is_read_sooner(values: int, logs: int, blocks: int) -> bool:
    """Return True if reading `logs` in `blocks` is cheaper than looking up `values`."""
    return logs + LOGS_A_BLOCK * min(logs, blocks) <= LOGS_A_VALUE * values


def read_logs(
    reader: Reader, criteria: LogCriteria, begin: int, end: int, limit: int | None = None
) -> Search:
    """Search the logs numbered `begin` to before `end`; yield between slices, and return the matches.

    With a `limit` the search ends with the slice that exceeds it.
    """
    blocks: list[BlockLogs] = []
    count = 0
    while begin < end:
        located, begin = criteria.find(reader, begin, end, LOGS_A_SLICE)
        count += sum(len(indices) for _number, indices in located)
        if limit is not None and count > limit:
            return LogMatches(count, exceeded=True, blocks=[])
        add_located(blocks, located)
        if begin < end:
            yield
    return LogMatches(count, exceeded=False, blocks=blocks)


def search_logs(
    reader: Reader, criteria: LogCriteria, first: int, last: int, *, limit: int | None = None
) -> Search:
    """Search the canonical blocks `first` to `last`; yield between slices, and return the matches.

    With a `limit` the search ends at the first match beyond it, and then looks up no blocks.
    """
    # The genesis block has no logs, and the logs of a light folder are not numbered from 0.
    first = max(first, 1)
    begin, end = logs_before(reader, first), logs_before(reader, last + 1)
    if criteria.count and is_read_sooner(criteria.count, end - begin, last - first + 1):
        return (yield from read_logs(reader, criteria, begin, end, limit))
    return (yield from look_up_logs(reader, criteria, begin, end, limit))


def look_up_logs(
    reader: Reader, criteria: LogCriteria, begin: int, end: int, limit: int | None = None
) -> Search:
    """Search the logs numbered `begin` to before `end` by the index, as `search_logs` does."""
    groups = criteria.groups()
    if not groups:
        return (yield from _all_logs(reader, begin, end, limit))
    count = 0
    chunks: list[tuple[int, Positions]] = []
    for match in _matches(reader, groups, begin, end):
        if match is None:
            yield
            continue
        chunks.append(match)
        count += len(match[1])
        if limit is not None and count > limit:
            return LogMatches(count, exceeded=True, blocks=[])
    blocks: list[BlockLogs] = []
    yield from _locate(reader, chunks, blocks)
    return LogMatches(count, exceeded=False, blocks=blocks)


def first_logs(reader: Reader, criteria: LogCriteria, begin: int, end: int, most: int) -> Search:
    """Search the logs numbered `begin` to before `end`, in any block; return the first `most` matches.

    `exceeded` means that there are more; the generator yields between slices.
    """
    # The number of blocks with these logs is unknown, but is at most the number of logs.
    if criteria.count and is_read_sooner(criteria.count, end - begin, end - begin):
        return first_of((yield from read_logs(reader, criteria, begin, end)), most)
    chunks: list[tuple[int, Positions | range]] = []
    room = most
    if groups := criteria.groups():
        for match in _matches(reader, groups, begin, end):
            if match is None:
                yield
                continue
            base, positions = match
            chunks.append((base, list(islice(positions, room))))
            room -= len(positions)
            if room < 0:
                break
    else:
        chunks.append((begin, range(min(end - begin, most))))
        room -= end - begin
    blocks: list[BlockLogs] = []
    yield from _locate(reader, chunks, blocks)
    return LogMatches(most - max(room, 0), exceeded=room < 0, blocks=blocks)


def _all_logs(reader: Reader, begin: int, end: int, limit: int | None) -> Search:
    count = end - begin
    if limit is not None and count > limit:
        return LogMatches(count, exceeded=True, blocks=[])
    blocks: list[BlockLogs] = []
    while begin < end:
        if blocks:
            yield
        numbers, begin = blocks_of_logs(reader, begin, end, ROWS_A_SLICE)
        blocks += [BlockLogs(BlockNumber(number), None) for number in numbers]
    return LogMatches(count, exceeded=False, blocks=blocks)


def _locate(
    reader: Reader, chunks: Sequence[tuple[int, Positions | range]], blocks: list[BlockLogs]
) -> Generator[None, None, None]:
    """Append the blocks of logs to `blocks`; a chunk is a log number and ascending distances from it."""
    seeks = 0
    for base, found in chunks:
        numbers = found.to_array() if isinstance(found, BitMap) else array("I", found)
        positions, place = numbers.tobytes(), 0
        while place < len(numbers):
            located, place = locate_logs(reader, base, positions, place, ROWS_A_SLICE - seeks)
            seeks += len(located)
            add_located(blocks, located)
            if seeks == ROWS_A_SLICE:
                seeks = 0
                yield


def _matches(
    reader: Reader, groups: list[list[bytes]], begin: int, end: int
) -> Generator[tuple[int, Positions] | None, None, None]:
    """Yield each chunk's first log number and its matches, and None at the end of each slice."""
    cursor = reader.cursor(LOG_INDEX)
    if len(groups) == 1 == len(groups[0]):
        # Most filters name one value. The leaps below, which find where several values meet, would take twice
        # as long.
        yield from _matches_of_one(cursor, groups[0][0], begin, end)
        return
    # Groups with few values come first: their leaps are cheapest, and most searches name one address.
    members = [
        ValueIterator(cursor, prefixes[0]) if len(prefixes) == 1 else AnyValueIterator(cursor, prefixes)
        for prefixes in (sorted(groups, key=len) if len(groups) > 1 else groups)
    ]
    seeks = 0
    chunk = begin >> CHUNK_BITS
    while chunk < NO_CHUNK and (chunk << CHUNK_BITS) < end:
        target = chunk
        for group in members:
            while group.chunk < target:
                seeks += group.leap(target, ROWS_A_SLICE - seeks)
                if seeks == ROWS_A_SLICE:
                    seeks = 0
                    yield None
            if group.chunk > target:
                target = group.chunk
        if target > chunk:
            chunk = target
            continue
        base = chunk << CHUNK_BITS
        positions = yield from common_positions(members)
        yield base, within(positions, begin - base, end - base)
        chunk += 1


def _matches_of_one(
    cursor: RowCursor, prefix: bytes, begin: int, end: int
) -> Iterator[tuple[int, Positions] | None]:
    chunk = begin >> CHUNK_BITS
    found = cursor.set_range(prefix + chunk.to_bytes(CHUNK_KEY, "big"))
    moves = 0
    while found:
        key, row = cursor.item()
        if not key.startswith(prefix):
            return
        base = int.from_bytes(key[-CHUNK_KEY:], "big") << CHUNK_BITS
        if base >= end:
            return
        yield base, within(read_positions(row), begin - base, end - base)
        moves += 1
        if moves % ROWS_A_SLICE == 0:
            yield None
        found = cursor.next()
