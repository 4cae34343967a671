"""The tables of the chain store and the form of their keys; `docs/storage.md` describes each."""

import struct
from collections.abc import Callable
from typing import Final

from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.store.table import Table

SCHEMA_VERSION: Final = 1

META: Final = Table("meta")
HEADERS: Final = Table("headers")
BODIES: Final = Table("bodies")
RECEIPTS: Final = Table("receipts")
TOTALS: Final = Table("totals")
NUMBERS: Final = Table("numbers")
TRANSACTIONS: Final = Table("transactions")
LOG_BLOCKS: Final = Table("log_blocks")
LOG_INDEX: Final = Table("log_index")
SIDE_BLOCKS: Final = Table("side_blocks")

TABLES: Final = (
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
)

_NUMBER = struct.Struct(">Q")

number_key: Final[Callable[[int], bytes]] = _NUMBER.pack
"""Returns the key of a block or log number: big-endian, so that key order is numeric order."""


def number_from(key: bytes) -> BlockNumber:
    """Return the number that a key of eight bytes stands for."""
    return BlockNumber(_NUMBER.unpack(key)[0])
