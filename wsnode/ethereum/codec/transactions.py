"""Transactions that no block holds yet: read, held to the rules that need no state, and shown."""

from wsnode._native import PooledTransaction, check_transaction, render_pooled_transaction

__all__ = ["PooledTransaction", "check_transaction", "render_pooled_transaction"]
