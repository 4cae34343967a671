"""Blocks whose ancestors are not known yet, bounded in number and bytes."""

from typing import Final

from wsnode.ethereum.codec.blocks import UnverifiedBlock

MOST_BLOCKS: Final = 512
MOST_BYTES: Final = 64 << 20


class OrphanBlocks:
    """Blocks by hash, in the order of arrival; the oldest are dropped first."""

    def __init__(self) -> None:
        self._blocks: dict[bytes, UnverifiedBlock] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._blocks)

    def add(self, block: UnverifiedBlock) -> None:
        """Keep a block."""
        self.pop(block.hash)
        self._blocks[block.hash] = block
        self._bytes += _size(block)
        while len(self._blocks) > MOST_BLOCKS or self._bytes > MOST_BYTES:
            self.pop(next(iter(self._blocks)))

    def get(self, block_hash: bytes) -> UnverifiedBlock | None:
        """Return a waiting block, None if it does not wait."""
        return self._blocks.get(block_hash)

    def pop(self, block_hash: bytes) -> None:
        """Remove a block, if it waits."""
        block = self._blocks.pop(block_hash, None)
        if block is not None:
            self._bytes -= _size(block)

    def line_to(self, block: UnverifiedBlock) -> list[UnverifiedBlock]:
        """Return a block preceded by its waiting ancestors, lowest first."""
        line = [block]
        while (below := self._blocks.get(line[-1].parent_hash)) is not None:
            line.append(below)
        return line[::-1]


def _size(block: UnverifiedBlock) -> int:
    # Its rows, and as much again for what they were decoded into.
    return 2 * (len(block.header) + len(block.body))
