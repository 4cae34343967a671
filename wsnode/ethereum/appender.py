"""Append of verified blocks to a chain: they are executed first, and committed together later."""

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Final

import msgspec

from wsnode.ethereum.chain import Chain, FinalityMarks
from wsnode.ethereum.codec.blocks import BuiltBlock, UnverifiedBlock, VerifiedBlock, block_from_rows
from wsnode.ethereum.execution import PendingCommit
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import BlockAttributes, InvalidBlockError

# An ommer may be six generations old, and the ommer's parent is one generation older.
ANCESTORS: Final = 7

BlockRows = tuple[bytes, bytes]


class ExtendOutcome(msgspec.Struct, frozen=True):
    """Outcome of `extend` for consecutive blocks: the first `taken` blocks are executed or were already
    stored; `error` is the violation in the next one, None if there is none.
    """

    taken: int
    error: InvalidBlockError | None


class Appender:
    """Executor of consecutive blocks on a chain's head; it commits them in groups. For one thread at a time;
    only `store` may run beside `extend`.
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.reset()

    def reset(self) -> None:
        """Return to the committed head, without pending blocks."""
        with self.chain.snapshot() as snapshot:
            self.head = snapshot.head
            self._total_difficulty = snapshot.total_difficulty(snapshot.number)
            self._recent: deque[BlockRows] = deque(recent_rows(snapshot), maxlen=ANCESTORS)
        self.pending: list[VerifiedBlock] = []
        self.pending_bytes = 0
        self._root: BlockNumber | None = None
        self._state_root: Hash32 | None = None
        self._storing: frozenset[bytes] = frozenset()
        self._hashes: set[bytes] = set()

    @property
    def tip(self) -> BlockRows:
        """Return header row and body row of the head, committed or not."""
        return self._recent[0]

    def extend(
        self, blocks: Sequence[UnverifiedBlock], attributes: BlockAttributes | None = None
    ) -> ExtendOutcome:
        """Execute blocks that follow the head, skip known ones, and stop at the first of another branch.

        With `attributes`, the gas limit and base fee of the first block may be those chosen by its maker.
        """
        taken = 0
        while taken < len(blocks):
            if blocks[taken].parent_hash == self.head.hash:
                run = _linked(blocks, taken)
                error = self._execute(run, attributes)
                if error is not None:
                    return ExtendOutcome(taken, error)
                taken += len(run)
            elif self._is_known(blocks[taken].hash):
                taken += 1
            else:
                break
        return ExtendOutcome(taken, None)

    def accept(self, block: BuiltBlock) -> None:
        """Append a block that was executed already; it becomes the head."""
        self.chain.executor.accept(block)
        self._follow([block])

    def accept_made(self, block: BuiltBlock, attributes: BlockAttributes) -> None:
        """Append a block made by `State.build_next` with these attributes; it becomes the head.

        Its header is checked by every rule that needs no further execution.

        Raises:
            InvalidBlockError: The header breaks a rule, by a bug of the builder.
        """
        made = block_from_rows(self.chain.spec, block.header, block.body)
        error = self.chain.state.verify_header(
            made, list(self._recent), total_difficulty=self._total_difficulty, attributes=attributes
        )
        if error is not None:
            raise error
        self.accept(block)

    def take_pending(self) -> PendingCommit:
        """Return the change made by all pending blocks, for `store`; blocks may follow meanwhile.

        Raises:
            StateError: The state cannot be read.
        """
        blocks, self.pending = self.pending, []
        root, self._root = self._root, None
        state_root, self._state_root = self._state_root, None
        if blocks:
            self.pending_bytes = 0
            self._storing = frozenset(self._hashes)
            self._hashes.clear()
        change = self.chain.executor.stage() if blocks or root is not None else None
        return PendingCommit(blocks, change, root, state_root)

    def store(self, pending: PendingCommit, marks: FinalityMarks | None = None) -> list[Head]:
        """Commit a change from `take_pending` with the safe and finalized marks.

        Return the blocks that it removes from the chain, highest first.
        """
        removed = list[Head]()
        if pending.blocks or pending.root is not None:
            removed = self.chain.commit(pending, marks)
        self._storing = frozenset()
        return removed

    def store_pending(self, marks: FinalityMarks | None = None) -> list[Head]:
        """Commit all pending blocks with these marks.

        Returns the blocks that have left the chain thereby, highest first.
        """
        return self.store(self.take_pending(), marks)

    def rewind(self, head: Head, state_root: Hash32 | None = None) -> None:
        """Make a lower block the head; those above it leave the chain with the next commit.

        New blocks can then be appended to it. Pending blocks must be stored first.
        With a state root, patches of that block's state are undone until the root matches.

        Raises:
            StateError: The state after block `head` cannot be restored.
        """
        self.chain.rewind(head.number, state_root)
        with self.chain.snapshot() as snapshot:
            self.head = head
            self._total_difficulty = snapshot.total_difficulty(head.number)
            self._recent = deque(recent_rows(snapshot, head.hash), maxlen=ANCESTORS)
        self._root, self._state_root = head.number, state_root

    def _execute(
        self, run: Sequence[UnverifiedBlock], attributes: BlockAttributes | None
    ) -> InvalidBlockError | None:
        execution = self.chain.executor.execute(
            run, list(self._recent), total_difficulty=self._total_difficulty, attributes=attributes
        )
        self._follow(execution.verified)
        return execution.error

    def _follow(self, blocks: Sequence[VerifiedBlock]) -> None:
        for block in blocks:
            self._recent.appendleft((block.header, block.body))
            self._hashes.add(block.hash)
            self.pending_bytes += len(block.body) + len(block.receipts)
            self._total_difficulty += block.difficulty
            self.head = Head.of(block)
        self.pending += blocks

    def _is_known(self, block_hash: bytes) -> bool:
        if block_hash in self._hashes or block_hash in self._storing:
            return True
        with self.chain.snapshot() as snapshot:
            return snapshot.number_of(block_hash) is not None


def recent_rows(snapshot: Snapshot, block_hash: bytes | None = None) -> list[BlockRows]:
    """Return header and body rows of a stored block, the head by default, and its ancestors, nearest first.

    At most `ANCESTORS` blocks are returned.
    """
    rows: list[BlockRows] = []
    wanted = snapshot.head.hash if block_hash is None else block_hash
    while len(rows) < ANCESTORS and (found := snapshot.block_rows(wanted)) is not None:
        rows.append(found)
        wanted = snapshot.parent_hash(found[0])
    return rows


def _linked(blocks: Sequence[UnverifiedBlock], start: int) -> list[UnverifiedBlock]:
    run = [blocks[start]]
    for block in islice(blocks, start + 1, None):
        if block.parent_hash != run[-1].hash:
            break
        run.append(block)
    return run
