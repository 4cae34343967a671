"""Chain on disk: its blocks and their EVM state, in tables of one store that each change commits together."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import IO, Final, Self, TypeAlias

import msgspec

from wsnode.ethereum.codec.blocks import BuiltBlock, UnverifiedBlock, VerifiedBlock
from wsnode.ethereum.execution import Executor, PendingCommit, ReceiptVerifier
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import CallerContext, ForkBackend, Snapshot
from wsnode.ethereum.state import ChainSpec, MissingStateError, State
from wsnode.ethereum.storage import (
    canonical,
    chain_ids,
    creation,
    meta,
    side_blocks,
    state_patches,
    window,
)
from wsnode.ethereum.storage.errors import (
    NoChainError,
    OtherKindError,
)
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.ethereum.storage.folder_kind import FULL, FolderKind
from wsnode.ethereum.storage.tables import TABLES
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.store.environment import Environment, Reader, Writer


class LocalCaller(msgspec.Struct, frozen=True):
    """Caller inside the program; by default without a key, with replies in the form of a plain node."""

    service_form: bool = False
    key_name: str | None = None
    client: ClientId | None = None


LOCAL_CALLER: Final = LocalCaller()
Fetch: TypeAlias = Callable[[MissingStateError], Awaitable[None]]
"""Function that fetches the missing values of a state; it raises RpcError if they cannot be had."""
NO_HEAD: Final = Head(BlockNumber(0), Hash32(b""))
GENESIS: Final = BlockNumber(0)
ABOVE_GENESIS: Final = BlockNumber(1)


class FinalityMarks(msgspec.Struct, frozen=True):
    """Safe and finalized block to set; None leaves a mark unchanged."""

    safe: Head | None = None
    finalized: Head | None = None


class Chain:
    """Open store of an Ethereum chain with its state engine, made by `Chain.open`; a process must not open it
    before it forks.
    """

    def __init__(
        self,
        folder: ChainFolder,
        spec: ChainSpec,
        store: Environment,
        state: State,
        lock: IO[str] | None,
        *,
        durable: bool = True,
    ) -> None:
        self.folder = folder
        self.durable = durable
        self.spec = spec
        self.store = store
        self.state = state
        with store.read() as reader:
            self.kind = window.kind(reader)
        self.window = self.kind.window
        """Number of blocks kept, None for all."""
        self.is_light = self.kind.is_light
        """True if no block is executed, and states are known by proofs alone."""
        self.receipt_verified = ReceiptVerifier(store, spec, state) if self.is_light else None
        """Verifier of a light folder's blocks by their receipts, None for a full folder."""
        self.executor: Executor = state if self.receipt_verified is None else self.receipt_verified
        self.fetch: Fetch | None = None
        """Function that fetches unknown values of the state below the first block, if the chain is a fork."""
        self.below: ForkBackend | None = None
        """Source of the blocks below the first one, if this chain is a fork of another."""
        self._first = BlockNumber(spec.first_number)
        self._lock = lock
        self._known = (-1, NO_HEAD)
        """Last version of the store that was read, and its head."""

    @classmethod
    def open(
        cls,
        folder: Path,
        genesis: bytes | None = None,
        *,
        writer: bool,
        durable: bool = True,
        kind: FolderKind = FULL,
        is_examined: bool = False,
    ) -> Self:
        """Open the chain of a folder; a writer creates a missing one from `genesis`.

        A new light chain begins at the block given to `begin_at`, and has no state. With `is_examined` the
        head is not checked.

        Raises:
            ChainError: The folder holds no chain, another chain or an unknown schema, has a writer already,
                or is of a kind that `kind` does not admit.
            CorruptHeadError: The rows of the head do not agree.
            InvalidGenesisError: `genesis` cannot be understood.
            StateError, StoreError: The store cannot be opened.
        """
        place = ChainFolder(folder)
        lock = place.lock() if writer else None
        try:
            creation.require_known_schema(place, writer=writer)
            spec = creation.agreed_spec(place, genesis, writer=writer, durable=durable)
            return cls._open(place, spec, lock, durable=durable, kind=kind, is_examined=is_examined)
        except BaseException:
            if lock is not None:
                lock.close()
            raise

    @classmethod
    def _open(
        cls,
        place: ChainFolder,
        spec: ChainSpec,
        lock: IO[str] | None,
        *,
        durable: bool,
        kind: FolderKind,
        is_examined: bool,
    ) -> Self:
        writer = lock is not None
        if not writer and not place.chain.exists():
            raise NoChainError(place.path)
        store = Environment(place.chain, TABLES, writer=writer, durable=durable)
        try:
            if writer:
                creation.begin(store, place, spec, kind)
            with store.read() as reader:
                creation.require_known(reader, place.path, spec)
                creation.require_kind(reader, place.path, kind)
                spec.set_chain_ids(chain_ids.chain_ids(reader))
                is_light = window.kind(reader).is_light
                if not is_examined:
                    creation.require_head_rows(reader, place.path, spec, is_light=is_light)
            state = State(store, place.proved, spec, writer=writer, is_proved=is_light)
            chain = cls(place, spec, store, state, lock, durable=durable)
            if not is_light and not is_examined:
                creation.require_state(store, state, place.path)
        except BaseException:
            store.close()
            raise
        return chain

    @property
    def written_elsewhere(self) -> Path | None:
        """Return the folder of the store if another process may write it, None in the writer."""
        return self.folder.chain if self._lock is None else None

    def require_usable(self) -> None:
        """Check that the store is in its place, usable and undamaged.

        Raises:
            StoreMovedError: The file was deleted, moved or replaced.
            StoreFailedError: A write of the file failed, and it cannot be opened again.
            DamagedRowError: A read has met a damaged row.
        """
        self.store.require_usable()
        self.store.require_undamaged()

    @property
    def damaged(self) -> int:
        """Return the number of reads of damaged rows by this process."""
        return self.store.damaged

    def snapshot(self, caller: CallerContext = LOCAL_CALLER) -> Snapshot:
        return Snapshot(self, caller)

    def head_in(self, reader: Reader) -> Head:
        known, head = self._known
        # All readers of one store version see the same head, whichever process has written it.
        if (version := reader.version) != known:
            found = meta.marked_head(reader, meta.HEAD)
            assert found is not None, "a chain is opened with its genesis block in it"
            head = found
            if self._lock is None and version > known:
                # The process that writes the chain may have given it another id.
                self.spec.set_chain_ids(chain_ids.chain_ids(reader))
            self._known = version, head
        return head

    @property
    def version(self) -> int:
        """Return the version of the store; each commit changes it."""
        with self.store.read() as reader:
            return reader.version

    @property
    def head(self) -> Head:
        with self.snapshot() as snapshot:
            return snapshot.head

    def earliest_in(self, reader: Reader) -> BlockNumber:
        if self.window is None:
            return self._first
        found = window.first(reader)
        if found is None:
            # The block with which a light folder is made belongs to the chain only if its header is known.
            return GENESIS if self.spec.has_genesis_header else ABOVE_GENESIS
        return found

    @property
    def has_begun(self) -> bool:
        """Return True if the folder has its first block, which only a new light folder lacks."""
        with self.store.read() as reader:
            return self.has_begun_in(reader)

    def has_begun_in(self, reader: Reader) -> bool:
        return not self.is_light or window.first(reader) is not None

    def require_full(self) -> None:
        """Raise OtherKindError if the folder is light."""
        if self.is_light:
            raise OtherKindError(self.folder.path, self.kind, FULL)

    def begin_at(self, block: VerifiedBlock | None, total_difficulty: int = 0) -> None:
        """Set the first block of a light folder, as head, safe and finalized; None is the genesis block.

        `total_difficulty` is the parent's: the same for all blocks of proof of stake.
        """

        def change(writer: Writer) -> None:
            if block is None:
                window.begin_at_genesis(writer)
            else:
                window.begin_at(writer, block, total_difficulty)

        self.store.write(change)

    def prepend(self, blocks: Sequence[VerifiedBlock]) -> None:
        """Put blocks below the first one of a light folder, highest first."""

        def change(writer: Writer) -> None:
            for block in blocks:
                window.prepend(writer, block)

        self.store.write(change)

    def prepend_genesis(self) -> None:
        """Put the genesis block below block 1, the first block of a light folder."""
        self.store.write(lambda writer: window.prepend_genesis(writer, self.spec.genesis_block()))

    def prune(self, blocks: int) -> None:
        """Remove the lowest `blocks` blocks of a folder with a window; `prune_state` removes their states."""

        def change(writer: Writer) -> None:
            for _ in range(blocks):
                window.prune(writer, self.earliest_in(writer))

        self.store.write(change)

    def prune_state(self, most: int) -> bool:
        """Drop states of blocks below the first one, and return True if there may be more to drop.

        At most `most` values are examined. The states of all blocks of the chain stay readable.

        Raises:
            StateError, StoreError: The store cannot be written.
        """
        change = self.state.stage_pruning(most)
        if change is None:
            return False
        self.store.write(change.write)
        self.state.settle(change)
        return True

    def prune_side(self, start: bytes, most: int) -> bytes:
        """Remove side blocks below the chain's first block, and return the key to continue from.

        At most `most` side blocks are examined, from the key `start` on. An empty key is the end.
        """
        return self.store.write(
            lambda writer: window.prune_side(writer, start, self.earliest_in(writer), most)
        )

    def append(self, blocks: Sequence[VerifiedBlock], marks: FinalityMarks | None = None) -> Head:
        """Append blocks that were verified after the head, with their state, and return the new head.

        Raises:
            StateError, StoreError: The blocks cannot be written; `discard` drops their state.
        """
        self.commit(PendingCommit(blocks, self.executor.stage()), marks)
        return Head.of(blocks[-1])

    def commit(self, pending: PendingCommit, marks: FinalityMarks | None = None) -> list[Head]:
        """Commit a change with safe and finalized marks, in one transaction; return the blocks removed by it,
        highest first.

        Raises:
            StateError, StoreError: The change cannot be written; `discard` drops it.
        """

        def change(writer: Writer) -> tuple[list[Head], chain_ids.ChainIds | None]:
            removed = self._remove_blocks(writer, pending)
            if marks is not None:
                _mark(writer, marks)
            if pending.blocks:
                canonical.append(writer, pending.blocks)
            if pending.change is not None:
                pending.change.write(writer)
            return removed

        removed, ids = self.store.write(change)
        if ids is not None:
            self.spec.set_chain_ids(ids)
        if pending.change is not None:
            self.executor.settle(pending.change)
        return removed

    def rewind(self, number: int, state_root: Hash32 | None = None) -> None:
        """Go back to block `number` in memory: blocks can be appended to it, and a commit with it as root
        follows.

        With `state_root`, patches of the block are undone until its state has this root again.

        Raises:
            StateError: Its state cannot be restored; nothing has changed.
        """
        self.executor.rewind(number, state_root=state_root)
        with self.store.read() as reader:
            self.spec.set_chain_ids(chain_ids.unwound(reader, number))

    def discard(self) -> None:
        """Drop all that was not committed.

        Raises:
            StateError, StoreError: The store cannot be read.
        """
        self.executor.discard()
        with self.store.read() as reader:
            self.spec.set_chain_ids(chain_ids.chain_ids(reader))

    def unwind(self, number: int, state_root: Hash32 | None = None) -> list[Head]:
        """Remove the blocks above `number` and their states; return them, highest first.

        With `state_root`, patches of block `number` are undone until its state has this root again.

        Raises:
            StateError, StoreError: The state of block `number` never had this root, or the change cannot be
                written; nothing was removed.
        """
        try:
            self.executor.rewind(number, state_root=state_root)
            pending = PendingCommit((), self.executor.stage(), BlockNumber(number), state_root)
            return self.commit(pending)
        except BaseException:
            self.executor.discard()
            raise

    def _remove_blocks(
        self, writer: Writer, pending: PendingCommit
    ) -> tuple[list[Head], chain_ids.ChainIds | None]:
        """Return the removed blocks, highest first, and the chain ids left; None if no blocks are removed."""
        if pending.root is None:
            return [], None
        removed = canonical.unwind(writer, pending.root, self.earliest_in(writer))
        state_patches.unwind(writer, pending.root)
        if pending.state_root is not None:
            state_patches.undo(writer, pending.root, pending.state_root)
        return removed, chain_ids.unwind(writer, pending.root)

    def set_chain_id(self, chain_id: int) -> None:
        """Set the chain id of the blocks after the head; blocks up to the head keep their chain id.

        Raises:
            ChainIdsError: The id was changed as often as the folder can record.
        """

        def change(writer: Writer) -> chain_ids.ChainIds:
            head = meta.marked_head(writer, meta.HEAD)
            assert head is not None, "a chain is opened with its genesis block in it"
            return chain_ids.change(writer, head.number + 1, chain_id)

        self.spec.set_chain_ids(self.store.write(change))

    def patch(self, accounts: bytes) -> None:
        """Change accounts of the head's state in place; `accounts` is JSON in the form of state overrides.

        Raises:
            InvalidTransactionError: `accounts` is not of that form.
            MissingStateError: The chain is a fork, and a value of the state before is not known yet.
            StateError, StoreError: The store cannot be written; nothing has changed.
        """
        number = self.head.number
        staged, root = self.state.stage_patch(accounts)
        made = state_patches.StatePatch(accounts, Hash32(root))

        def change(writer: Writer) -> None:
            state_patches.add(writer, number, made)
            staged.write(writer)

        self.store.write(change)
        self.state.settle(staged)

    def store_side_block(self, blocks: Sequence[tuple[UnverifiedBlock | VerifiedBlock, int]]) -> None:
        """Store blocks that were never canonical, each with its total difficulty."""

        def change(writer: Writer) -> None:
            for block, total_difficulty in blocks:
                side_blocks.add(
                    writer,
                    block.hash,
                    header_row=block.header,
                    body_row=block.body,
                    receipts_row=None,
                    difficulty=total_difficulty,
                )
                if self.is_light and isinstance(block, BuiltBlock):
                    # A light folder has no state on which the block could be executed again, so its receipts
                    # are stored.
                    side_blocks.put_upstream_receipts(writer, block.hash, block.receipts)

        self.store.write(change)

    def forget(self, blocks: Sequence[Hash32]) -> None:
        """Delete side blocks by their hashes."""

        def change(writer: Writer) -> None:
            for block_hash in blocks:
                side_blocks.remove(writer, block_hash)

        self.store.write(change)

    def mark_final(self, head: Head) -> None:
        self.mark(FinalityMarks(head, head))

    def mark(self, marks: FinalityMarks) -> None:
        if marks != FinalityMarks():
            self.store.write(lambda writer: _mark(writer, marks))

    def sync(self) -> None:
        """Flush the store to the disk."""
        self.store.sync()

    def become(self, other: Self) -> None:
        """Replace this chain's folder, rules and store by those of `other`, which has no other user.

        `fetch` and `below` are kept. The old store is closed with the last snapshot that reads from them.
        """
        fetch, below = self.fetch, self.below
        self.give_up()
        vars(self).update(vars(other))
        self.fetch, self.below = fetch, below

    def give_up(self) -> None:
        """Release the writer's lock, if there is one; the store is open until its last snapshot is closed."""
        if self._lock is not None:
            self._lock.close()

    def close(self) -> None:
        self.store.close()
        if self.below is not None:
            self.below.close()
        self.fetch = self.below = None
        del self.state, self.executor, self.receipt_verified
        self.give_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _mark(writer: Writer, marks: FinalityMarks) -> None:
    for mark, head in ((meta.SAFE, marks.safe), (meta.FINALIZED, marks.finalized)):
        if head is not None:
            meta.set_mark(writer, mark, head)
