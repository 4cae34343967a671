"""A chain's tables as the engine keeps them: their names, both ends of the chain, and where its logs lie."""

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
"""The positions by which `locate_logs` finds the log of the number that it is given, and no other."""
