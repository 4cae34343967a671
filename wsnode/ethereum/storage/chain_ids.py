"""Chain ids of a development chain, each with the first block to have it."""

import struct
from collections.abc import Sequence
from typing import Final

from wsnode.ethereum.storage.errors import ChainIdsError
from wsnode.ethereum.storage.tables import META
from wsnode.store.environment import Reader, Writer

MAX_CHANGES: Final = 1000
"""Maximum number of changes of a chain's id: each change takes 16 bytes and rewrites all."""
_KEY: Final = b"chain_ids"
_CHANGE: Final = struct.Struct(">QQ")

ChainIds = list[tuple[int, int]]
"""Changes of the chain id, ascending: first block with the id, and the id."""


def chain_ids(reader: Reader) -> ChainIds:
    """Return all changes of the chain id, empty if it is still that of the genesis."""
    return list(_CHANGE.iter_unpack(bytes(reader.get(META, _KEY) or b"")))


def id_of(changes: Sequence[tuple[int, int]], first_id: int, number: int) -> int:
    """Return the chain id of block `number`; `first_id` is that of the genesis."""
    return next((given for first, given in reversed(changes) if first <= number), first_id)


def change(writer: Writer, first_block: int, chain_id: int) -> ChainIds:
    """Set the chain id of the blocks from `first_block` on, and return all changes.

    Raises:
        ChainIdsError: The id was changed `MAX_CHANGES` times before.
    """
    changes = _changed(chain_ids(writer), first_block, chain_id)
    if len(changes) > MAX_CHANGES:
        raise ChainIdsError(MAX_CHANGES)
    writer.put(META, _KEY, b"".join(_CHANGE.pack(*each) for each in changes))
    return changes


def unwound(reader: Reader, number: int) -> ChainIds:
    """Return all changes as `unwind` would leave them."""
    changes = chain_ids(reader)
    if changes and changes[-1][0] > number + 1:
        return _changed(changes, number + 1, changes[-1][1])
    return changes


def unwind(writer: Writer, number: int) -> ChainIds:
    """Make the last id begin at block `number` + 1 at the latest, after an unwind; return all changes."""
    changes = chain_ids(writer)
    if changes and changes[-1][0] > number + 1:
        return change(writer, number + 1, changes[-1][1])
    return changes


def _changed(changes: ChainIds, first_block: int, chain_id: int) -> ChainIds:
    kept = [each for each in changes if each[0] < first_block]
    return kept if kept and kept[-1][1] == chain_id else [*kept, (first_block, chain_id)]
