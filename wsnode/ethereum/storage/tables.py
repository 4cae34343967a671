"""The tables of the chain store and the form of their keys; `docs/reference/storage.md` describes each."""

import struct
from collections.abc import Callable
from typing import Final

from wsnode.ethereum.codec.chain_tables import TABLES as NAMES
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.store.table import Table

SCHEMA_VERSION: Final = 4
"""Of full folders with all blocks; rows of versions 1 to 3 have no checksums."""
LIGHT_SCHEMA_VERSION: Final = 5
"""Of light folders, which begin above their genesis block."""
WINDOW_SCHEMA_VERSION: Final = 6
"""Of full folders that keep a window of blocks, and do not have their genesis block for ever."""

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
) = TABLES

_NUMBER = struct.Struct(">Q")

number_key: Final[Callable[[int], bytes]] = _NUMBER.pack
"""Returns the key of a block or log number: big-endian, so that key order is numeric order."""


def number_from(key: bytes) -> BlockNumber:
    """Return the number that a key of eight bytes stands for."""
    return BlockNumber(_NUMBER.unpack(key)[0])
