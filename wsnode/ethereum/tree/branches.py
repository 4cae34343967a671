"""Known blocks, in memory or stored, canonical or not, and the branch to each."""

from collections.abc import Iterator

import msgspec

from wsnode.ethereum.appender import ANCESTORS, BlockRows
from wsnode.ethereum.codec.blocks import UnverifiedBlock, block_from_rows
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.tree.side_blocks import SideBlock, SideBlocks


class Branch(msgspec.Struct, frozen=True):
    """Branch to a block: the last canonical block on it, and the blocks after that, lowest first."""

    root: Head
    blocks: tuple[Hash32, ...]


class KnownBlocks:
    """Blocks in a snapshot and in memory."""

    def __init__(self, view: Snapshot, candidates: SideBlocks) -> None:
        self._view = view
        self._candidates = candidates

    def branch_to(self, block_hash: bytes) -> Branch | None:
        """Return the branch to a block, None if the block is unknown."""
        blocks: list[Hash32] = []
        wanted = Hash32(block_hash)
        while (number := self._view.number_of(wanted)) is None:
            parent = self.parent_hash(wanted)
            if parent is None:
                return None
            blocks.append(wanted)
            wanted = parent
        return Branch(Head(number, wanted), tuple(reversed(blocks)))

    def parent_hash(self, block_hash: Hash32) -> Hash32 | None:
        """Return the parent hash of a block that is not canonical, None if the block is unknown."""
        candidate = self._candidates.get(block_hash)
        if candidate is not None:
            return Hash32(candidate.block.parent_hash)
        header = self._view.side_header(block_hash)
        return None if header is None else self._view.parent_hash(header)

    def total_difficulty(self, block_hash: bytes) -> int | None:
        if (candidate := self._candidates.get(block_hash)) is not None:
            return candidate.total_difficulty
        return self._view.total_difficulty_of(block_hash)

    def header(self, block_hash: bytes) -> bytes | None:
        if (number := self._view.number_of(block_hash)) is not None:
            return self._view.header(number)
        candidate = self._candidates.get(block_hash)
        return self._view.side_header(block_hash) if candidate is None else candidate.block.header

    def rows(self, block_hash: bytes) -> BlockRows | None:
        candidate = self._candidates.get(block_hash)
        return self._view.block_rows(block_hash) if candidate is None else candidate.rows

    def ancestors(self, block_hash: bytes) -> list[BlockRows]:
        """Return the rows of a block and of its ancestors, as far down as its child's ommers may refer."""
        return list(self._ancestors(block_hash))

    def executed(self, block_hash: Hash32) -> SideBlock | None:
        """Return an executed block whose state can still be read, None for any other.

        A light folder has no states: there a verified block stays so, whatever left the chain.
        """
        candidate = self._candidates.get(block_hash)
        if candidate is None or candidate.root is None:
            return None
        if self._view.is_light:
            return candidate
        return candidate if self._view.number_of(candidate.root.hash) is not None else None

    def unverified(self, block_hash: Hash32) -> UnverifiedBlock:
        """Return a known block, to be executed."""
        candidate = self._candidates.get(block_hash)
        if candidate is not None and isinstance(candidate.block, UnverifiedBlock):
            return candidate.block
        rows = self.rows(block_hash)
        assert rows is not None, "a branch leads over known blocks"
        return block_from_rows(self._view.spec, *rows)

    def _ancestors(self, block_hash: bytes) -> Iterator[BlockRows]:
        wanted = block_hash
        for _ in range(ANCESTORS):
            rows = self.rows(wanted)
            if rows is None:
                return
            yield rows
            wanted = self._view.parent_hash(rows[0])
