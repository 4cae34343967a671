"""The engine's hashes and tries: the one module of this family that imports the engine."""

from wsnode._native.starknet import (
    StarknetTries,
    cairo0_class_hash,
    sierra_class_hash,
    starknet_diff_commitment,
)

__all__ = ["StarknetTries", "cairo0_class_hash", "sierra_class_hash", "starknet_diff_commitment"]
