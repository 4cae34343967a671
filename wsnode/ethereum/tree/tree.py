"""Tree of blocks of one chain: verifies blocks on any known parent, and moves the head.

Blocks without room in memory are stored without their changes, and executed again when needed.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from wsnode.ethereum.appender import Appender, ExtendOutcome
from wsnode.ethereum.chain import Chain, FinalityMarks
from wsnode.ethereum.codec.blocks import BuiltBlock, UnverifiedBlock
from wsnode.ethereum.execution import PendingCommit
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import BlockAttributes, InvalidBlockError
from wsnode.ethereum.storage.errors import StoreError
from wsnode.ethereum.tree.side_blocks import Branch, KnownBlocks, SideBlock
from wsnode.ethereum.tree.statuses import (
    BelowFinalizedError,
    InvalidBlock,
    Status,
    UnknownForkchoiceBlockError,
    ValidBlock,
)
from wsnode.ethereum.tree.validator import BlockValidator

# A branch on the head becomes canonical in pieces, so that a long one does not fill memory.
_PIECE_BLOCKS: Final = 64
_PIECE_BYTES: Final = 1 << 23


class BlockTree(Appender):
    """All known blocks, and the head; for one thread at a time.

    `extend`, `take_pending` and `store` are the fast way for consecutive blocks on the head. Each other
    method stores the pending blocks first.
    """

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        self._judge = BlockValidator(chain)
        self._spilled: dict[Hash32, BlockNumber] = {}
        """Numbers of blocks stored because memory was full, by hash; they may still become canonical."""
        self.is_torn = False
        """True if a change failed half-way and what it made in memory has not been dropped yet."""

    def extend(
        self, blocks: Sequence[UnverifiedBlock], attributes: BlockAttributes | None = None
    ) -> ExtendOutcome:
        """Execute consecutive blocks on the head, as `Appender.extend`.

        Raises:
            StateError, StoreError: The store cannot be read; blocks that are not stored are dropped.
        """
        self._mend()
        with self._tearing():
            return super().extend(blocks, attributes)

    def take_pending(self) -> PendingCommit:
        """Return the change made by all executed blocks that are not stored.

        Raises:
            StateError: The state cannot be read; these blocks are dropped.
        """
        with self.whole():
            return super().take_pending()

    def store(self, pending: PendingCommit, marks: FinalityMarks | None = None) -> list[Head]:
        """Commit a change from `take_pending`, with the safe and finalized marks.

        Raises:
            StateError, StoreError: The change cannot be written; it and all that follow are dropped.
        """
        with self._tearing():
            return super().store(pending, marks)

    def judge(self, block: UnverifiedBlock) -> Status:
        """Execute a block on its parent and return its status; the head does not change.

        Raises:
            StateError, StoreError: A store cannot be read or written.
        """
        with self.whole():
            self._store_pending()
        with self.chain.snapshot() as view:
            status = self._judge.judge(view, block)
        self._spill()
        return status

    def append(self, block: UnverifiedBlock) -> Status:
        """Return the status of a block as `judge` does; a valid child of the head becomes the head.

        Raises:
            StateError, StoreError: As in `judge` and in `set_head`.
        """
        status = self.judge(block)
        if isinstance(status, ValidBlock) and block.parent_hash == self.head.hash:
            self.set_head(block.hash)
        return status

    def hold(self, block: UnverifiedBlock) -> Status:
        """Return the status of a block by its header alone; `set_head` executes it when needed.

        Raises:
            StoreError: The store cannot be read or written.
        """
        with self.whole():
            self._store_pending()
        with self.chain.snapshot() as view:
            status = self._judge.hold(view, block)
        self._spill()
        return status

    @property
    def candidates(self) -> Iterable[SideBlock]:
        return self._judge.candidates

    def header(self, block_hash: bytes) -> bytes | None:
        """Return the header row of a known block, canonical or not, None for any other.

        Raises:
            StoreError: The store cannot be read.
        """
        with self.chain.snapshot() as view:
            return KnownBlocks(view, self._judge.candidates).header(block_hash)

    def refusal(self, block_hash: bytes) -> InvalidBlock | None:
        """Return the error of a block known to be invalid, None for any other."""
        return self._judge.refused.get(block_hash)

    def store_side_block(self, block_hash: bytes) -> None:
        """Store a side block from memory, so that it survives the process."""
        candidate = self._judge.candidates.pop(block_hash)
        if candidate is not None:
            self.chain.store_side_block([(candidate.block, candidate.total_difficulty)])

    def set_head(
        self,
        block_hash: bytes,
        *,
        safe: bytes | None = None,
        finalized: bytes | None = None,
        keeps_final: bool = False,
    ) -> HeadChange | InvalidBlock:
        """Make a known block the head, and others safe and finalized; return the change.

        Marks that are not given stay, but never above the head. `InvalidBlock` means that nothing changed: a
        block on the branch, not executed before, is invalid. With `keeps_final` the finalized block stays
        canonical.

        Raises:
            UnknownForkchoiceBlockError: The head is unknown, or safe or finalized block are off its branch.
            BelowFinalizedError: The finalized block would leave the chain.
            StateError, StoreError: The change cannot be stored; the chain is unchanged.
        """
        wanted = Hash32(block_hash)
        with self.whole():
            self._store_pending()
        with self.chain.snapshot() as view:
            if (refused := self._judge.refusal(view, wanted)) is not None:
                return refused
            branch = KnownBlocks(view, self._judge.candidates).branch_to(wanted)
            if branch is None:
                raise UnknownForkchoiceBlockError("head", block_hash)
            if keeps_final and branch.root.number < (final := view.finalized or 0):
                raise BelowFinalizedError(branch.root.number, final)
            marks = _marks(view, branch, safe, finalized)
        with self.whole():
            change = self._switch(branch, marks)
        if marks.finalized is not None:
            self._forget_up_to(marks.finalized.number)
        return change

    def unwind(self, number: int, state_root: Hash32 | None = None) -> list[Head]:
        """Remove the blocks above `number` from the chain, and return them, highest first.

        With a state root, patches of that block's state are undone until the root matches.

        Raises:
            StateError, StoreError: Some of the blocks cannot be removed.
        """
        with self.whole():
            removed = self.chain.unwind(number, state_root)
            self.reset()
        return removed

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Make the change within the block atomic: after a failure all that was not committed is dropped.

        If that fails too, for instance on a failing disk, it is done before the next change.
        """
        self._mend()
        try:
            yield
        except BaseException:
            self.is_torn = True
            # A failure of this `_mend` is suppressed, because the next change repeats it and reports the
            # error.
            with suppress(Exception):
                self._mend()
            raise

    @contextmanager
    def _tearing(self) -> Iterator[None]:
        """Mark the tree as torn on a failure; the next change mends it. `extend` may run beside `store`."""
        try:
            yield
        except BaseException:
            self.is_torn = True
            raise

    def _mend(self) -> None:
        if self.is_torn:
            # The reset, which only reads, comes first: no reader may see a block that is not stored.
            self.reset()
            self.chain.discard()
            self.is_torn = False

    def _store_pending(self) -> None:
        if self.pending:
            self.store_pending()

    def _switch(self, branch: Branch, marks: FinalityMarks) -> HeadChange | InvalidBlock:
        is_above = branch.root == self.head
        if not is_above:
            self.rewind(branch.root)
        for place, block_hash in enumerate(branch.blocks):
            # Blocks that replace others are committed as one, so that no reader sees a part of them.
            if is_above and (len(self.pending) >= _PIECE_BLOCKS or self.pending_bytes >= _PIECE_BYTES):
                self._store_pending()
            error = self._put(block_hash)
            if error is not None:
                self._drop(branch)
                return self._refuse(branch, place, error)
        if not branch.blocks and is_above:
            self.chain.mark(marks)
        removed = self.store_pending(marks)
        self._forget_canonical(branch)
        added = [
            Head(BlockNumber(branch.root.number + place), each) for place, each in enumerate(branch.blocks, 1)
        ]
        return HeadChange(tuple(removed), tuple(added))

    def _drop(self, branch: Branch) -> None:
        self.chain.discard()
        self.reset()
        if self.head.hash in branch.blocks:
            self.chain.unwind(branch.root.number)
            self.reset()

    def _forget_canonical(self, branch: Branch) -> None:
        """Drop the blocks of a branch from memory, where its blocks have become canonical."""
        for block_hash in branch.blocks:
            self._judge.candidates.pop(block_hash)
            self._spilled.pop(block_hash, None)
        self._judge.candidates.rebase(frozenset[bytes](branch.blocks))

    def _put(self, block_hash: Hash32) -> InvalidBlockError | None:
        """Append a known block to the head, executing it if needed; return the broken rule, None if valid."""
        candidate = self._judge.candidates.get(block_hash)
        if candidate is not None and isinstance(candidate.block, BuiltBlock):
            self.accept(candidate.block)
            return None
        with self.chain.snapshot() as view:
            block = KnownBlocks(view, self._judge.candidates).unverified(block_hash)
        return self.extend([block]).error

    def _refuse(self, branch: Branch, place: int, error: InvalidBlockError) -> InvalidBlock:
        latest_valid = branch.blocks[place - 1] if place else branch.root.hash
        invalid = InvalidBlock(latest_valid, error)
        for block_hash in branch.blocks[place:]:
            self._judge.forget(block_hash, invalid)
        self.chain.forget(branch.blocks[place:])
        return invalid

    def _spill(self) -> None:
        """Store the blocks for which memory has no room."""
        evicted = self._judge.candidates.evict()
        if evicted:
            self.chain.store_side_block([(each.block, each.total_difficulty) for each in evicted])
            self._spilled |= {each.head.hash: each.head.number for each in evicted}

    def _forget_up_to(self, number: int) -> None:
        """Drop the blocks that can no longer become canonical, except former canonical ones."""
        self._judge.candidates.forget_up_to(number)
        past = [block_hash for block_hash, spilled in self._spilled.items() if spilled <= number]
        with self.chain.snapshot() as view:
            useless = [each for each in past if view.side_receipts(each) is None]
        # The head has already moved, so a failed deletion is no error of this change; the next final block is
        # another chance to delete the blocks.
        with suppress(StoreError):
            if useless:
                self.chain.forget(useless)
            for block_hash in past:
                del self._spilled[block_hash]


def _marks(view: Snapshot, branch: Branch, safe: bytes | None, finalized: bytes | None) -> FinalityMarks:
    return FinalityMarks(_on(view, branch, "safe", safe), _on(view, branch, "finalized", finalized))


def _on(view: Snapshot, branch: Branch, name: str, block_hash: bytes | None) -> Head | None:
    """Return the block with this hash on a branch or below it, None for None.

    Raises:
        UnknownForkchoiceBlockError: No such block is on the branch or below it.
    """
    if block_hash is None:
        return None
    if block_hash in branch.blocks:
        place = branch.blocks.index(Hash32(block_hash)) + 1
        return Head(BlockNumber(branch.root.number + place), Hash32(block_hash))
    number = view.number_of(block_hash)
    if number is None or number > branch.root.number:
        raise UnknownForkchoiceBlockError(name, block_hash)
    return Head(number, Hash32(block_hash))
