"""Import of a source's blocks: read, verified and stored; the last of them becomes safe and final.

Three threads run concurrently: one reads and decodes the next blocks (recovering senders on all cores), one
executes the present ones, and one writes the rows of the last ones. State is committed before rows.

Before the merge the branch with the most total difficulty is canonical, of equal ones the first seen. After
the merge a consensus client names the head; here the last block of the source takes its place. A branch block
is stored beside the chain only after it lost, or together with the switch to it. So each stored block has
been judged, and an interrupted import can be repeated.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec
import trio
from msgspec import structs

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock, decode_blocks
from wsnode.ethereum.codec.rlp import block_hash
from wsnode.ethereum.execution import PendingCommit
from wsnode.ethereum.head import Head
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import InvalidBlockError, StateError
from wsnode.ethereum.storage.errors import StoreError
from wsnode.ethereum.tree.statuses import InvalidBlock, Status, UnknownParentBlock
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.sync.errors import SourceError, UnknownParentError
from wsnode.sync.progress import ImportProgress, ProgressStep
from wsnode.sync.rlp_files import EncodedBlock, FilePosition, RlpFiles

COMMIT_BYTES: Final = 1 << 23
COMMIT_BLOCKS: Final = 4096
COMMIT_SECONDS: Final = 2.0


class ImportBatch(msgspec.Struct, frozen=True):
    """Blocks decoded from an import source, in order. `error` is that of the block after them, None without
    one, and `position` is the source's.
    """

    blocks: list[UnverifiedBlock]
    error: Exception | None
    position: FilePosition


async def import_files(chain: Chain, files: Sequence[str], progress: ImportProgress) -> Head:
    """Import files of RLP blocks (`-` is standard input) and return the new head, safe and final.

    Raises:
        SourceError, InvalidBlockError, UnknownParentError: At the source's first fault; blocks before it are
            committed.
    """
    with RlpFiles(files) as source:
        return await Importer(chain, source, progress).run()


class Importer:
    """Import of blocks from RLP files into a chain that is open for writing."""

    def __init__(
        self,
        chain: Chain,
        source: RlpFiles,
        progress: ImportProgress,
    ) -> None:
        self._chain = chain
        self._source = source
        self._progress = progress
        self._tree = BlockTree(chain)
        self._stored = trio.Event()
        self._stored.set()
        # False after a failed write: further rows may follow only rows that were written. The next opening
        # makes the stores agree.
        self._intact = True
        self._failure: Exception | None = None
        self._last_commit = trio.current_time()
        self._done = ProgressStep(number=chain.head.number)

    async def run(self) -> Head:
        """Import all blocks and return the new head; a cancelled import keeps the verified blocks."""
        async with trio.open_nursery() as nursery:
            sender, receiver = trio.open_memory_channel[ImportBatch](1)
            nursery.start_soon(self._read, sender)
            # Failures are carried out by hand, because the nursery would wrap them in a group.
            try:
                await self._take_all(receiver, nursery)
            except Exception as error:
                self._failure = self._failure or error
            finally:
                with trio.CancelScope(shield=True):
                    await self._finish()
            nursery.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure
        return self._chain.head

    async def _read(self, sender: "trio.MemorySendChannel[ImportBatch]") -> None:
        async with sender:
            # A pipe may stay silent for ever, so a cancelled import leaves its reader behind.
            read = partial(trio.to_thread.run_sync, self._next_batch, abandon_on_cancel=True)
            while (batch := await read()) is not None:
                await sender.send(batch)

    def _next_batch(self) -> ImportBatch | None:
        try:
            encoded = self._source.next_batch()
            if not encoded:
                return None
            blocks, error = self._decoded(encoded)
        except (SourceError, StoreError) as failure:
            blocks, error = [], failure
        return ImportBatch(blocks, error, self._source.position())

    def _decoded(self, encoded: Sequence[EncodedBlock]) -> tuple[list[UnverifiedBlock], Exception | None]:
        with self._chain.snapshot() as snapshot:
            # A header's hash is enough to skip blocks that an earlier import stored.
            new = [item for item in encoded if not _is_canonical(snapshot, item.encoded)]
        blocks, error = decode_blocks(self._chain.spec, [item.encoded for item in new])
        if error is not None:
            malformed = new[len(blocks)]
            error.add_note(f"{malformed.source}: byte {malformed.offset}")
        return blocks, error

    async def _take_all(
        self, receiver: "trio.MemoryReceiveChannel[ImportBatch]", nursery: trio.Nursery
    ) -> None:
        async for batch in receiver:
            await self._take(batch.blocks, nursery)
            self._done = structs.replace(
                self._done, bytes_read=batch.position.read, bytes_total=batch.position.whole
            )
            self._progress.advanced(self._done)
            if batch.error is not None:
                raise batch.error

    async def _take(self, blocks: Sequence[UnverifiedBlock], nursery: trio.Nursery) -> None:
        while blocks:
            extension = await trio.to_thread.run_sync(self._tree.extend, blocks)
            self._count(blocks[: extension.taken])
            if extension.error is not None:
                raise extension.error
            blocks = blocks[extension.taken :]
            if blocks or self._commit_is_due():
                await self._commit(nursery)
            if blocks:
                await self._take_branch_block(blocks[0])
                blocks = blocks[1:]

    async def _take_branch_block(self, block: UnverifiedBlock) -> None:
        await self._stored.wait()
        error = await trio.to_thread.run_sync(take_branch_block, self._tree, block)
        if error is not None:
            raise error
        self._count([block])

    def _count(self, blocks: Sequence[UnverifiedBlock]) -> None:
        done = self._done
        self._done = structs.replace(
            done,
            number=self._tree.head.number,
            blocks=done.blocks + len(blocks),
            transactions=done.transactions + sum(block.transaction_count for block in blocks),
            gas=done.gas + sum(block.gas_used for block in blocks),
        )

    def _commit_is_due(self) -> bool:
        return (
            self._tree.pending_bytes >= COMMIT_BYTES
            or len(self._tree.pending) >= COMMIT_BLOCKS
            or trio.current_time() - self._last_commit >= COMMIT_SECONDS
        )

    async def _commit(self, nursery: trio.Nursery) -> None:
        await self._stored.wait()
        if self._failure is not None:
            raise self._failure
        pending = await trio.to_thread.run_sync(self._tree.take_pending)
        self._stored = trio.Event()
        nursery.start_soon(self._store, pending)
        self._last_commit = trio.current_time()

    async def _store(self, pending: PendingCommit) -> None:
        self._intact = False
        try:
            # These blocks were verified, so a cancelled import stores them as well.
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(self._tree.store, pending)
            self._intact = True
        except (StateError, StoreError) as error:
            self._failure = self._failure or error
        finally:
            self._stored.set()

    async def _finish(self) -> None:
        """Commit the verified blocks, and make the head safe and final."""
        await self._stored.wait()
        try:
            if self._intact:
                await self._store(await trio.to_thread.run_sync(self._tree.take_pending))
            await trio.to_thread.run_sync(self._settle)
        except Exception as error:
            self._failure = self._failure or error

    def _settle(self) -> None:
        self._chain.mark_final(self._chain.head)
        self._chain.sync()


def _is_canonical(snapshot: Snapshot, encoded: bytes) -> bool:
    found = block_hash(encoded)
    return found is not None and snapshot.number_of(found) is not None


def take_branch_block(tree: BlockTree, block: UnverifiedBlock) -> InvalidBlockError | None:
    """Make the branch of a block beside the head canonical if it wins, else store the block beside the chain.

    Return the error of the block or of one of its ancestors, None if there is none.

    Raises:
        UnknownParentError: Its parent is unknown.
    """
    with tree.chain.snapshot() as view:
        if view.side_header(block.hash) is not None:
            return None
        wins = _wins(view, block)
    # Most side blocks never win, so a block that loses is not executed.
    status = tree.judge(block) if wins else tree.hold(block)
    if (error := _wrong(status, block)) is not None:
        return error
    if not wins:
        tree.store_side_block(block.hash)
        return None
    change = tree.set_head(block.hash)
    return change.error if isinstance(change, InvalidBlock) else None


def _wrong(status: Status, block: UnverifiedBlock) -> InvalidBlockError | None:
    if isinstance(status, UnknownParentBlock):
        raise UnknownParentError(block.number, block.hash, block.parent_hash)
    return status.error if isinstance(status, InvalidBlock) else None


def _wins(view: Snapshot, block: UnverifiedBlock) -> bool:
    if block.difficulty == 0:
        return True
    return not view.is_merged and _total_difficulty(view, block) > view.total_difficulty(view.number)


def _total_difficulty(view: Snapshot, block: UnverifiedBlock) -> int:
    """Return the sum of difficulties up to a block; only its own if its parent's is unknown."""
    return (view.total_difficulty_of(block.parent_hash) or 0) + block.difficulty
