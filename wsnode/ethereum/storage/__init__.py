"""The tables of an EVM chain's store."""
