"""Values from stored rows; the engine defines the form of the rows."""

from typing import TypeAlias

from wsnode._native.chain import (
    CorruptRowError,
    Header,
    block_rlp,
    header_fields,
    log_count,
    log_entries,
    log_values,
    ommer_hashes,
    transaction_count,
    transaction_hashes,
    transaction_parties,
)

__all__ = [
    "CorruptRowError",
    "Header",
    "Row",
    "Rows",
    "block_rlp",
    "header_fields",
    "log_count",
    "log_entries",
    "log_values",
    "ommer_hashes",
    "transaction_count",
    "transaction_hashes",
    "transaction_parties",
]

Row: TypeAlias = bytes | memoryview
"""Row as the store returns it: a copy, or a view that is valid as long as the snapshot."""

Rows: TypeAlias = tuple[bytes, bytes]
"""A block's header row and body row."""
