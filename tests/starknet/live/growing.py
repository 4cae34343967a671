"""A chain of empty blocks that grows, is taken back and grows another way, and beside it the model of it."""

import hashlib
from collections.abc import Callable
from typing import Any

from wsnode.starknet.block import StarknetHeader, StateDiff, VerifiedStarknetBlock
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.felt import ZERO
from wsnode.starknet.storage.tables import DROPPED

Place = tuple[int, bytes]
"""A block's number and hash."""


def no_body(_place: Place) -> None:
    """Return no transactions."""


class GrowingChain:
    """The store, and the places of the blocks that it must hold."""

    def __init__(self, chain: StarknetChain) -> None:
        self.chain = chain
        self.blocks: list[Place] = []
        self._made = 0
        self.more: dict[str, Any] = {}
        """Further members of the headers to come."""
        self.make_body: Callable[[Place], bytes | None] = no_body
        """Returns the transactions of a block to come, as they are stored."""

    def grow(self, count: int = 1) -> None:
        """Add blocks; no two are equal."""
        self.reorganise(0, count)

    def reorganise(self, depth: int, count: int) -> None:
        """Replace the last `depth` blocks by `count` others, in one transaction."""
        del self.blocks[len(self.blocks) - depth :]
        new = [self._next() for _ in range(count)]
        self.chain.append(new, (), after=len(self.blocks) - count - 1)

    def shrink(self, depth: int) -> list[Place]:
        """Take blocks off the end; return them, lowest first."""
        dropped = self.blocks[len(self.blocks) - depth :]
        del self.blocks[len(self.blocks) - depth :]
        self.chain.append((), (), after=len(self.blocks) - 1)
        return dropped

    def return_to(self, branch: list[Place]) -> None:
        """Put blocks that `shrink` took off back on the chain."""
        self.chain.append([self._block(number, block_hash) for number, block_hash in branch], ())

    def forget(self, place: Place) -> None:
        """Lose what is known of a block that was taken back."""
        self.chain.store.write(lambda writer: writer.delete(DROPPED, place[1]))

    def clear(self) -> None:
        """Begin again without a block."""
        self.shrink(len(self.blocks))

    def _next(self) -> VerifiedStarknetBlock:
        self._made += 1
        digest = hashlib.sha256(self._made.to_bytes(8, "big")).digest()
        return self._block(len(self.blocks), b"\x00" + digest[1:])

    def _block(self, number: int, block_hash: bytes) -> VerifiedStarknetBlock:
        parent = self.blocks[-1][1] if self.blocks else ZERO
        self.blocks.append((number, block_hash))
        header = StarknetHeader(
            hash=block_hash,
            number=number,
            parent_hash=parent,
            timestamp=1_700_000_000 + number,
            more=self.more,
        )
        return VerifiedStarknetBlock(
            number=number,
            header=header,
            old_root=ZERO,
            new_root=ZERO,
            diff=StateDiff(),
            body=self.make_body((number, block_hash)),
        )
