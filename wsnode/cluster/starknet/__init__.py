"""Blocks and classes of a Starknet chain as changes of a journal: read from a store, and decoded again."""
