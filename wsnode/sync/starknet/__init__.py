"""Starknet chains of other nodes: blocks fetched by hash, proved by their hashes, and made the head."""
