"""The tables of an EVM chain in the chain store."""
