"""Source of a journal: the Starknet chain that is published."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from wsnode.cluster.journal import UnrelatedJournalError
from wsnode.cluster.journal_diff import (
    BYTES_AT_ONCE,
    REORG_BLOCKS,
    REORG_BYTES,
    STEPS_AT_ONCE,
    JournalStep,
)
from wsnode.cluster.records import (
    ChainState,
    Change,
    ClassesRecord,
    ReorgRecord,
    Rollback,
    StarknetBlockRecord,
)
from wsnode.cluster.starknet.chain_states import EMPTY, first_hash, standing_at, standing_of
from wsnode.cluster.starknet.documents import block_document, classes_document
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.diff_json import decode_flat, state_diff
from wsnode.starknet.live.branches import UnknownStarknetBlockError, dropped_from, position_at
from wsnode.starknet.live.position import StarknetPosition
from wsnode.starknet.snapshot import StarknetSnapshot

CLASS_BYTES: Final = 8 << 20
"""Maximum number of bytes of the definitions in one record, unless a single one has more."""
REORG_CLASS_BYTES: Final = 64 << 20
"""Maximum number of bytes of the definitions that go before the blocks of a reorg, unless the first block has
more; readers keep them in memory until those blocks are here.
"""


def first_standing(view: StarknetSnapshot, most: int) -> ChainState:
    """Return the state with which an empty journal begins: at most `most` blocks below the head.

    If these are all blocks, it begins before the first one.
    """
    number = -1 if view.head is None else view.head - most
    return standing_at(view, number) if number >= view.first_block else EMPTY


def next_steps(
    view: StarknetSnapshot, known: ChainState, known_head: Head | None = None
) -> list[JournalStep]:
    """Return the first steps from a known state to that of a snapshot, none once there is nothing left.

    They are up to `STEPS_AT_ONCE`, and few more than `BYTES_AT_ONCE`, but never end between the classes of a
    block and that block. `known_head` is an ancestor of the known state's head.

    Raises:
        UnknownPositionError: The block is not stored.
    """
    steps: list[JournalStep] = []
    size, state = 0, known
    for step in _StarknetJournalDiff(view, known).steps(known_head or known.head):
        steps.append(step)
        size += _size(step.change)
        is_advanced, state = step.after != state, step.after
        if is_advanced and (len(steps) >= STEPS_AT_ONCE or size >= BYTES_AT_ONCE):
            break
    return steps


class _StarknetJournalDiff:
    """Steps to a snapshot, and the state after the last one."""

    def __init__(self, view: StarknetSnapshot, state: ChainState) -> None:
        self._view = view
        self._state = state
        # A higher count is that of another store.
        self._late = dict(view.late_classes(state.late if state.late <= view.late else 0))
        """Late definitions that are not published, by their place."""
        self._is_late = set(self._late.values())

    def steps(self, known: Head) -> Iterator[JournalStep]:
        _dropped, ancestor = dropped_from(self._view, StarknetPosition(known.number, known.hash))
        if self._state.head != Head.of(ancestor):
            yield from self._down(ancestor.number)
        for number in self._above(self._state.head.number):
            for document in _documents(self._first_named(number)):
                yield self._step(ClassesRecord(document), self._state, self._state.late)
            yield self._step(self._block(number), standing_at(self._view, number), self._state.late)
        yield from self._late_classes()

    def _above(self, number: int) -> range:
        """Return the numbers of the stored blocks above block `number`."""
        last = -1 if self._view.head is None else self._view.head
        return range(max(number + 1, self._view.first_block), last + 1)

    def _down(self, ancestor: int) -> Iterator[JournalStep]:
        """Yield a rollback to a common block or, if others follow it, their classes and a reorg."""
        below, late = standing_at(self._view, ancestor), self._state.late
        blocks: list[StarknetBlockRecord] = []
        last = ancestor
        classes: dict[bytes, bytes] = {}
        size = class_size = 0
        for number in self._above(ancestor)[:REORG_BLOCKS]:
            block, named = self._block(number), dict(self._first_named(number))
            size += len(block.document)
            class_size += sum(map(len, named.values()))
            if blocks and (size > REORG_BYTES or class_size > REORG_CLASS_BYTES):
                break
            blocks.append(block)
            classes |= named
            last = number
        if not blocks:
            yield self._step(Rollback(), below, late)
            return
        for document in _documents(classes.items()):
            yield self._step(ClassesRecord(document), self._state, late)
        change = ReorgRecord(msgspec.structs.replace(below, late=late), tuple(blocks))
        yield self._step(change, standing_at(self._view, last), late)

    def _step(self, change: Change, after: ChainState, late: int) -> JournalStep:
        self._state = msgspec.structs.replace(after, late=late)
        return JournalStep(change, self._state)

    def _late_classes(self) -> Iterator[JournalStep]:
        for place, class_hash in self._late.items():
            text = self._view.rendered_class(class_hash)
            # A class of dropped blocks goes once another one names it.
            if text is not None and self._view.first_named(class_hash) is not None:
                yield self._step(ClassesRecord(classes_document([(class_hash, text)])), self._state, place)

    def _first_named(self, number: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield the hash and definition of each class that `number` is the first block to name."""
        diff = self._view.diff_text(number)
        assert diff is not None, "the block is stored"
        for class_hash in state_diff(decode_flat(diff)).named_classes():
            is_first = self._view.first_named(class_hash) == number and class_hash not in self._is_late
            if is_first and (text := self._view.rendered_class(class_hash)) is not None:
                yield class_hash, text

    def _block(self, number: int) -> StarknetBlockRecord:
        is_first = number == self._view.first_block
        return StarknetBlockRecord(
            block_document(self._view, number), (is_first and self._view.chain_id) or ""
        )


def _documents(classes: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """Yield definitions in as few documents as their size allows."""
    group: list[tuple[bytes, bytes]] = []
    size = 0
    for class_hash, text in classes:
        if group and size + len(text) > CLASS_BYTES:
            yield classes_document(group)
            group, size = [], 0
        group.append((class_hash, text))
        size += len(text)
    if group:
        yield classes_document(group)


def _size(change: Change) -> int:
    if isinstance(change, ReorgRecord):
        return sum(map(_size, change.blocks))
    return len(change.document) if isinstance(change, StarknetBlockRecord | ClassesRecord) else 0


class StarknetSource:
    """Starknet chain to publish, which another process may write; implements `ChainSource`."""

    what = "Starknet blocks"
    is_sole = False
    genesis = None

    def __init__(self, chain: StarknetChain) -> None:
        self._chain = chain

    @property
    def has_begun(self) -> bool:
        """Return True if there is a first block; without it there is no journal."""
        with self._chain.snapshot() as view:
            return view.head is not None

    @property
    def first_hash(self) -> Hash32:
        """Return the hash of the chain's first block, by which its journal is named."""
        with self._chain.snapshot() as view:
            found = first_hash(view)
            assert found is not None, "a chain that is published has a first block"
            return found

    @property
    def version(self) -> int:
        """Return the version of the store; each commit changes it."""
        return self._chain.version

    @property
    def head(self) -> Head:
        """Return the head, block -1 of an empty chain."""
        with self._chain.snapshot() as view:
            return standing_of(view).head

    def knows(self, head: Head) -> bool:
        """Return True if a block is on the chain, or was."""
        with self._chain.snapshot() as view:
            return view.number_of(head.hash) is not None or view.dropped(head.hash) is not None

    def first_block(self) -> Head:
        """Return the first stored block."""
        with self._chain.snapshot() as view:
            return Head.of(position_at(view, view.first_block))

    @contextmanager
    def look(self) -> Iterator["StarknetStepSource"]:
        """Yield a reader of the chain as it is now."""
        with self._chain.snapshot() as view:
            yield StarknetStepSource(view)


class StarknetStepSource:
    """Reader of a Starknet chain at one moment; implements `JournalStepSource`."""

    def __init__(self, view: StarknetSnapshot) -> None:
        self._view = view

    @property
    def version(self) -> int:
        """Return the version of the store."""
        return self._view.version

    def first_standing(self, most: int) -> ChainState:
        """Return the state with which an empty journal begins: at most `most` blocks below the head."""
        return first_standing(self._view, most)

    def next_steps(self, known: ChainState, known_head: Head | None) -> list[JournalStep]:
        """Return the first steps from a known state to this moment; see `next_steps`.

        Raises:
            UnrelatedJournalError: The block is not stored.
        """
        try:
            return next_steps(self._view, known, known_head)
        except UnknownStarknetBlockError:
            raise UnrelatedJournalError(known_head or known.head) from None
