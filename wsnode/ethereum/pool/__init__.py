"""Transactions that wait for a block: which are let in, in which order they come, which have to go."""
