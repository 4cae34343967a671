"""The engine's hashes and tries: the one module of this family that imports the engine."""

from wsnode._native.starknet import (
    RefusedBlockError,
    StarknetBlockProof,
    StarknetTries,
    cairo0_class_hash,
    sierra_class_hash,
    starknet_diff_commitment,
    verify_starknet_block,
)

__all__ = [
    "RefusedBlockError",
    "StarknetBlockProof",
    "StarknetTries",
    "cairo0_class_hash",
    "sierra_class_hash",
    "starknet_diff_commitment",
    "verify_starknet_block",
]
