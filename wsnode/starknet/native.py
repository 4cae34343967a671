"""The hashes and tries of the engine: the one place of this family that imports it."""

from wsnode._native.starknet import (
    StarknetTries,
    cairo0_class_hash,
    sierra_class_hash,
    starknet_diff_commitment,
)

__all__ = ["StarknetTries", "cairo0_class_hash", "sierra_class_hash", "starknet_diff_commitment"]
