"""Hashes and tries of the engine; no other module of this family imports the engine."""

from wsnode._native.starknet import (
    RefusedBlockError,
    RefusedProofError,
    StarknetBlockProof,
    StarknetProvedState,
    StarknetTries,
    cairo0_class_hash,
    sierra_class_hash,
    starknet_diff_commitment,
    verify_starknet_block,
    verify_starknet_proof,
)

__all__ = [
    "RefusedBlockError",
    "RefusedProofError",
    "StarknetBlockProof",
    "StarknetProvedState",
    "StarknetTries",
    "cairo0_class_hash",
    "sierra_class_hash",
    "starknet_diff_commitment",
    "verify_starknet_block",
    "verify_starknet_proof",
]
