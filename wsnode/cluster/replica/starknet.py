"""Starknet chain that applies the journal's records, with the checks of an import."""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from wsnode.cluster.records import (
    ChainState,
    Change,
    ClassesRecord,
    Record,
    ReorgRecord,
    Rollback,
    StarknetBlockRecord,
)
from wsnode.cluster.replica.errors import GapError, RefusedRecordError
from wsnode.cluster.starknet.chain_states import NO_CHAIN_ID, is_at, is_reachable, standing_of
from wsnode.cluster.starknet.documents import UnreadableDocumentError, read_block, read_classes
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.tree.head_writer import in_thread
from wsnode.starknet.block import UnverifiedStarknetBlock
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.classes.definition import ContractClass, NotAClassError
from wsnode.starknet.dump.class_files import ClassHashMismatchError, checked
from wsnode.starknet.errors import StarknetError
from wsnode.starknet.felt import felt_text
from wsnode.starknet.importer import BlockImporter

MOST_WAITING_BYTES: Final = 256 << 20
"""Maximum number of bytes of definitions that wait for their block: more than any block declares."""
MOST_CHAIN_ID: Final = 31
"""Maximum number of letters of a chain's name, which is a felt."""

logger = logging.getLogger("wsnode.replica")


class StarknetLogApplier:
    """Applier of records to a Starknet chain, in one thread at a time."""

    def __init__(self, chain: StarknetChain, first_hash: Hash32, *, verify_roots: bool = True) -> None:
        """Prepare to apply records; `first_hash` is the hash of the chain's first block, as the operator
        knows it.
        """
        self._chain = chain
        self._first_hash = first_hash
        self._verify_roots = verify_roots
        self._intake: BlockImporter | None = None
        """Importer that verifies blocks, with the tries of the state after the head in memory; None before
        its first use.
        """
        self._waiting: dict[bytes, ContractClass] = {}
        """Definitions for the next block."""

    def apply(self, record: Record) -> None:
        """Apply a record, unless it is applied already; blocks beyond `before` are taken back first.

        Raises:
            RefusedRecordError: The record does not verify; the chain is in the state before it.
            GapError: The chain cannot be brought to the state before the record.
            StoreError: The chain cannot be stored now.
        """
        match record.change:
            case ClassesRecord():
                self._take_classes(record, record.change)
            case StarknetBlockRecord() | ReorgRecord():
                self._lead(record)
                self._waiting.clear()
            case Rollback():
                self._lead(record)
            case _:
                raise RefusedRecordError(record.id, "no Starknet chain has such a change")

    def go_back(self, wanted: ChainState) -> None:
        """Take back blocks beyond a state.

        Raises:
            GapError: The chain was never in that state.
            StoreError: The chain cannot be stored now.
        """
        with self._chain.snapshot() as view:
            mine = standing_of(view)
            if not is_reachable(view, wanted):
                raise GapError(mine, wanted)
        if not is_at(mine, wanted):
            self.give_up()
            self._chain.append([], [], after=wanted.head.number)

    def give_up(self) -> None:
        """Forget the state in memory; it is read from the store again for the next block."""
        if self._intake is not None:
            self._intake.give_up()
            self._intake = None

    def _lead(self, record: Record) -> None:
        """Bring the chain to the state after a record that adds a block or removes some."""
        if record.before.chain_id != NO_CHAIN_ID or record.after.chain_id != NO_CHAIN_ID:
            raise RefusedRecordError(record.id, "a Starknet chain has no chain id in its records")
        with self._chain.snapshot() as view:
            mine, is_reached = standing_of(view), is_reachable(view, record.after)
            has_left = not is_reachable(view, record.before)
        if is_at(mine, record.after):
            return
        if isinstance(record.change, StarknetBlockRecord | ReorgRecord):
            # What the chain has beyond the journal is kept until a record contradicts it.
            if not is_reached:
                self._append(record, mine)
        elif is_at(mine, record.before) and not is_reached:
            raise RefusedRecordError(record.id, f"block {record.after.head} is not below the head")
        elif not (has_left and is_reached):
            # What the record takes off is here, or the chain is another one.
            self.go_back(record.after)

    def _append(self, record: Record, mine: ChainState) -> None:
        """Append the blocks of a record, in the place of those above the block that they follow, in one
        commit.

        Raises:
            RefusedRecordError: They do not verify.
            GapError: The chain was never in the state that they follow.
        """
        changes: Sequence[Change] = [record.change]
        after: int | None = None
        if isinstance(record.change, ReorgRecord):
            changes = record.change.blocks
            after = self._require_ancestor(record, record.change.ancestor, mine)
        elif not is_at(mine, record.before):
            after = self._require_ancestor(record, record.before, mine)
        branch = self._decoded_blocks(record, changes)
        try:
            intake = self._ready_intake(after)
            for change, block in branch:
                if intake.head is None:
                    self._begin(record, change, block, intake)
                intake.take(block)
            intake.flush()
        except StarknetError as error:
            self.give_up()
            raise RefusedRecordError(record.id, str(error)) from None
        except BaseException:
            # Its state is ahead of the store by now.
            self.give_up()
            raise

    def _require_ancestor(self, record: Record, ancestor: ChainState, mine: ChainState) -> int:
        """Return the number of the block that a record's blocks follow.

        Raises:
            RefusedRecordError, GapError: It is not in the chain.
        """
        with self._chain.snapshot() as view:
            if is_reachable(view, ancestor) and ancestor.head.number >= 0:
                return ancestor.head.number
        if is_at(mine, record.before):
            raise RefusedRecordError(record.id, f"block {ancestor.head} is not below the head")
        raise GapError(mine, ancestor)

    def _decoded_blocks(
        self, record: Record, changes: Sequence[Change]
    ) -> Sequence[tuple[StarknetBlockRecord, UnverifiedStarknetBlock]]:
        """Return the blocks of a record; number, hash and root of the last one are the record's, and not
        verified yet.
        """
        branch: list[tuple[StarknetBlockRecord, UnverifiedStarknetBlock]] = []
        for change in changes:
            if not isinstance(change, StarknetBlockRecord):
                raise RefusedRecordError(record.id, "it has no block of a Starknet chain")
            try:
                branch.append((change, read_block(change.document)))
            except UnreadableDocumentError as error:
                raise RefusedRecordError(record.id, f"its block: {error}") from None
        if not branch:
            raise RefusedRecordError(record.id, "it has no block")
        _change, block = branch[-1]
        found = block.number, block.hash, block.new_root
        wanted = record.after.head.number, record.after.head.hash, record.after.state_root
        if found != wanted:
            raise RefusedRecordError(
                record.id,
                f"its block is {block.number} {felt_text(block.hash)}, state {felt_text(block.new_root)}; "
                f"the record says {record.after.head}, state {felt_text(record.after.state_root)}",
            )
        return branch

    def _begin(
        self,
        record: Record,
        change: StarknetBlockRecord,
        block: UnverifiedStarknetBlock,
        intake: BlockImporter,
    ) -> None:
        """Begin an empty chain with the block that the operator knows."""
        if block.hash != self._first_hash:
            raise RefusedRecordError(
                record.id,
                f"its first block is {felt_text(block.hash)}, this chain's is {felt_text(self._first_hash)}",
            )
        if len(change.chain_id) > MOST_CHAIN_ID or not change.chain_id.isascii():
            raise RefusedRecordError(record.id, f"{change.chain_id[:80]!r} is no name of a chain")
        intake.begin(block.number, change.chain_id or None)

    def _ready_intake(self, after: int | None) -> BlockImporter:
        """Return the importer of the blocks after the head or, with `after`, after that block."""
        if after is not None:
            self.give_up()
        if self._intake is None:
            self._intake = BlockImporter(
                self._chain, self._waiting.get, verify_roots=self._verify_roots, after=after
            )
        return self._intake

    def _take_classes(self, record: Record, change: ClassesRecord) -> None:
        """Store definitions that the chain lacks, and keep those of the next block until it is here."""
        try:
            given = read_classes(change.document)
        except UnreadableDocumentError as error:
            raise RefusedRecordError(record.id, f"its classes: {error}") from None
        with self._chain.snapshot() as view:
            lacking = [class_hash for class_hash in given if not view.has_class(class_hash)]
            late = {class_hash for class_hash in lacking if view.is_missing(class_hash)}
        found = [self._checked(record, class_hash, given[class_hash]) for class_hash in lacking]
        if late:
            self._chain.append([], [each for each in found if each.class_hash in late])
            if self._intake is not None:
                # It reads the version before, whose pages are kept as long.
                self._intake.flush()
        self._waiting.update({each.class_hash: each for each in found if each.class_hash not in late})
        if sum(len(each.rendered) for each in self._waiting.values()) > MOST_WAITING_BYTES:
            self._waiting.clear()
            raise RefusedRecordError(
                record.id, f"the classes that wait for its block have more than {MOST_WAITING_BYTES} bytes"
            )

    def _checked(self, record: Record, class_hash: bytes, text: bytes) -> ContractClass:
        """Return a definition; its hash is verified where its kind allows that."""
        try:
            return checked(decode_class(text), class_hash, f"record {record.id}", logger.info)
        except (NotAClassError, ClassHashMismatchError) as error:
            raise RefusedRecordError(record.id, f"class {felt_text(class_hash)}: {error}") from None


class StarknetReplicaChain:
    """Starknet chain in a replica, whose changes are published as one; implements `ReplicaChain`."""

    def __init__(
        self, chain: StarknetChain, applier: StarknetLogApplier, publish: Callable[[], object]
    ) -> None:
        """Prepare to apply records; `publish` is called after each change."""
        self._chain = chain
        self._applier = applier
        self._publish = publish

    @property
    def head(self) -> Head:
        """Return the head, block -1 of an empty chain."""
        with self._chain.snapshot() as view:
            return standing_of(view).head

    def __str__(self) -> str:
        head = self.head
        return "no Starknet block" if head.number < 0 else f"Starknet block {head}"

    def reaches(self, state: ChainState) -> bool:
        """Return True if the chain can reach a state by taking back blocks alone."""
        with self._chain.snapshot() as view:
            return is_reachable(view, state)

    def has_left(self, head: Head) -> bool:
        """Return False, since blocks that left the chain are not kept."""
        return False

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Publish the changes as one."""
        try:
            yield
        finally:
            self._publish()

    async def apply(self, record: Record) -> None:
        """Apply a record, as `StarknetLogApplier.apply`."""
        await in_thread(partial(self._applier.apply, record))

    async def go_back(self, state: ChainState) -> None:
        """Take back blocks beyond a state, as `StarknetLogApplier.go_back`."""
        await in_thread(partial(self._applier.go_back, state))
