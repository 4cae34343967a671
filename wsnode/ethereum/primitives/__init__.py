"""Ethereum's values: hashes, addresses, block numbers."""
