"""The growing end of a chain: verified blocks that are not committed yet, and how they are."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Final

import msgspec

from wsnode.ethereum.chain import Chain, FinalityMarks
from wsnode.ethereum.codec.blocks import BuiltBlock, UnverifiedBlock, VerifiedBlock, block_from_rows
from wsnode.ethereum.head import Head
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import BlockAttributes, InvalidBlockError

# An ommer may be six generations old, and its own parent is one more.
ANCESTORS: Final = 7

BlockRows = tuple[bytes, bytes]


class ExtendOutcome(msgspec.Struct, frozen=True):
    """The first `taken` blocks of a run are done; `error` is that of the next block."""

    taken: int
    error: InvalidBlockError | None


class Appender:
    """Executes blocks on top of the head, for one thread at a time; `store` may run beside `extend`."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.reset()

    def reset(self) -> None:
        """Begin at the committed head, with nothing pending."""
        with self.chain.snapshot() as snapshot:
            self.head = snapshot.head
            self._total_difficulty = snapshot.total_difficulty(snapshot.number)
            self._recent: deque[BlockRows] = deque(recent_rows(snapshot), maxlen=ANCESTORS)
        self.pending: list[VerifiedBlock] = []
        self.pending_bytes = 0
        self._storing: frozenset[bytes] = frozenset()
        self._hashes: set[bytes] = set()

    @property
    def tip(self) -> BlockRows:
        """Return the rows of the head, committed or not."""
        return self._recent[0]

    def extend(
        self, blocks: Sequence[UnverifiedBlock], attributes: BlockAttributes | None = None
    ) -> ExtendOutcome:
        """Execute blocks that follow the head, pass over known ones, stop at the first of another branch.

        With `attributes` the first one has the gas limit and the base fee that its maker chose.
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
        """Put a block that is executed already on the head."""
        self.chain.executor.accept(block)
        self._follow([block])

    def accept_made(self, block: BuiltBlock, attributes: BlockAttributes) -> None:
        """Put a block on the head that `State.build_next` has made with these attributes.

        It is held against every rule that can be checked without another execution.

        Raises:
            InvalidBlockError: It breaks one; its maker has a bug.
        """
        made = block_from_rows(self.chain.spec, block.header, block.body)
        error = self.chain.state.verify_header(
            made, list(self._recent), total_difficulty=self._total_difficulty, attributes=attributes
        )
        if error is not None:
            raise error
        self.accept(block)

    def take_pending(self) -> list[VerifiedBlock]:
        """Commit the state of all executed blocks and return those that the chain store lacks."""
        blocks = self._taken()
        if blocks:
            self._commit_state()
        return blocks

    def store(self, blocks: Sequence[VerifiedBlock], marks: FinalityMarks | None = None) -> None:
        """Write the blocks from `take_pending`, with the safe and finalized marks."""
        if blocks:
            self.chain.append(blocks, marks)
        self._storing = frozenset()

    def store_pending(self, marks: FinalityMarks | None = None) -> None:
        """Commit the state of all executed blocks, and write their rows with the safe and finalized marks."""
        blocks = self._taken()
        if blocks and self.chain.durable:
            self._store_synced(blocks, marks)
        elif blocks:
            self._commit_state()
            self.chain.append(blocks, marks)
        self._storing = frozenset()

    def _store_synced(self, blocks: Sequence[VerifiedBlock], marks: FinalityMarks | None) -> None:
        """Commit both stores, and return once both are on the disk.

        The rows are prepared while the values of the state are synced, and committed once these can be read;
        meanwhile the state's new head is synced. That makes three syncs in a row of four.
        """
        executor = self.chain.executor
        with ThreadPoolExecutor(1) as beside:
            committed = beside.submit(executor.commit_whole)
            synced = beside.submit(executor.sync_now)
            self.chain.append(blocks, marks, committed.result)
            synced.result()

    def _taken(self) -> list[VerifiedBlock]:
        blocks, self.pending = self.pending, []
        if blocks:
            self.pending_bytes = 0
            self._storing = frozenset(self._hashes)
            self._hashes.clear()
        return blocks

    def _commit_state(self) -> None:
        self.chain.executor.commit(sync=self.chain.durable)

    def _execute(
        self, run: Sequence[UnverifiedBlock], attributes: BlockAttributes | None
    ) -> InvalidBlockError | None:
        execution = self.chain.executor.execute(
            run, list(self._recent), total_difficulty=self._total_difficulty, attributes=attributes
        )
        self._follow(execution.verified)
        return execution.error

    def _follow(self, blocks: Sequence[VerifiedBlock]) -> None:
        """Take note of blocks that the state was given."""
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
    """Return the rows of a stored block, the head by default, and of some before it, nearest first."""
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
