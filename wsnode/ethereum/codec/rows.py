"""Values out of stored rows; the engine owns the form of the rows."""

from typing import TypeAlias

from wsnode._native import (
    CorruptRowError,
    Header,
    block_rlp,
    header_fields,
    holds_transaction,
    log_count,
    log_entries,
    log_values,
    ommer_hashes,
    transaction_count,
    transaction_hashes,
)

__all__ = [
    "CorruptRowError",
    "Header",
    "Row",
    "block_rlp",
    "header_fields",
    "holds_transaction",
    "log_count",
    "log_entries",
    "log_values",
    "ommer_hashes",
    "transaction_count",
    "transaction_hashes",
]

Row: TypeAlias = bytes | memoryview
"""A row as the store hands it out: a copy, or a view that is good as long as the snapshot."""
