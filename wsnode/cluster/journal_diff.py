"""Steps from a state of a chain to the state in its store, to be appended to a journal.

They follow from the store alone. So a writer continues wherever the journal ends, even after it was killed or
the journal lost records.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from wsnode.cluster.records import (
    BlockRecord,
    ChainIdRecord,
    ChainState,
    Change,
    FinalityRecord,
    PatchRecord,
    ReorgRecord,
    Rollback,
)
from wsnode.ethereum.appender import recent_rows
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import block_from_rows
from wsnode.ethereum.codec.rlp import block_transactions
from wsnode.ethereum.codec.rows import Rows, block_rlp, header_fields
from wsnode.ethereum.codec.transactions import impersonated_sender
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.branches import canonical_rows, dropped_from, head_of
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec
from wsnode.ethereum.storage import chain_ids, meta, state_patches

STEPS_AT_ONCE: Final = 64
BYTES_AT_ONCE: Final = 8 << 20
REORG_BLOCKS: Final = 1024
REORG_BYTES: Final = 16 << 20
"""Maximum number of bytes of the blocks that replace others in one record, and of their ancestor's patches;
a block has at most 8 MiB.
"""


class JournalStep(msgspec.Struct, frozen=True):
    """Change to publish as one record of the journal, and the chain's state after it."""

    change: Change
    after: ChainState
    is_latest: bool = False
    """True if `after` is the state of the store's head, and no other process extends this chain."""


class ChainOrigin(msgspec.Struct, frozen=True):
    """Properties of a chain that are constant and not read from its snapshots."""

    chain_id: int
    """Chain id in the genesis file."""
    is_development: bool
    """True if the chain's blocks may have unsigned transactions, and fees and limits against the rules."""


def first_standing(view: Snapshot, origin: ChainOrigin, most: int) -> ChainState:
    """Return the state with which an empty journal begins: at most `most` blocks below the head.

    At the first block of the chain the state is without patches and with the first chain id; at any other
    block both are included.
    """
    number = max(view.earliest, view.number - most)
    header = view.header(number)
    assert header is not None, "a block up to the head is stored"
    head = head_of(header)
    if number == view.earliest:
        return ChainState(head, state_patches.unpatched_root(view.reader, number), origin.chain_id)
    ids = chain_ids.chain_ids(view.reader)
    return ChainState(
        head, state_patches.state_root(view.reader, number), chain_ids.id_of(ids, origin.chain_id, number + 1)
    )


def next_steps(
    view: Snapshot, origin: ChainOrigin, known: ChainState, known_head: Head | None = None
) -> list[JournalStep]:
    """Return the first steps from a known state to that of a snapshot, none if the states are equal.

    At most `STEPS_AT_ONCE` steps; the step that reaches `BYTES_AT_ONCE` is the last. `known_head` is an
    ancestor of the known state's head, used in place of that head if the blocks between are not stored here.

    Raises:
        UnknownPositionError: The block is not stored.
    """
    steps: list[JournalStep] = []
    size = 0
    way = _JournalDiff(view, origin, known).steps(known_head or known.head)
    for step in way:
        steps.append(step)
        size += _size(step.change)
        if len(steps) >= STEPS_AT_ONCE or size >= BYTES_AT_ONCE:
            break
    if steps and origin.is_development and next(way, None) is None:
        steps[-1] = msgspec.structs.replace(steps[-1], is_latest=True)
    return steps


class _JournalDiff:
    """Changes from the journal's last state to a snapshot of the chain, generated in order; it keeps the
    state after the last generated change.
    """

    def __init__(self, view: Snapshot, origin: ChainOrigin, state: ChainState) -> None:
        self._view = view
        self._origin = origin
        self._state = state
        self._ids = chain_ids.chain_ids(view.reader)

    def steps(self, known: Head) -> Iterator[JournalStep]:
        _dropped, ancestor = dropped_from(self._view, Position.after(known))
        yield from self._down(ancestor)
        reached = self._state.head.number
        yield from self._patches(reached)
        for number in range(reached + 1, self._view.number + 1):
            yield from self._chain_id(number)
            yield self._block(number)
            yield from self._patches(number)
        yield from self._chain_id(self._view.number + 1)
        yield from self._marks()

    def _step(self, change: Change, **members: object) -> JournalStep:
        self._state = msgspec.structs.replace(self._state, **members)
        return JournalStep(change, self._state)

    def _down(self, ancestor: Head) -> Iterator[JournalStep]:
        """Yield at most one step that takes the known state back to `ancestor`: a `ReorgRecord` with the
        blocks that replace those above it, or a `Rollback` if no block replaces them."""
        state, reader = self._state, self._view.reader
        if state.head == ancestor and self._patches_since(ancestor.number, state.state_root) is not None:
            return
        root = state_patches.unpatched_root(reader, ancestor.number)
        safe, finalized = (_not_above(ancestor, mark) for mark in (state.safe, state.finalized))
        below = msgspec.structs.replace(state, head=ancestor, state_root=root, safe=safe, finalized=finalized)
        patches = state_patches.patches(reader, ancestor.number)
        blocks = self._replacing(ancestor, sum(len(patch.accounts) for patch in patches))
        self._state = below
        if not blocks:
            yield self._step(Rollback())
            return
        if patches:
            below = msgspec.structs.replace(below, state_root=patches[-1].state_root)
        change = ReorgRecord(
            below,
            tuple(record for record, _after in blocks),
            tuple(PatchRecord(patch.accounts) for patch in patches),
        )
        yield self._step(change, **blocks[-1][1])

    def _replacing(self, ancestor: Head, size: int) -> list[tuple[BlockRecord, dict[str, Any]]]:
        """Return the blocks above `ancestor` that one reorg adds, each with the members of the state after
        it.

        They end with the first block that has patches, before a block of another chain id, or at the bounds.
        `size` is the number of bytes of the ancestor's patches.
        """
        blocks: list[tuple[BlockRecord, dict[str, Any]]] = []
        for number in range(ancestor.number + 1, self._view.number + 1)[:REORG_BLOCKS]:
            if self._wanted_chain_id(number) != self._state.chain_id:
                break
            block = self._block_record(number)
            size += len(block[0].rlp)
            if size > REORG_BYTES:
                break
            blocks.append(block)
            if state_patches.patches(self._view.reader, number):
                break
        return blocks

    def _patches(self, number: int) -> Iterator[JournalStep]:
        # If two patches led to the same root, `_patches_since` begins after the later one, so that no patch
        # is published twice.
        since = self._patches_since(number, self._state.state_root)
        assert since is not None, "the state is that of the block, or was taken back to it"
        for patch in since:
            yield self._step(PatchRecord(patch.accounts), state_root=patch.state_root)

    def _patches_since(self, number: int, root: Hash32) -> Sequence[state_patches.StatePatch] | None:
        return state_patches.patches_since(self._view.reader, number, root)

    def _chain_id(self, number: int) -> Iterator[JournalStep]:
        wanted = self._wanted_chain_id(number)
        if wanted != self._state.chain_id:
            yield self._step(ChainIdRecord(), chain_id=wanted)

    def _wanted_chain_id(self, number: int) -> int:
        return chain_ids.id_of(self._ids, self._origin.chain_id, number)

    def _block(self, number: int) -> JournalStep:
        record, members = self._block_record(number)
        return self._step(record, **members)

    def _block_record(self, number: int) -> tuple[BlockRecord, dict[str, Any]]:
        """Return the record of a block, and the members of the state after it."""
        header, body, _receipts = canonical_rows(self._view, number)
        rlp = block_rlp(header, body)
        members: dict[str, Any] = {
            "head": head_of(header),
            "state_root": Hash32(header_fields(header).state_root),
        }
        if number == self._view.number:
            members |= self._wanted_marks()
        if not self._origin.is_development:
            return BlockRecord(rlp), members
        is_free = _breaks_rules(self._view, (header, body))
        return BlockRecord(rlp, impersonated_senders(header, body), is_free), members

    def _marks(self) -> Iterator[JournalStep]:
        wanted = self._wanted_marks()
        if wanted != {"safe": self._state.safe, "finalized": self._state.finalized}:
            yield self._step(FinalityRecord(), **wanted)

    def _wanted_marks(self) -> dict[str, Head | None]:
        names = {"safe": meta.SAFE, "finalized": meta.FINALIZED}
        return {name: meta.marked_head(self._view.reader, mark) for name, mark in names.items()}


def _not_above(head: Head, mark: Head | None) -> Head | None:
    return head if mark is not None and mark.number > head.number else mark


def _breaks_rules(view: Snapshot, rows: Rows) -> bool:
    """Return True if a block's maker chose a gas limit or base fee against the rules."""
    block = block_from_rows(view.spec, *rows)
    ancestors = recent_rows(view, Hash32(block.parent_hash))
    total = view.total_difficulty(block.number - 1)
    return view.state.verify_header(block, ancestors, total_difficulty=total) is not None


def impersonated_senders(header: bytes, body: bytes) -> dict[int, Address]:
    """Return the impersonated senders of a block's unsigned transactions, by the transactions' indices."""
    senders: dict[int, Address] = {}
    for index, encoded in enumerate(block_transactions(header, body)):
        sender = impersonated_sender(encoded)
        if sender is not None:
            senders[index] = Address(sender)
    return senders


def _size(change: Change) -> int:
    if isinstance(change, ReorgRecord):
        return sum(map(_size, change.blocks))
    if isinstance(change, BlockRecord):
        return len(change.rlp)
    return len(change.accounts) if isinstance(change, PatchRecord) else 0


class EthereumSource:
    """Ethereum chain whose changes a process publishes to a journal. With `is_development`, this process
    alone makes the chain, so it is published even if its head has moved back.
    """

    def __init__(self, chain: Chain, *, is_development: bool) -> None:
        self.chain = chain
        self.is_sole = is_development
        self.genesis = chain.folder.read_genesis()
        self.origin = ChainOrigin(ChainSpec(self.genesis).chain_id, is_development)

    @property
    def first_hash(self) -> Hash32:
        """Return the hash of the chain's first block, by which its journal is named."""
        return Hash32(self.chain.spec.genesis_hash)

    def knows(self, head: Head) -> bool:
        """Return True if a block is stored, on the chain or beside it."""
        with self.chain.snapshot() as view:
            return view.number_of(head.hash) is not None or view.side_header(head.hash) is not None

    def first_block(self) -> Head:
        with self.chain.snapshot() as view:
            first = view.hash_of(view.earliest)
            assert first is not None, "the first block is stored"
            return Head(view.earliest, first)
