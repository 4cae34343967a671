"""Side blocks in memory, bounded in number and bytes, and known blocks with the branch to each."""

from collections.abc import Container, Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from wsnode.ethereum.appender import ANCESTORS, BlockRows
from wsnode.ethereum.codec.blocks import BuiltBlock, UnverifiedBlock, block_from_rows
from wsnode.ethereum.codec.rows import Rows
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot

MAX_BLOCKS: Final = 1024
MAX_BYTES: Final = 64 << 20


class SideBlock(msgspec.Struct, frozen=True):
    """Block beside the canonical chain that could become its head: a `BuiltBlock` if executed, an
    `UnverifiedBlock` if only its header is verified.
    """

    block: BuiltBlock | UnverifiedBlock
    total_difficulty: int
    """Total difficulty, including the block's own."""
    size: int
    """Approximate bytes in memory."""
    root: Head | None = None
    """Last committed block below it at its execution, the base of its changes; None if not executed."""

    @property
    def head(self) -> Head:
        return Head.of(self.block)

    @property
    def rows(self) -> Rows:
        return self.block.header, self.block.body


def executed(block: BuiltBlock, root: Head, total_difficulty: int) -> SideBlock:
    """Return the side block of a valid, executed block."""
    return SideBlock(block, total_difficulty, block.size, root)


def unexecuted(block: UnverifiedBlock, total_difficulty: int) -> SideBlock:
    """Return the side block of a block with a valid header."""
    # The size is that of the block's rows, and as much again for the decoded block.
    return SideBlock(block, total_difficulty, 2 * (len(block.header) + len(block.body)))


class SideBlocks:
    """Side blocks in memory, by hash; beyond the bounds the least recently used ones are dropped."""

    def __init__(self) -> None:
        # The blocks are in the order of their last use. Each use of a block is followed by a use of its
        # ancestors, so the first block in this order is never an ancestor of another one.
        self._blocks: dict[Hash32, SideBlock] = {}
        self._bytes = 0

    def __iter__(self) -> Iterator[SideBlock]:
        return iter(self._blocks.values())

    def get(self, block_hash: bytes) -> SideBlock | None:
        return self._blocks.get(Hash32(block_hash))

    def add(self, candidate: SideBlock) -> None:
        self.pop(candidate.block.hash)
        self._blocks[candidate.head.hash] = candidate
        self._bytes += candidate.size
        self._use(candidate)

    def rebase(self, committed: Container[bytes]) -> None:
        """Set newly committed blocks as the base of the side blocks above them, and release older ones."""
        rebased: dict[bytes, SideBlock] = {}
        for candidate in sorted(self, key=lambda each: each.block.number):
            block, parent = candidate.block, candidate.block.parent_hash
            if not isinstance(block, BuiltBlock):
                continue
            if parent in committed:
                root = Head(BlockNumber(block.number - 1), Hash32(parent))
                rebased[block.hash] = replace(candidate, block=block.rebased(None), root=root)
            elif (below := rebased.get(parent)) is not None:
                assert isinstance(below.block, BuiltBlock), "only executed blocks are rebased"
                rebased[block.hash] = replace(candidate, block=block.rebased(below.block), root=below.root)
        for block_hash, candidate in rebased.items():
            # The assignment keeps the place of the key, so the order of use stays unchanged.
            self._blocks[Hash32(block_hash)] = candidate

    def pop(self, block_hash: bytes) -> SideBlock | None:
        candidate = self._blocks.pop(Hash32(block_hash), None)
        if candidate is not None:
            self._bytes -= candidate.size
        return candidate

    def evict(self) -> list[SideBlock]:
        """Remove the least recently used blocks beyond the bounds, and return them."""
        evicted: list[SideBlock] = []
        if len(self._blocks) > MAX_BLOCKS or self._bytes > MAX_BYTES:
            # Several blocks are evicted together, because the caller stores them in one transaction.
            blocks, size = MAX_BLOCKS * 7 // 8, MAX_BYTES * 7 // 8
            while len(self._blocks) > blocks or self._bytes > size:
                candidate = self.pop(next(iter(self._blocks)))
                assert candidate is not None
                evicted.append(candidate)
        return evicted

    def forget_up_to(self, number: int) -> None:
        for candidate in [each for each in self if each.block.number <= number]:
            self.pop(candidate.block.hash)

    def clear(self) -> None:
        self._blocks.clear()
        self._bytes = 0

    def _use(self, candidate: SideBlock) -> None:
        used: SideBlock | None = candidate
        while used is not None:
            self._blocks[used.head.hash] = self._blocks.pop(used.head.hash)
            used = self.get(used.block.parent_hash)


class Branch(msgspec.Struct, frozen=True):
    """Branch to a block: the last canonical block on it, and the blocks after that, lowest first."""

    root: Head
    blocks: tuple[Hash32, ...]


class KnownBlocks:
    """Look-ups of blocks by hash, stored in a snapshot or kept in memory as side blocks."""

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
