"""Hashes, addresses and block numbers as distinct types."""

from typing import NewType

BlockNumber = NewType("BlockNumber", int)


class Hash32(bytes):
    """32 bytes: the hash of a block, a transaction or code, a topic, a slot."""

    __slots__ = ()


class Address(bytes):
    """The 20 bytes of an account."""

    __slots__ = ()


def hexadecimal(content: bytes) -> str:
    """Return `0x` and two lower-case digits a byte."""
    return f"0x{content.hex()}"
