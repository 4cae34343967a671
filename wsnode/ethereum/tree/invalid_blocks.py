"""Invalid blocks, remembered for a while, since all their descendants are invalid too."""

from typing import Final

from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.tree.statuses import InvalidBlock

MOST_REFUSED: Final = 4096
"""Maximum number of blocks, a kilobyte each at most; those used last are kept."""


class InvalidBlocks:
    """Errors of invalid blocks by hash, in memory only."""

    def __init__(self) -> None:
        self._blocks: dict[Hash32, InvalidBlock] = {}

    def get(self, block_hash: bytes) -> InvalidBlock | None:
        """Return the error of a block known to be invalid, None for any other."""
        found = self._blocks.pop(Hash32(block_hash), None)
        if found is not None:
            self._blocks[Hash32(block_hash)] = found
        return found

    def add(self, block_hash: bytes, invalid: InvalidBlock) -> InvalidBlock:
        """Record the error of a block and return it."""
        self._blocks.pop(Hash32(block_hash), None)
        self._blocks[Hash32(block_hash)] = invalid
        if len(self._blocks) > MOST_REFUSED:
            del self._blocks[next(iter(self._blocks))]
        return invalid
