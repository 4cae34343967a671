"""Find logs by address and topics: the cost follows the answer, not the range of blocks.

A criterion is a group of values of which a log must have one; a search finds the logs that meet every
criterion. Each value's chunks lie side by side in the index, so a group leaps to the next chunk it occurs
in, all groups leap until they stand at the same chunk, and only then bitmaps are read and intersected.
"""

from array import array
from bisect import bisect_left
from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from struct import Struct
from typing import Final

import msgspec
from pyroaring import BitMap

from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.storage.canonical import log_count_before
from wsnode.ethereum.storage.log_entries import CHUNK_BITS, CHUNK_KEY, decode_positions
from wsnode.ethereum.storage.tables import LOG_BLOCKS, LOG_INDEX, number_from, number_key
from wsnode.store.environment import Reader

MAX_TOPICS: Final = 4
# A block's number, and that of its first log.
_BLOCK: Final = Struct(">QQ")
_CHUNK_SIZE: Final = 1 << CHUNK_BITS
_NO_CHUNK: Final = 1 << (8 * CHUNK_KEY)
# A seek and reading its bitmap cost 1 to 10 microseconds, so a slice lasts about a millisecond.
_SEEKS_A_SLICE: Final = 128

_ADDRESS: Final = b"\x00"
_TOPIC: Final = (b"\x01", b"\x02", b"\x03", b"\x04")
_TOPIC_COUNT: Final = b"\x05"


class LogCriteria(msgspec.Struct, frozen=True):
    """Which logs are wanted.

    `addresses`: one of these, or any when empty. `topics`: for each position one of the values, or any
    when empty; a log with fewer topics than positions does not match.
    """

    addresses: Sequence[bytes] = ()
    topics: Sequence[Sequence[bytes]] = ()


class BlockLogs(msgspec.Struct, frozen=True):
    """Logs of one block by their index in it, ascending; `indices` None means all of the block's logs."""

    number: BlockNumber
    indices: Sequence[int] | None


class LogMatches(msgspec.Struct, frozen=True):
    """How many logs matched, and where they are; beyond the limit only that there were more."""

    count: int
    exceeded: bool
    blocks: list[BlockLogs]


Search = Generator[None, None, LogMatches]


def search_logs(
    reader: Reader, criteria: LogCriteria, first: int, last: int, *, limit: int | None = None
) -> Search:
    """Search blocks `first` to `last`, both canonical; the generator yields between slices and returns.

    With a `limit` the search ends at the first match beyond it, and no blocks are looked up then.
    """
    begin, end = log_count_before(reader, first), log_count_before(reader, last + 1)
    groups = _groups(criteria)
    if not groups:
        return (yield from _all_logs(reader, begin, end, limit))
    count = 0
    chunks: list[tuple[int, BitMap]] = []
    for match in _matches(reader, groups, begin, end):
        if match is None:
            yield
            continue
        chunks.append(match)
        count += len(match[1])
        if limit is not None and count > limit:
            return LogMatches(count, exceeded=True, blocks=[])
    blocks: list[BlockLogs] = []
    yield from _locate(reader, [(base, positions.to_array()) for base, positions in chunks], blocks)
    return LogMatches(count, exceeded=False, blocks=blocks)


def first_logs(reader: Reader, criteria: LogCriteria, begin: int, end: int, most: int) -> Search:
    """Search the logs numbered `begin` to before `end`, and return at most `most`, the first ones.

    `exceeded` tells that there are more; the generator yields between slices and returns.
    """
    chunks: list[tuple[int, Sequence[int]]] = []
    room = most
    if groups := _groups(criteria):
        for match in _matches(reader, groups, begin, end):
            if match is None:
                yield
                continue
            base, positions = match
            chunks.append((base, array("I", islice(positions, room))))
            room -= len(positions)
            if room < 0:
                break
    else:
        chunks.append((begin, range(min(end - begin, most))))
        room -= end - begin
    blocks: list[BlockLogs] = []
    yield from _locate(reader, chunks, blocks)
    return LogMatches(most - max(room, 0), exceeded=room < 0, blocks=blocks)


def _groups(criteria: LogCriteria) -> list[list[bytes]]:
    """Return the criteria as groups of key prefixes; no group, no criterion."""
    groups = [[_ADDRESS + address for address in criteria.addresses]] if criteria.addresses else []
    for kind, values in zip(_TOPIC, criteria.topics, strict=False):
        if values:
            groups.append([kind + value for value in values])
    if criteria.topics and not criteria.topics[-1]:
        # A trailing wildcard still asks for a topic in its position.
        counts = range(len(criteria.topics), MAX_TOPICS + 1)
        groups.append([_TOPIC_COUNT + bytes((count,)) for count in counts])
    return groups


def _all_logs(reader: Reader, begin: int, end: int, limit: int | None) -> Search:
    count = end - begin
    if limit is not None and count > limit:
        return LogMatches(count, exceeded=True, blocks=[])
    blocks: list[BlockLogs] = []
    cursor = reader.cursor(LOG_BLOCKS)
    found = count > 0 and cursor.set_range(number_key(begin + 1))
    while found:
        block_end, block = number_from(cursor.key()), cursor.value()
        blocks.append(BlockLogs(number_from(block[:8]), None))
        found = block_end < end and cursor.next()
        if len(blocks) % _SEEKS_A_SLICE == 0:
            yield
    return LogMatches(count, exceeded=False, blocks=blocks)


def _locate(
    reader: Reader, chunks: Sequence[tuple[int, Sequence[int]]], blocks: list[BlockLogs]
) -> Generator[None, None, None]:
    """Put the blocks of logs into `blocks`; a chunk is a log number and ascending distances from it."""
    cursor = reader.cursor(LOG_BLOCKS)
    for base, positions in chunks:
        start = 0
        while start < len(positions):
            cursor.set_range(number_key(base + positions[start] + 1))
            key, value = cursor.item()
            number, before = _BLOCK.unpack(value)
            stop = bisect_left(positions, number_from(key) - base, start)
            _add(blocks, number, _indices(positions[start:stop], before - base))
            start = stop
            if len(blocks) % _SEEKS_A_SLICE == 0:
                yield


def _indices(positions: Sequence[int], first: int) -> Sequence[int]:
    """Return the distances of `positions` from `first`; where all of a block's logs match, that is cheap."""
    start, stop = positions[0] - first, positions[-1] - first + 1
    if stop - start == len(positions):
        return range(start, stop)
    return [position - first for position in positions]


def _add(blocks: list[BlockLogs], number: int, indices: Sequence[int]) -> None:
    """Put the logs of a block last, beside those of it that the chunk before held."""
    if blocks and blocks[-1].number == number:
        indices = [*(blocks.pop().indices or ()), *indices]
    blocks.append(BlockLogs(BlockNumber(number), indices))


def _matches(
    reader: Reader, groups: list[list[bytes]], begin: int, end: int
) -> Iterator[tuple[int, BitMap] | None]:
    """Yield each chunk's first log number and its matches, and None when a slice has lasted long enough."""
    # Few values first: their leaps are cheapest, and most searches name one address.
    members = [_Group(reader, prefixes) for prefixes in sorted(groups, key=len)]
    seeks = 0
    chunk = begin >> CHUNK_BITS
    while chunk < _NO_CHUNK and (chunk << CHUNK_BITS) < end:
        target = chunk
        for group in members:
            while group.chunk < target:
                seeks += group.leap(target, _SEEKS_A_SLICE - seeks)
                if seeks == _SEEKS_A_SLICE:
                    seeks = 0
                    yield None
            target = max(target, group.chunk)
        if target > chunk:
            chunk = target
            continue
        base = chunk << CHUNK_BITS
        yield base, _window(_common(members), begin - base, end - base)
        chunk += 1


def _common(groups: "list[_Group]") -> BitMap:
    """Return the positions that all groups have in the chunk they stand at."""
    if len(groups) == 1:
        return groups[0].positions()
    # The shortest rows are the rarest values, and an empty intersection spares the longer ones.
    ordered = sorted(groups, key=_Group.size)
    common = ordered[0].positions()
    for group in ordered[1:]:
        if not common:
            break
        common &= group.positions()
    return common


def _window(positions: BitMap, begin: int, end: int) -> BitMap:
    if begin > 0:
        positions.remove_range(0, begin)
    if end < _CHUNK_SIZE:
        positions.remove_range(end, _CHUNK_SIZE)
    return positions


class _Group:
    """The values of one criterion, standing together at one chunk of the index."""

    __slots__ = ("_cursor", "_index", "_next", "_prefixes", "_rows", "chunk")

    def __init__(self, reader: Reader, prefixes: list[bytes]) -> None:
        self._cursor = reader.cursor(LOG_INDEX)
        self._prefixes = sorted(prefixes)
        # For each prefix the chunk it occurs in next, as far as it has been looked up.
        self._next = [-1] * len(prefixes)
        self._rows: list[bytes] = [b""] * len(prefixes)
        self._index = 0
        self.chunk = -1

    def leap(self, target: int, most: int) -> int:
        """Move to the first chunk at or after `target` that has any of the values, and return seeks made.

        After as many as `most`, which is at least one, the rest of the way is left to the next call.
        """
        seeks = 0
        while self._index < len(self._prefixes):
            if self._next[self._index] < target:
                if seeks == most:
                    return seeks
                self._seek(self._index, self._prefixes[self._index], target)
                seeks += 1
            self._index += 1
        self._index = 0
        self.chunk = min(self._next)
        return seeks

    def _seek(self, index: int, prefix: bytes, target: int) -> None:
        if target < _NO_CHUNK and self._cursor.set_range(prefix + target.to_bytes(CHUNK_KEY, "big")):
            key, row = self._cursor.item()
            if key.startswith(prefix):
                self._next[index] = int.from_bytes(key[len(prefix) :], "big")
                self._rows[index] = row
                return
        self._next[index] = _NO_CHUNK

    def size(self) -> int:
        """Return the bytes of the rows in this chunk."""
        return sum(len(row) for row, chunk in zip(self._rows, self._next, strict=True) if chunk == self.chunk)

    def positions(self) -> BitMap:
        """Return the positions of all values in this chunk."""
        if len(self._rows) == 1:
            return decode_positions(self._rows[0])
        maps = [
            decode_positions(row)
            for row, chunk in zip(self._rows, self._next, strict=True)
            if chunk == self.chunk
        ]
        return maps[0] if len(maps) == 1 else BitMap.union(*maps)
