"""Blocks between their RLP, their rows and the engine's values."""

from wsnode._native.evm import (
    BuiltBlock,
    UnverifiedBlock,
    VerifiedBlock,
    block_from_rows,
    decode_blocks,
    encode_told_block,
    keccak256,
)

__all__ = [
    "BuiltBlock",
    "UnverifiedBlock",
    "VerifiedBlock",
    "block_from_rows",
    "decode_blocks",
    "encode_told_block",
    "keccak256",
]
