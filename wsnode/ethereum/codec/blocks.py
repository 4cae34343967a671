"""Blocks between their RLP, their rows and the engine's values."""

from wsnode._native.evm import (
    BuiltBlock,
    Payload,
    UnverifiedBlock,
    VerifiedBlock,
    arbos_fork,
    block_from_rows,
    decode_blocks,
    encode_json_block,
    encode_json_receipts,
    encode_proved_receipts,
    keccak256,
    read_json_header,
    verify_with_receipts,
)

__all__ = [
    "BuiltBlock",
    "Payload",
    "UnverifiedBlock",
    "VerifiedBlock",
    "arbos_fork",
    "block_from_rows",
    "decode_blocks",
    "encode_json_block",
    "encode_json_receipts",
    "encode_proved_receipts",
    "keccak256",
    "read_json_header",
    "verify_with_receipts",
]
