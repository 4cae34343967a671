"""The ids that a development chain has been given, each from a block on."""

import struct
from collections.abc import Sequence
from typing import Final

from wsnode.ethereum.storage.errors import ChainIdsError
from wsnode.ethereum.storage.tables import META
from wsnode.store.environment import Reader, Writer

MOST: Final = 1000
"""Changes of one chain: 16 bytes each, written again with each."""
_KEY: Final = b"chain_ids"
_CHANGE: Final = struct.Struct(">QQ")

ChainIds = list[tuple[int, int]]
"""The first block of each id after the genesis's, ascending, and the id."""


def chain_ids(reader: Reader) -> ChainIds:
    """Return the changes there were."""
    return list(_CHANGE.iter_unpack(bytes(reader.get(META, _KEY) or b"")))


def id_of(changes: Sequence[tuple[int, int]], first_id: int, number: int) -> int:
    """Return the id of a block, in a chain whose genesis has `first_id`."""
    return next((given for first, given in reversed(changes) if first <= number), first_id)


def change(writer: Writer, first_block: int, chain_id: int) -> ChainIds:
    """Have the blocks from one on be of another id, and return all changes.

    Raises:
        ChainIdsError: There were as many as can be kept.
    """
    changes = [kept for kept in chain_ids(writer) if kept[0] < first_block]
    if not changes or changes[-1][1] != chain_id:
        changes.append((first_block, chain_id))
    if len(changes) > MOST:
        raise ChainIdsError(MOST)
    writer.put(META, _KEY, b"".join(_CHANGE.pack(*each) for each in changes))
    return changes


def unwind(writer: Writer, number: int) -> ChainIds:
    """Keep the last id for the blocks after `number`, above which there are none; return all changes."""
    changes = chain_ids(writer)
    if changes and changes[-1][0] > number + 1:
        return change(writer, number + 1, changes[-1][1])
    return changes
