"""Patches of a development chain's state: changes without a block, made to the state after the head.

The engine's table of patches has the values that a patch replaced; these rows have the new values, by which
replicas repeat it.
"""

import struct
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.storage.tables import HEADERS, META, number_key
from wsnode.store.environment import Reader, Writer
from wsnode.store.table import scan

PREFIX: Final = b"patch"
_END: Final = PREFIX + bytes([255] * 9)
"""Key after those of all patches."""
_INDEX: Final = struct.Struct(">I")
_ROOT: Final = 32


class StatePatch(msgspec.Struct, frozen=True):
    """Change of accounts in a block's state made without a transaction, on a development chain; `state_root`
    is the root after it.
    """

    accounts: bytes
    """JSON in the form of state overrides."""
    state_root: Hash32


def patches(reader: Reader, number: int) -> Sequence[StatePatch]:
    """Return the patches of the state after a block, oldest first."""
    return list(_oldest_first(reader, number))


def unpatched_root(reader: Reader | Writer, number: int) -> Hash32:
    """Return the state root of a canonical block's header, from before any patch."""
    row = reader.get(HEADERS, number_key(number))
    assert row is not None, f"block {number} is canonical"
    return Hash32(header_fields(row).state_root)


def begun_root(reader: Reader, number: int) -> Hash32:
    """Return the state root after a block and its first patch, by which a fork gets its accounts."""
    first = next(_oldest_first(reader, number), None)
    return unpatched_root(reader, number) if first is None else first.state_root


def patches_since(reader: Reader | Writer, number: int, root: bytes) -> Sequence[StatePatch] | None:
    """Return the patches of block `number` made since its state last had `root`, oldest first.

    None if its state never had that root.
    """
    since: list[StatePatch] = []
    for _key, row in _latest_first(reader, number):
        patch = _patch(row)
        if patch.state_root == root:
            break
        since.append(patch)
    else:
        if unpatched_root(reader, number) != root:
            return None
    return since[::-1]


def state_root(reader: Reader, number: int) -> Hash32:
    """Return the root of the state after a block and its patches."""
    last = next(_latest_first(reader, number), None)
    return unpatched_root(reader, number) if last is None else _patch(last[1]).state_root


def add(writer: Writer, number: int, patch: StatePatch) -> None:
    """Store a patch of the state after block `number`, the head."""
    last = next(_latest_first(writer, number), None)
    index = 0 if last is None else _INDEX.unpack(last[0][-_INDEX.size :])[0] + 1
    writer.put(META, _prefix(number) + _INDEX.pack(index), patch.state_root + patch.accounts)


def unwind(writer: Writer, number: int) -> None:
    """Delete the patches of all blocks above `number`."""
    for key in [key for key, _row in scan(writer, META, _prefix(number + 1), _END)]:
        writer.delete(META, key)


def undo(writer: Writer, number: int, wanted: bytes) -> None:
    """Delete the last patches of a block back to the state root `wanted`; none if it never had that root."""
    since = patches_since(writer, number, wanted)
    for key, _row in [*islice(_latest_first(writer, number), len(since or ()))]:
        writer.delete(META, key)


def _oldest_first(reader: Reader, number: int) -> Iterator[StatePatch]:
    return (_patch(row) for _key, row in scan(reader, META, _prefix(number), _prefix(number + 1)))


def _latest_first(reader: Reader | Writer, number: int) -> Iterator[tuple[bytes, bytes]]:
    cursor = reader.cursor(META)
    found = cursor.prev() if cursor.set_range(_prefix(number + 1)) else cursor.last()
    while found and cursor.key().startswith(_prefix(number)):
        yield cursor.item()
        found = cursor.prev()


def _patch(row: bytes) -> StatePatch:
    return StatePatch(bytes(row[_ROOT:]), Hash32(row[:_ROOT]))


def is_key(key: bytes) -> bool:
    """Return True if a key of the table is that of a patch."""
    return key.startswith(PREFIX) and len(key) == len(_prefix(0)) + _INDEX.size


def _prefix(number: int) -> bytes:
    return PREFIX + number_key(number)
