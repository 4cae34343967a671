"""Tables of a chain's store and the form of their keys; `docs/reference/storage.md` describes each."""

import struct
from collections.abc import Callable
from typing import Final

from wsnode.ethereum.codec.chain_tables import TABLES as NAMES
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.store.table import Table

SCHEMA_VERSION: Final = 7
"""Schema version of full folders with all blocks.

Up to version 6 the state was in a store of its own, and up to version 3 rows had no checksums.
"""
LIGHT_SCHEMA_VERSION: Final = 8
"""Schema version of light folders, which begin above their genesis block."""
WINDOW_SCHEMA_VERSION: Final = 9
"""Schema version of full folders with a window of blocks; their genesis block is pruned in time."""

TABLES: Final = tuple(map(Table, NAMES))
(
    META,
    HEADERS,
    BODIES,
    RECEIPTS,
    TOTALS,
    NUMBERS,
    TRANSACTIONS,
    LOG_BLOCKS,
    LOG_INDEX,
    SIDE_BLOCKS,
    ACCESS_LISTS,
    *STATE_TABLES,
) = TABLES

_NUMBER = struct.Struct(">Q")

number_key: Final[Callable[[int], bytes]] = _NUMBER.pack
"""Function that returns the key of a block or log number: 8 bytes big-endian, so key order is numeric."""


def number_from(key: bytes) -> BlockNumber:
    """Return the block or log number of a key of 8 bytes."""
    return BlockNumber(_NUMBER.unpack(key)[0])
