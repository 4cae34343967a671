"""Validation of blocks beside the head: side blocks in memory, errors of invalid blocks, and execution.

The changes of executed blocks stay in memory, so that making one of them the head writes them and executes
nothing again.
"""

from typing import Final, TypeAlias

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import BuiltBlock, UnverifiedBlock
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import BoundError, InvalidBlockError
from wsnode.ethereum.tree.side_blocks import Branch, KnownBlocks, SideBlock, SideBlocks, executed, unexecuted
from wsnode.ethereum.tree.statuses import DeferredBlock, InvalidBlock, Status, UnknownParentBlock, ValidBlock

MAX_ABOVE: Final = 128
"""Blocks between one that is judged and the canonical chain: reads of the state search all of them."""
MAX_CHANGES: Final = 4 << 20
"""Bytes of the lists of the chain's changes above a branch; in memory they are 25 times as large."""

Tried: TypeAlias = SideBlock | InvalidBlock | DeferredBlock
MAX_REFUSED: Final = 4096
"""Maximum number of invalid blocks that are remembered, a kilobyte each at most; those used last are kept."""


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
        self._blocks.pop(Hash32(block_hash), None)
        self._blocks[Hash32(block_hash)] = invalid
        if len(self._blocks) > MAX_REFUSED:
            del self._blocks[next(iter(self._blocks))]
        return invalid


class BlockValidator:
    """Validator of blocks of a chain: executes them, and keeps the valid ones in memory as side blocks, the
    invalid ones with their errors.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self.candidates = SideBlocks()
        self.refused = InvalidBlocks()

    def judge(self, view: Snapshot, block: UnverifiedBlock) -> Status:
        if (found := self._known(view, block)) is not None:
            return found
        blocks = KnownBlocks(view, self.candidates)
        branch = blocks.branch_to(block.parent_hash)
        if branch is None:
            return _unknown_parent(block)
        tried = self._execute(blocks, branch, block, view)
        return ValidBlock(tried.head) if isinstance(tried, SideBlock) else tried

    def hold(self, view: Snapshot, block: UnverifiedBlock) -> Status:
        """Return the status of a block without executing it: its known status, or that of its header.

        A block with a valid header is kept as a candidate for the head.
        """
        if (found := self._known(view, block)) is not None:
            return found
        blocks = KnownBlocks(view, self.candidates)
        total = blocks.total_difficulty(block.parent_hash)
        return _unknown_parent(block) if total is None else self._accept(blocks, block, total)

    def refusal(self, view: Snapshot, block_hash: Hash32) -> InvalidBlock | None:
        """Return the known error of a block or of one below it, None without one."""
        blocks = KnownBlocks(view, self.candidates)
        wanted: Hash32 | None = block_hash
        while wanted is not None and view.number_of(wanted) is None:
            if (refused := self.refused.get(wanted)) is not None:
                return self.refused.add(block_hash, refused)
            wanted = blocks.parent_hash(wanted)
        return None

    def _refuse(self, block: UnverifiedBlock, error: InvalidBlockError) -> InvalidBlock:
        invalid = InvalidBlock(Hash32(block.parent_hash), error)
        if not block.has_own_body:
            # The sender of a wrong body must not cause the block with this hash to be refused.
            return invalid
        return self.forget(Hash32(block.hash), invalid)

    def forget(self, block_hash: Hash32, invalid: InvalidBlock) -> InvalidBlock:
        """Keep only the error of a block, and drop the rest."""
        self.candidates.pop(block_hash)
        return self.refused.add(block_hash, invalid)

    def _known(self, view: Snapshot, block: UnverifiedBlock) -> Status | None:
        """Return the status of a block, None if only its execution can show it."""
        if (refused := self.refused.get(block.hash)) is not None:
            return refused
        if (refused := self.refused.get(block.parent_hash)) is not None:
            return self.refused.add(block.hash, refused)
        candidate = self.candidates.get(block.hash)
        is_valid = (
            view.number_of(block.hash) is not None
            or (candidate is not None and candidate.root is not None)
            # A side block that is stored with receipts was canonical once.
            or view.side_receipts(block.hash) is not None
        )
        return ValidBlock(Head.of(block)) if is_valid else None

    def _execute(self, blocks: KnownBlocks, branch: Branch, block: UnverifiedBlock, view: Snapshot) -> Tried:
        """Execute the unexecuted blocks of a branch, and the block after it."""
        base: SideBlock | None = None
        for block_hash in branch.blocks:
            tried: Tried | None = blocks.executed(block_hash)
            if tried is None:
                tried = self._try(blocks, branch, base, blocks.unverified(block_hash), view)
            if isinstance(tried, InvalidBlock):
                return self.refused.add(Hash32(block.hash), tried)
            if isinstance(tried, DeferredBlock):
                total = blocks.total_difficulty(block.parent_hash)
                assert total is not None, "a branch leads to the parent"
                return self._accept(blocks, block, total)
            base = tried
        return self._try(blocks, branch, base, block, view)

    def _try(
        self,
        blocks: KnownBlocks,
        branch: Branch,
        base: SideBlock | None,
        block: UnverifiedBlock,
        view: Snapshot,
    ) -> Tried:
        """Execute a block after `base`, without one after the root of its branch."""
        root = branch.root if base is None or base.root is None else base.root
        total = blocks.total_difficulty(block.parent_hash)
        assert total is not None, "a branch leads to the parent"
        if block.number - root.number > MAX_ABOVE:
            return self._accept(blocks, block, total)
        try:
            tried = self._chain.executor.try_block(
                block,
                _parent(base, root),
                blocks.ancestors(block.parent_hash),
                total_difficulty=total,
                **({} if root.hash == view.head.hash else {"changes": MAX_CHANGES}),
            )
        except BoundError:
            return self._accept(blocks, block, total)
        if isinstance(tried, InvalidBlockError):
            return self._refuse(block, tried)
        candidate = executed(tried, root, total + block.difficulty)
        self.candidates.add(candidate)
        return candidate

    def _accept(
        self, blocks: KnownBlocks, block: UnverifiedBlock, total: int
    ) -> DeferredBlock | InvalidBlock:
        """Check a block's header, and keep the block if that is right; `total` is up to its parent."""
        ancestors = blocks.ancestors(block.parent_hash)
        error = self._chain.executor.verify_header(block, ancestors, total_difficulty=total)
        if error is not None:
            return self._refuse(block, error)
        self.candidates.add(unexecuted(block, total + block.difficulty))
        return DeferredBlock(Head.of(block))


def _parent(base: SideBlock | None, root: Head) -> BuiltBlock | tuple[int, bytes]:
    if base is None:
        return root.number, root.hash
    assert isinstance(base.block, BuiltBlock), "the base was executed"
    return base.block


def _unknown_parent(block: UnverifiedBlock) -> UnknownParentBlock:
    return UnknownParentBlock(BlockNumber(block.number), Hash32(block.hash), Hash32(block.parent_hash))
