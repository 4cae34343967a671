"""Tables of a chain in the engine: their names, appending and removing of blocks, and search of logs."""

from typing import Final

from wsnode._native.chain import (
    TABLES,
    LogCriteria,
    append_blocks,
    blocks_of_logs,
    chain_totals,
    find_transaction,
    locate_logs,
    logs_before,
    prepend_block,
    remove_first_block,
    remove_last_block,
)

__all__ = [
    "ITSELF",
    "TABLES",
    "LogCriteria",
    "append_blocks",
    "blocks_of_logs",
    "chain_totals",
    "find_transaction",
    "locate_logs",
    "logs_before",
    "prepend_block",
    "remove_first_block",
    "remove_last_block",
]

ITSELF: Final = bytes(4)
"""Key for `locate_logs`: with these positions it returns the log of the given number alone."""
