"""Changes of a development chain's state without a block, each after the block that was the head.

The state store has what a patch replaced; these rows have what it said, for others to repeat it.
"""

import struct
from collections.abc import Sequence
from typing import Final

import msgspec

from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.storage.tables import META, number_key
from wsnode.store.environment import Reader, Writer
from wsnode.store.table import scan

PREFIX: Final = b"patch"
KEPT: Final = b"patches"
"""The key of a store that has had its patches kept from its beginning."""
_INDEX: Final = struct.Struct(">I")
_ROOT: Final = 32


class Patch(msgspec.Struct, frozen=True):
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


def patches(reader: Reader, number: int) -> Sequence[Patch]:
    """Return the patches of the state after a block, oldest first."""
    rows = (row for _key, row in scan(reader, META, _prefix(number), _prefix(number + 1)))
    return [Patch(bytes(row[_ROOT:]), Hash32(row[:_ROOT])) for row in rows]


def state_root(reader: Reader, number: int, unpatched: bytes) -> Hash32:
    """Return the root of the state after a block, whose header has the root `unpatched`."""
    made = patches(reader, number)
    return made[-1].state_root if made else Hash32(unpatched)


def add(writer: Writer, number: int, patch: Patch) -> None:
    """Keep a patch of the state after a block, the head."""
    index = len(patches(writer, number))
    writer.put(META, _prefix(number) + _INDEX.pack(index), patch.state_root + patch.accounts)


def unwind(writer: Writer, number: int) -> None:
    """Forget the patches of the blocks above one."""
    for key in [key for key, _row in scan(writer, META, _prefix(number + 1), KEPT)]:
        writer.delete(META, key)


def undo(writer: Writer, number: int, unpatched: bytes, wanted: bytes) -> None:
    """Forget the last patches of a block, until its state has the root `wanted`; one it never had: none."""
    roots = [unpatched, *(patch.state_root for patch in patches(writer, number))]
    if wanted in roots:
        kept = len(roots) - 1 - roots[::-1].index(wanted)
        for index in range(kept, len(roots) - 1):
            writer.delete(META, _prefix(number) + _INDEX.pack(index))


def is_key(key: bytes) -> bool:
    """Return whether a key of the table is that of a patch."""
    return key.startswith(PREFIX) and len(key) == len(_prefix(0)) + _INDEX.size


def _prefix(number: int) -> bytes:
    return PREFIX + number_key(number)
