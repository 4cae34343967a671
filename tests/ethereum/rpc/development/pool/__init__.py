"""Transactions that a development chain takes where other pools refuse them."""
