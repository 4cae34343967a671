"""Application of a writer's records: a block is executed, and each outcome has to match its record."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, TypeAlias

import msgspec

from wsnode.cluster.journal_diff import impersonated_senders
from wsnode.cluster.records import (
    BlockRecord,
    ChainIdRecord,
    ChainState,
    FinalityRecord,
    PatchRecord,
    Record,
    RecordId,
    ReorgRecord,
    Rollback,
)
from wsnode.ethereum.chain import Chain, FinalityMarks
from wsnode.ethereum.codec.blocks import UnverifiedBlock, decode_blocks
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import BlockAttributes, InvalidTransactionError, MissingStateError
from wsnode.ethereum.storage import chain_ids, meta, state_patches
from wsnode.ethereum.storage.errors import ChainIdsError
from wsnode.ethereum.tree.head_writer import LiveTree, in_thread
from wsnode.ethereum.tree.tree import BlockTree


def standing_of(chain: Chain) -> ChainState:
    """Return the state of a chain without uncommitted changes."""
    with chain.snapshot() as view:
        safe, finalized = (meta.marked_head(view.reader, mark) for mark in (meta.SAFE, meta.FINALIZED))
        return ChainState(view.head, Hash32(chain.state.state_root), view.chain_id, safe, finalized)


def is_canonical(view: Snapshot, head: Head) -> bool:
    """Return True if a block is in the chain of a snapshot."""
    return view.hash_of(head.number) == head.hash


def is_reachable(view: Snapshot, state: ChainState) -> bool:
    """Return True if a chain can reach a state by taking back blocks or patches alone."""
    return (
        is_canonical(view, state.head)
        and state.state_root in _roots(view, state.head)
        and state.chain_id in _chain_ids(view, state.head)
    )


def _chain_ids(view: Snapshot, head: Head) -> Sequence[int]:
    """Return the ids that the chain has had since a canonical block was made, as far as they are stored."""
    changes = chain_ids.chain_ids(view.reader)
    made_with = chain_ids.id_of(changes, view.spec.chain_id_at(0), head.number)
    return [made_with, *(given for first, given in changes if first > head.number)]


def _roots(view: Snapshot, head: Head) -> Sequence[bytes]:
    """Return the roots that the state after a canonical block has had, one for each patch."""
    made = state_patches.patches(view.reader, head.number)
    return [
        state_patches.unpatched_root(view.reader, head.number),
        *(patch.state_root for patch in made),
    ]


RESTORE = "stop this node, restore a snapshot of a node that has it (`wsnode restore`), and start again"


class ReplicaError(Exception):
    """Error of a node that follows a journal and cannot apply its next record; blocks already stored stay
    valid.
    """


class RefusedRecordError(ReplicaError):
    """Error of a record with an invalid block, or with changes that lead to another state than its `after`
    states.
    """

    def __init__(self, record_id: RecordId, reason: str) -> None:
        super().__init__(f"record {record_id} is refused: {reason}")
        self.record_id, self.reason = record_id, reason


class GapError(ReplicaError):
    """Error of a record that continues from a block or state unknown to this chain: `wanted` is the state
    before the record, `mine` the chain's.
    """

    def __init__(self, mine: ChainState, wanted: ChainState) -> None:
        here = f"the head here is {mine.head}" if mine.head.number >= 0 else "there is no block here"
        super().__init__(f"the journal continues after block {wanted.head}, and {here}: {RESTORE}")
        self.mine, self.wanted = mine, wanted


NO_HASH: Final = bytes(32)
Branch: TypeAlias = Sequence[tuple[BlockRecord, UnverifiedBlock]]
"""Blocks that a record appends, lowest first."""


class LogApplier:
    """Applier of a journal's records to this node's chain, for use in one thread at a time. With
    `is_development`, blocks may have unsigned transactions, and states may change without a transaction.
    """

    def __init__(self, chain: Chain, tree: BlockTree, *, is_development: bool) -> None:
        self._chain = chain
        self._tree = tree
        self._is_development = is_development

    def apply(self, record: Record) -> None:
        """Apply a record, unless the chain has it already.

        A chain in another state than the record's `before` goes back first: to `before`, or to the ancestor
        of a reorg. A chain beyond the record keeps its blocks, except for the journal's latest record.

        Raises:
            RefusedRecordError: The record does not verify. The chain is in the state before the record, at
                the ancestor of a reorg, or in the state that the record's change leads to, if the record
                names another one.
            GapError: The chain cannot be brought to the state before the record.
            StateError, StoreError: The chain cannot be stored now.
        """
        _require_form(record)
        mine, base = standing_of(self._chain), record.ancestor
        if not mine.agrees_with(record.before) and not mine.agrees_with(record.after):
            if self._is_beyond(mine, record):
                if record.is_latest:
                    self.go_back(record.after)
                return
            # A block record replaces the blocks above its parent's state in one transaction. For other
            # records the chain first goes back to the state that they continue; `go_back` raises GapError if
            # the chain was never in that state.
            if isinstance(record.change, BlockRecord) and self._can_rewind_to(record.before):
                base = record.before
            elif not isinstance(record.change, ReorgRecord):
                self.go_back(record.ancestor or record.before)
        is_made = standing_of(self._chain).agrees_with(record.after)
        branch: Branch = () if is_made else self._branch(record)
        marks = self._marks(record, branch)
        if not is_made:
            self._change(record, base, branch, marks)
            self._require(record)
        self._mark(marks)

    def _is_beyond(self, mine: ChainState, record: Record) -> bool:
        """Return True if the chain is beyond a record's state, as after a loss of the journal's end.

        Blocks beyond the journal are kept until a record contradicts them: the writer has them too, and
        publishes them again. The same holds for a record that removes blocks of another branch.
        """
        after = record.after
        with self._chain.snapshot() as view:
            if record.ancestor is not None and is_reachable(view, record.before):
                return False
            if after.head == mine.head:
                # The chain is at the record's block, and is beyond the record if it has patches or a chain id
                # of later records.
                return not isinstance(record.change, ChainIdRecord) and is_reachable(view, after)
            return after.head.number < mine.head.number and is_canonical(view, after.head)

    def go_back(self, wanted: ChainState) -> None:
        """Take back blocks and patches beyond a state.

        Raises:
            GapError: The chain was never in that state, or not on the way to its present one.
            StateError, StoreError: The chain cannot be stored now.
        """
        mine = standing_of(self._chain)
        with self._chain.snapshot() as view:
            if not is_reachable(view, wanted):
                raise GapError(mine, wanted)
        self._tree.unwind(wanted.head.number, wanted.state_root)
        if mine.chain_id != wanted.chain_id:
            with self._tree.whole():
                self._chain.set_chain_id(wanted.chain_id)

    def _can_rewind_to(self, state: ChainState) -> bool:
        """Return True if the chain has the chain id of `state`, and can be taken back to it."""
        with self._chain.snapshot() as view:
            return view.chain_id == state.chain_id and is_reachable(view, state)

    def _change(self, record: Record, base: ChainState | None, branch: Branch, marks: FinalityMarks) -> None:
        match record.change:
            case BlockRecord() | ReorgRecord():
                self._append(record, base, branch, marks)
            case Rollback():
                self._take_off(record)
            case PatchRecord():
                self._patch(record, record.change)
            case ChainIdRecord():
                self._set_chain_id(record)

    def _append(self, record: Record, base: ChainState | None, branch: Branch, marks: FinalityMarks) -> None:
        """Append blocks to the head or, in place of those above it, to `base`, in one transaction."""
        with self._tree.whole():
            if base is not None:
                self._tree.rewind(base.head, base.state_root)
            for change, block in branch:
                extension = self._tree.extend([block], _chosen(block) if change.is_free else None)
                if extension.error is not None:
                    raise RefusedRecordError(record.id, str(extension.error))
            self._tree.store(self._tree.take_pending(), marks)

    def _branch(self, record: Record) -> Branch:
        """Return the blocks of a record, none if it has none.

        For a reorg, bring the chain first to where it can be rewound to the ancestor.
        """
        match record.change:
            case BlockRecord():
                return self._decoded_blocks(record, [record.change], record.before.head)
            case ReorgRecord(ancestor, blocks):
                unpatched = self._require_ancestor(record, ancestor)
                branch = self._decoded_blocks(record, blocks, ancestor.head)
                self._make_ready(record, record.change, unpatched)
                return branch
        return ()

    def _require_ancestor(self, record: Record, ancestor: ChainState) -> ChainState:
        """Return the state of a reorg's ancestor without patches.

        Raises:
            RefusedRecordError: The chain is in the state before the record, and has no such block.
            GapError: It is in another state, and has none.
        """
        mine = standing_of(self._chain)
        with self._chain.snapshot() as view:
            if is_canonical(view, ancestor.head):
                root = state_patches.unpatched_root(view.reader, ancestor.head.number)
                unpatched = msgspec.structs.replace(ancestor, state_root=root)
                if is_reachable(view, unpatched):
                    return unpatched
        if mine.agrees_with(record.before):
            raise RefusedRecordError(record.id, f"block {ancestor.head} is not below the head")
        raise GapError(mine, ancestor)

    def _make_ready(self, record: Record, change: ReorgRecord, unpatched: ChainState) -> None:
        """Go back to a reorg's ancestor if its state lacks patches, or if the chain has another id."""
        if change.patches:
            self._require_development(record)
        if self._can_rewind_to(change.ancestor):
            return
        if not change.patches and change.ancestor.state_root != unpatched.state_root:
            raise RefusedRecordError(record.id, f"the chain never was at {change.ancestor}")
        self.go_back(unpatched)
        for patch in change.patches:
            self._make_patch(record, patch)
        if not (found := standing_of(self._chain)).agrees_with(change.ancestor):
            raise RefusedRecordError(record.id, f"its patches lead to {found}, not to {change.ancestor}")

    def _decoded_blocks(self, record: Record, changes: Sequence[BlockRecord], parent: Head) -> Branch:
        """Return blocks that follow `parent` and lead to the state after a record, by their headers.

        Raises:
            RefusedRecordError: They do not, or their form is wrong.
        """
        branch: list[tuple[BlockRecord, UnverifiedBlock]] = []
        after = record.before
        for change in changes:
            block = self._decoded(record, change)
            if block.parent_hash != parent.hash:
                raise RefusedRecordError(
                    record.id, f"its block {Head.of(block)} does not follow block {parent}"
                )
            branch.append((change, block))
            parent, root = Head.of(block), Hash32(header_fields(block.header).state_root)
            after = ChainState(parent, root, record.before.chain_id)
        if not after.agrees_with(record.after):
            raise RefusedRecordError(
                record.id,
                f"its block leads to {after}, the record says {record.after}: the node that wrote it is "
                "faulty",
            )
        return branch

    def _decoded(self, record: Record, change: BlockRecord) -> UnverifiedBlock:
        if change.senders or change.is_free:
            self._require_development(record)
        blocks, error = decode_blocks(self._chain.spec, [change.rlp], with_unsigned=bool(change.senders))
        if error is not None:
            raise RefusedRecordError(record.id, str(error))
        (block,) = blocks
        if impersonated_senders(block.header, block.body) != change.senders:
            raise RefusedRecordError(
                record.id, "the senders of its unsigned transactions are not those that the record names"
            )
        return block

    def _take_off(self, record: Record) -> None:
        with self._chain.snapshot() as view:
            if not is_reachable(view, record.after):
                raise RefusedRecordError(record.id, f"block {record.after.head} is not below the head")
        self._tree.unwind(record.after.head.number, record.after.state_root)

    def _patch(self, record: Record, change: PatchRecord) -> None:
        self._require_development(record)
        self._make_patch(record, change)
        if self._chain.state.state_root != record.after.state_root:
            found = self._chain.state.state_root.hex()
            self._tree.unwind(record.before.head.number, record.before.state_root)
            raise RefusedRecordError(record.id, f"its patch leads to the state 0x{found}")

    def _make_patch(self, record: Record, change: PatchRecord) -> None:
        try:
            with self._tree.whole():
                self._chain.patch(change.accounts)
        except (InvalidTransactionError, MissingStateError) as error:
            raise RefusedRecordError(record.id, f"its patch: {error}") from None

    def _set_chain_id(self, record: Record) -> None:
        self._require_development(record)
        try:
            with self._tree.whole():
                self._chain.set_chain_id(record.after.chain_id)
        except ChainIdsError as error:
            raise RefusedRecordError(record.id, str(error)) from None

    def _require_development(self, record: Record) -> None:
        if not self._is_development:
            raise RefusedRecordError(
                record.id, "it has a change that only development chains may have, and this chain is none"
            )

    def _require(self, record: Record) -> None:
        if not (found := standing_of(self._chain)).agrees_with(record.after):
            raise RefusedRecordError(
                record.id,
                f"it leads to {found}, the record says {record.after}: the node that wrote it or this folder "
                "is faulty",
            )

    def _marks(self, record: Record, branch: Branch) -> FinalityMarks:
        """Return the marks after a record; they may be blocks of `branch`, its own blocks.

        Raises:
            RefusedRecordError: A mark is no block of the chain after the record.
        """
        after = record.after
        added = [Head.of(block) for _change, block in branch]
        last = added[0].number - 1 if added else after.head.number
        with self._chain.snapshot() as view:
            for mark in (after.safe, after.finalized):
                if mark is None or mark in added:
                    continue
                if mark.number > last or not is_canonical(view, mark):
                    raise RefusedRecordError(record.id, f"it marks block {mark}, which is not in the chain")
        return FinalityMarks(after.safe, after.finalized)

    def _mark(self, marks: FinalityMarks) -> None:
        found = standing_of(self._chain)
        if (marks.safe or found.safe, marks.finalized or found.finalized) != (found.safe, found.finalized):
            self._chain.mark(marks)


def _require_form(record: Record) -> None:
    """Refuse a record that changes more than its kind can."""
    before, after = record.before, record.after
    kept = (
        after.head == before.head,
        after.state_root == before.state_root,
        after.chain_id == before.chain_id,
    )
    match record.change:
        case BlockRecord() | Rollback():
            is_right = kept[2]
        case ReorgRecord(ancestor, blocks):
            is_right = kept[2] and ancestor.chain_id == after.chain_id and bool(blocks)
        case PatchRecord():
            is_right = kept[0] and kept[2]
        case ChainIdRecord():
            is_right = kept[0] and kept[1]
        case FinalityRecord():
            is_right = all(kept)
    if not is_right:
        raise RefusedRecordError(record.id, f"a change of its kind does not lead from {before} to {after}")


def _chosen(block: UnverifiedBlock) -> BlockAttributes:
    """Return the attributes that lead to a block's own gas limit and base fee."""
    header = header_fields(block.header)
    return BlockAttributes(
        timestamp=header.timestamp,
        fee_recipient=header.beneficiary,
        prev_randao=NO_HASH,
        gas_limit=header.gas_limit,
        parent_beacon_block_root=NO_HASH,
        base_fee=header.base_fee,
    )


class EthereumReplicaChain:
    """Ethereum chain of a node that follows a journal: applies records in turn with other changes, and
    publishes them to subscribers. `str` shows its head.
    """

    def __init__(self, chain: Chain, live: LiveTree, *, is_development: bool) -> None:
        self._chain = chain
        self._live = live
        self._applier = LogApplier(chain, live.tree, is_development=is_development)

    @property
    def head(self) -> Head:
        return self._chain.head

    def __str__(self) -> str:
        return f"block {self.head}"

    def reaches(self, state: ChainState) -> bool:
        with self._chain.snapshot() as view:
            return is_reachable(view, state)

    def has_left(self, head: Head) -> bool:
        """Return True if a block was in the chain and left it again."""
        with self._chain.snapshot() as view:
            return view.hash_of(head.number) != head.hash and view.side_header(head.hash) is not None

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Keep other tasks from changing the chain, and publish the changes as one."""
        async with self._live.turn():
            with self._live.telling():
                yield

    async def apply(self, record: Record) -> None:
        await in_thread(partial(self._applier.apply, record))

    async def go_back(self, state: ChainState) -> None:
        await in_thread(partial(self._applier.go_back, state))
