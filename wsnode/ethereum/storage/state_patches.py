"""Changes of a development chain's state without a block, each after the block that was the head.

The state store has what a patch replaced; these rows have what it said, for others to repeat it.
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
KEPT: Final = b"patches"
"""The key of a store that has had its patches kept from its beginning."""
_INDEX: Final = struct.Struct(">I")
_ROOT: Final = 32


class StatePatch(msgspec.Struct, frozen=True):
    """Accounts of a state that were changed, and the root of the state after that."""

    accounts: bytes
    """JSON, as state overrides are."""
    state_root: Hash32


def begin(writer: Writer) -> None:
    """Have the patches of a new store be kept."""
    writer.put(META, KEPT, b"")


def are_kept(reader: Reader) -> bool:
    """Return whether every patch that the chain has is here: not in a folder of an earlier version."""
    return reader.get(META, KEPT) is not None


def patches(reader: Reader, number: int) -> Sequence[StatePatch]:
    """Return the patches of the state after a block, oldest first."""
    return [_patch(row) for _key, row in scan(reader, META, _prefix(number), _prefix(number + 1))]


def unpatched_root(reader: Reader | Writer, number: int) -> Hash32:
    """Return the root of the state after a canonical block without its patches."""
    row = reader.get(HEADERS, number_key(number))
    assert row is not None, f"block {number} is canonical"
    return Hash32(header_fields(row).state_root)


def patches_since(reader: Reader | Writer, number: int, root: bytes) -> Sequence[StatePatch] | None:
    """Return the patches of a block after the last state that had a root, oldest first.

    None says that no state of the block had it.
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
    """Keep a patch of the state after a block, the head."""
    last = next(_latest_first(writer, number), None)
    index = 0 if last is None else _INDEX.unpack(last[0][-_INDEX.size :])[0] + 1
    writer.put(META, _prefix(number) + _INDEX.pack(index), patch.state_root + patch.accounts)


def unwind(writer: Writer, number: int) -> None:
    """Forget the patches of the blocks above one."""
    for key in [key for key, _row in scan(writer, META, _prefix(number + 1), KEPT)]:
        writer.delete(META, key)


def undo(writer: Writer, number: int, wanted: bytes) -> None:
    """Forget the last patches of a block, until its state has the root `wanted`; one it never had: none."""
    since = patches_since(writer, number, wanted)
    for key, _row in [*islice(_latest_first(writer, number), len(since or ()))]:
        writer.delete(META, key)


def _latest_first(reader: Reader | Writer, number: int) -> Iterator[tuple[bytes, bytes]]:
    cursor = reader.cursor(META)
    found = cursor.prev() if cursor.set_range(_prefix(number + 1)) else cursor.last()
    while found and cursor.key().startswith(_prefix(number)):
        yield cursor.item()
        found = cursor.prev()


def _patch(row: bytes) -> StatePatch:
    return StatePatch(bytes(row[_ROOT:]), Hash32(row[:_ROOT]))


def is_key(key: bytes) -> bool:
    """Return whether a key of the table is that of a patch."""
    return key.startswith(PREFIX) and len(key) == len(_prefix(0)) + _INDEX.size


def _prefix(number: int) -> bytes:
    return PREFIX + number_key(number)
