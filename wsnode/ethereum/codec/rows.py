"""Values out of stored rows; the engine owns the form of the rows."""

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
