"""Addresses and hashes as people and clients write them."""

from wsnode._native.wire import are_hashes
from wsnode.ethereum.codec.blocks import keccak256

__all__ = ["are_hashes", "checksummed"]


def checksummed(address: bytes) -> str:
    """Return `0x` and 40 digits, upper-case where the address's hash has a high digit (EIP-55)."""
    digits = address.hex()
    marks = keccak256(digits.encode()).hex()
    letters = (digit.upper() if mark >= "8" else digit for digit, mark in zip(digits, marks, strict=False))
    return "0x" + "".join(letters)
