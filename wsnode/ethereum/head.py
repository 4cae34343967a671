"""Head of the canonical chain, and changes of it."""

from typing import Protocol, Self

import msgspec

from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal


class Block(Protocol):
    """Object with a block's number and hash: a block, or the fields of its header."""

    @property
    def number(self) -> int: ...

    @property
    def hash(self) -> bytes: ...


class Head(msgspec.Struct, frozen=True):
    """Number and hash of a block."""

    number: BlockNumber
    hash: Hash32

    @classmethod
    def of(cls, block: Block) -> Self:
        return cls(BlockNumber(block.number), Hash32(block.hash))

    def members(self) -> dict[str, str]:
        return {"number": hex(self.number), "hash": hexadecimal(self.hash)}

    def __str__(self) -> str:
        return f"{self.number} {hexadecimal(self.hash)}"


class HeadChange(msgspec.Struct, frozen=True):
    """Change of the canonical chain: blocks removed, highest first, and blocks added, lowest first."""

    removed: tuple[Head, ...]
    added: tuple[Head, ...]
