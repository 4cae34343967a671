"""The end of the canonical chain, and a change of it."""

import msgspec

from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal


class Head(msgspec.Struct, frozen=True):
    """A block by number and hash."""

    number: BlockNumber
    hash: Hash32

    def __str__(self) -> str:
        return f"{self.number} {hexadecimal(self.hash)}"


class HeadChange(msgspec.Struct, frozen=True):
    """The blocks that left the canonical chain, highest first, and those that joined it, lowest first."""

    removed: tuple[Head, ...]
    added: tuple[Head, ...]
