"""Ethereum's values: hashes, addresses, quantities, block tags."""
