"""Blocks between their RLP, their rows and the engine's values."""

from wsnode._native.evm import (
    BuiltBlock,
    Payload,
    UnverifiedBlock,
    VerifiedBlock,
    block_from_rows,
    decode_blocks,
    encode_proved_receipts,
    encode_told_block,
    encode_told_receipts,
    keccak256,
    read_told_header,
    verify_told_block,
)

__all__ = [
    "BuiltBlock",
    "Payload",
    "UnverifiedBlock",
    "VerifiedBlock",
    "block_from_rows",
    "decode_blocks",
    "encode_proved_receipts",
    "encode_told_block",
    "encode_told_receipts",
    "keccak256",
    "read_told_header",
    "verify_told_block",
]
