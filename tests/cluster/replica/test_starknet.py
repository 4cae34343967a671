"""A replica of a Starknet chain's journal that is written, lost, emptied and forged, in memory."""

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cluster.memory_journal import MemoryJournal
from tests.cluster.replica.test_following import FULL, running, until
from tests.cluster.starknet.growing import (
    DoneTo,
    GrowingStarknet,
    doings,
    new_starknet_chain,
    next_block,
    rows,
    sierra,
)
from tests.cluster.tenure.tenures import publish
from tests.drawing import examples
from tests.file_limits import files_of_at_most
from tests.vector_files import find_vectors, require_vectors
from wsnode.cluster.journal import JournalLimits
from wsnode.cluster.leader_session import PublishedChain
from wsnode.cluster.records import (
    BlockRecord,
    ClassesRecord,
    FinalityRecord,
    Record,
    ReorgRecord,
    Rollback,
    StarknetBlockRecord,
)
from wsnode.cluster.replica.errors import RefusedRecordError
from wsnode.cluster.replica.following import Replica
from wsnode.cluster.replica.starknet import StarknetLogApplier, StarknetReplicaChain
from wsnode.cluster.starknet.documents import block_document, classes_document, read_block
from wsnode.cluster.starknet.source import StarknetSource
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.importer import BlockImporter
from wsnode.starknet.live.hub import StarknetHub
from wsnode.sync.follow.sync_report import SyncStage
from wsnode.sync.starknet_folder import import_folder

TRIMMED = JournalLimits(records=2, blocks=1)


class World:
    """A Starknet chain that is written and published, and one that replicas repeat it on."""

    def __init__(self, stack: ExitStack, bounds: JournalLimits | None = None) -> None:
        self.written = stack.enter_context(new_starknet_chain())
        self.repeated = stack.enter_context(new_starknet_chain())
        self.growing = GrowingStarknet(self.written)
        self.growing.begin()
        self.first = Hash32(self.growing.first_hash)
        self.journal = MemoryJournal(self.first, bounds)
        self._writers = 0

    async def publish(self) -> None:
        """Publish all that is written, as a process that was just started."""
        self._writers += 1
        self.journal.now += 60
        await publish(PublishedChain(StarknetSource(self.written), f"writer {self._writers}"), self.journal)

    def replica(self) -> Replica:
        self.hub = StarknetHub(self.repeated)
        self.applier = StarknetLogApplier(self.repeated, self.first)
        return Replica(StarknetReplicaChain(self.repeated, self.applier, self.hub.advance), self.open)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[MemoryJournal]:
        yield self.journal

    @asynccontextmanager
    async def caught_up(self) -> AsyncIterator[Replica]:
        """Run a replica, and yield it once it has what is written."""
        replica = self.replica()
        async with running(replica):
            await self.reached(replica)
            yield replica
        self.applier.give_up()

    async def reached(self, replica: Replica) -> None:
        """Return once the replica has what is written."""
        wanted = rows(self.written)

        def is_there() -> bool:
            assert replica.stage is not SyncStage.STOPPED, replica.error
            return replica.stage is SyncStage.LIVE and rows(self.repeated) == wanted

        await until(is_there)


async def test_a_replica_has_the_blocks_and_classes_of_its_writer() -> None:
    with ExitStack() as stack:
        here = World(stack)
        here.growing.extend(3)
        here.growing.declare([0, 1], are_found=True)
        here.growing.declare([2], are_found=False)
        await here.publish()
        async with here.caught_up() as replica:
            here.growing.replace(3, 4)
            here.growing.declare([2], are_found=False)
            await here.publish()
            await here.reached(replica)
            here.growing.find([2])
            await here.publish()
            await here.reached(replica)
            with here.repeated.snapshot() as view:
                assert view.chain_id == "TEST"
                assert not view.missing_classes()
                assert view.rendered_class(sierra(2).class_hash) == sierra(2).rendered
                assert here.hub.head.number == view.head
        assert (replica.reorganisations, replica.refused, replica.replica_lag.lag) == (1, 0, 0)


async def test_real_blocks_are_repeated_with_their_roots_and_classes(tmp_path: Path) -> None:
    mainnet = require_vectors("starknet/mainnet")
    with ExitStack() as stack:
        here = World(stack)
        here.written = stack.enter_context(StarknetChain.open(tmp_path, writer=True))
        await import_folder(here.written, mainnet, find_vectors("starknet/classes"))
        here.first = Hash32(GrowingStarknet(here.written).first_hash)
        here.journal = MemoryJournal(here.first)
        await here.publish()
        async with here.caught_up():
            with here.repeated.snapshot() as copy, here.written.snapshot() as view:
                assert copy.chain_id == view.chain_id == "SN_MAIN"
                assert copy.missing_classes() == view.missing_classes()


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(doings(), min_size=1, max_size=5),
    st.integers(0, 9),
    st.lists(doings(), max_size=4),
    st.booleans(),
)
def test_whatever_is_done_lost_and_begun_again_the_replica_ends_as_its_writer(
    deeds: list[DoneTo], lost: int, others: list[DoneTo], restarts: bool
) -> None:
    async def live() -> None:
        with ExitStack() as stack:
            here = World(stack)
            for do in deeds:
                do(here.growing)
            await here.publish()
            async with here.caught_up() as replica:
                if not restarts:
                    await here_after(here)
                    await here.reached(replica)
            if restarts:
                await here_after(here)
                async with here.caught_up():
                    pass

    async def here_after(here: World) -> None:
        here.journal.lose(min(lost, here.journal.entries))
        for do in others:
            do(here.growing)
            await here.publish()
        here.growing.extend(1)
        await here.publish()

    trio.run(live)


@pytest.mark.parametrize("has_branch", [False, True], ids=["before the branch", "with the branch"])
async def test_a_class_found_before_a_reorganisation_comes_to_a_replica_that_was_away(
    *, has_branch: bool
) -> None:
    with ExitStack() as stack:
        here = World(stack)
        here.growing.declare([0], are_found=False)
        if has_branch:
            here.growing.extend(3)
        await here.publish()
        async with here.caught_up():
            pass
        if not has_branch:
            here.growing.extend(3)
            await here.publish()
        here.growing.find([0])
        await here.publish()
        here.growing.replace(2, 2)
        await here.publish()
        here.growing.extend(1)
        await here.publish()
        async with here.caught_up():
            with here.repeated.snapshot() as view:
                assert not view.missing_classes()


async def test_what_was_published_before_a_crash_is_not_published_again() -> None:
    with ExitStack() as stack:
        here = World(stack)
        here.growing.declare([0], are_found=True)
        await here.publish()
        records = here.journal.entries
        await here.publish()
        assert here.journal.entries == records


async def test_a_journal_that_was_emptied_is_begun_anew_and_takes_nothing_back() -> None:
    with ExitStack() as stack:
        here = World(stack)
        here.growing.extend(3)
        await here.publish()
        async with here.caught_up() as replica:
            here.journal.lose(here.journal.entries)
            here.growing.extend(2)
            await here.publish()
            await here.reached(replica)
            assert replica.reorganisations == 0


async def test_blocks_that_a_trimmed_journal_lacks_need_a_snapshot(caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as stack:
        here = World(stack, TRIMMED)
        here.growing.extend(5)
        await here.publish()
        replica = here.replica()
        async with running(replica):
            await until(lambda: replica.stage is SyncStage.STOPPED)
        assert replica.error is not None
        assert "and there is no block here: stop this node, restore a snapshot" in replica.error
        assert "following stopped at no Starknet block: the journal continues after block 3" in caplog.text
        assert replica.refused == 0


Forge = Callable[[World, Record], Record]


def with_members(**members: Any) -> Forge:
    """Return what replaces members of a block's document."""

    def forge(_here: World, record: Record) -> Record:
        assert isinstance(record.change, StarknetBlockRecord)
        document = msgspec.json.encode({**msgspec.json.decode(record.change.document), **members})
        return msgspec.structs.replace(record, change=StarknetBlockRecord(document))

    return forge


def with_change(change: Any) -> Forge:
    return lambda _here, record: msgspec.structs.replace(record, change=change)


def of_another_root(_here: World, record: Record) -> Record:
    """Return a record that is consistent but for the state that it leads to."""
    root = Hash32(b"\1" * 32)
    forged = with_members(new_root=f"0x{root.hex()}")(_here, record)
    return msgspec.structs.replace(forged, after=msgspec.structs.replace(record.after, state_root=root))


def down_to_nowhere(_here: World, record: Record) -> Record:
    head = Head(BlockNumber(0), Hash32(b"\1" * 32))
    after = msgspec.structs.replace(record.after, head=head)
    return msgspec.structs.replace(record, change=Rollback(), after=after)


def classes(text: bytes) -> Forge:
    return with_change(ClassesRecord(text))


WRONG = classes_document([(sierra(0).class_hash, sierra(1).rendered)])


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        pytest.param(with_members(block_hash="0x1"), "its block is 2 0x1, state", id="hash"),
        pytest.param(with_members(block_number=7), "its block is 7", id="number"),
        pytest.param(with_members(parent_hash="0x1"), "parent_hash: expected", id="parent"),
        pytest.param(with_members(old_root="0x1"), "old_root: expected", id="old root"),
        pytest.param(
            with_members(state_diff_commitment="0x1"), "state_diff_commitment: expected", id="commitment"
        ),
        pytest.param(
            with_members(state_diff={"storage_diffs": []}), "state_diff_commitment: expected", id="changes"
        ),
        pytest.param(
            with_members(state_diff={"storage_diffs": []}, state_diff_commitment=None),
            "state_root: expected",
            id="changes without a commitment",
        ),
        pytest.param(of_another_root, "state_root: expected", id="new root"),
        pytest.param(with_members(state_diff={"storage_diffs": 7}), "its block: ", id="no changes"),
        pytest.param(with_change(StarknetBlockRecord(b"{")), "its block: ", id="no block"),
        pytest.param(
            with_change(FinalityRecord()), "no Starknet chain has such a change", id="another chain's change"
        ),
        pytest.param(classes(b"[]"), "its classes: ", id="no classes"),
        pytest.param(classes(b'{"0x1":{}}'), "class 0x1: no class", id="no class"),
        pytest.param(classes(WRONG), "it hashes to 0x", id="another class"),
        pytest.param(down_to_nowhere, "is not below the head", id="down to nowhere"),
    ],
)
async def test_a_forged_record_is_refused_and_the_last_good_head_stays(forge: Forge, reason: str) -> None:
    with ExitStack() as stack:
        here = World(stack)
        here.growing.extend(1)
        await here.publish()
        async with here.caught_up():
            good = rows(here.repeated)
        here.growing.extend(1)
        await here.publish()
        applier = StarknetLogApplier(here.repeated, here.first)
        last = here.journal.written[-1]
        with pytest.raises(RefusedRecordError) as raised:
            applier.apply(forge(here, last))
        assert reason in str(raised.value)
        assert str(raised.value).startswith(f"record {last.id} is refused: ")
        assert rows(here.repeated) == good
        applier.apply(last)
        assert rows(here.repeated) == rows(here.written)
        applier.give_up()


async def test_a_reorganisation_with_classes_is_one_commit() -> None:
    with ExitStack() as stack:
        here = World(stack)
        here.growing.extend(3)
        await here.publish()
        async with here.caught_up():
            pass
        here.growing.replace(2, 2)
        here.growing.declare([0, 1], are_found=True)
        await here.publish()
        classes_record, reorg = here.journal.written[-2:]
        assert isinstance(classes_record.change, ClassesRecord)
        assert isinstance(reorg.change, ReorgRecord)
        applier = StarknetLogApplier(here.repeated, here.first)
        before = here.repeated.version
        applier.apply(classes_record)
        applier.apply(reorg)
        assert here.repeated.version == before + 1
        assert rows(here.repeated) == rows(here.written)
        applier.apply(reorg)
        assert here.repeated.version == before + 1
        applier.give_up()


def reorg_without(_here: World, record: Record) -> Record:
    return with_blocks(record, ())


def reorg_of_a_part(_here: World, record: Record) -> Record:
    assert isinstance(record.change, ReorgRecord)
    return with_blocks(record, record.change.blocks[1:])


def reorg_of_another_chain(_here: World, record: Record) -> Record:
    return with_blocks(record, (BlockRecord(b""),))


def reorg_from_nowhere(_here: World, record: Record) -> Record:
    assert isinstance(record.change, ReorgRecord)
    ancestor = msgspec.structs.replace(record.change.ancestor, head=Head(BlockNumber(1), Hash32(b"\1" * 32)))
    return msgspec.structs.replace(record, change=msgspec.structs.replace(record.change, ancestor=ancestor))


def with_blocks(record: Record, blocks: tuple[Any, ...]) -> Record:
    return msgspec.structs.replace(record, change=msgspec.structs.replace(record.change, blocks=blocks))


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (reorg_without, "it has no block"),
        (reorg_of_a_part, "number: expected 2, got 3"),
        (reorg_of_another_chain, "it has no block of a Starknet chain"),
        (reorg_from_nowhere, "is not below the head"),
    ],
)
async def test_a_forged_reorganisation_is_refused_and_changes_nothing(forge: Forge, reason: str) -> None:
    with ExitStack() as stack:
        here = World(stack)
        here.growing.extend(3)
        await here.publish()
        async with here.caught_up():
            good = rows(here.repeated)
        here.growing.replace(2, 2)
        await here.publish()
        record = here.journal.written[-1]
        applier = StarknetLogApplier(here.repeated, here.first)
        with pytest.raises(RefusedRecordError) as raised:
            applier.apply(forge(here, record))
        assert reason in str(raised.value)
        assert rows(here.repeated) == good
        applier.apply(record)
        assert rows(here.repeated) == rows(here.written)
        applier.give_up()


async def test_a_refused_record_ends_following_until_it_is_begun_again() -> None:
    with ExitStack() as stack:
        here = World(stack)
        here.growing.extend(1)
        await here.publish()
        async with here.caught_up() as replica:
            lease = await here.journal.claim("forger", 0)
            last = here.journal.written[-1]
            forged = with_members(parent_hash="0x1")(here, last)
            record = msgspec.structs.replace(
                forged,
                id=msgspec.structs.replace(last.id, epoch=lease.epoch, sequence=1),
                previous=last.id,
                before=last.after,
                after=_of(next_block(here.written), last),
            )
            await here.journal.append(lease, record)
            await until(lambda: replica.stage is SyncStage.STOPPED)
            assert replica.refused == 1
            assert replica.not_ready_reason() is not None
            here.journal.lose(1)
            here.growing.extend(1)
            await here.publish()
            replica.begin_again(here.open)
            await here.reached(replica)


def _of(block: Any, last: Record) -> Any:
    head = Head(BlockNumber(block.number), Hash32(block.hash))
    return msgspec.structs.replace(last.after, head=head, state_root=Hash32(block.new_root))


async def test_a_chain_with_another_first_block_is_not_begun() -> None:
    with ExitStack() as stack:
        here = World(stack)
        await here.publish()
        applier = StarknetLogApplier(here.repeated, Hash32(b"\1" * 32))
        with pytest.raises(RefusedRecordError, match="its first block is 0x"):
            applier.apply(here.journal.written[0])
        with here.repeated.snapshot() as view:
            assert view.head is None


async def test_a_record_of_another_chain_stops_a_replica() -> None:
    with ExitStack() as stack:
        here, other = World(stack), World(stack)
        await other.publish()
        other.journal._genesis = here.first = Hash32(b"\1" * 32)
        here.journal = other.journal
        replica = here.replica()
        async with running(replica):
            await until(lambda: replica.stage is SyncStage.STOPPED)
        assert replica.error is not None
        assert "a record of the chain whose first block is" in replica.error


async def test_a_history_that_begins_later_is_repeated_without_roots() -> None:
    with ExitStack() as stack:
        here = World(stack)
        here.growing.extend(2)
        partial_chain = stack.enter_context(new_starknet_chain())
        with here.written.snapshot() as view:
            blocks = [read_block(block_document(view, number)) for number in (1, 2)]
        intake = BlockImporter(partial_chain, lambda _hash: None)
        intake.begin(1, None)
        for block in blocks:
            intake.take(block)
        intake.close()
        here.written = partial_chain
        here.first = Hash32(blocks[0].hash)
        here.journal = MemoryJournal(here.first)
        await here.publish()
        async with here.caught_up():
            with here.repeated.snapshot() as copy:
                assert (copy.first_block, copy.head, copy.chain_id) == (1, 2, None)


async def test_a_class_that_is_found_while_the_journal_has_lost_its_block_comes_to_readers_that_have_it() -> (
    None
):
    with ExitStack() as stack:
        here = World(stack)
        here.growing.declare([0], are_found=False)
        here.growing.extend(2)
        await here.publish()
        async with here.caught_up() as replica:
            here.journal.lose(3)
            here.growing.find([0])
            await here.publish()
            await here.reached(replica)
            assert replica.reorganisations == 0


@pytest.mark.parametrize("is_late", [False, True], ids=["before their block", "late"])
async def test_classes_that_a_killed_process_had_not_stored_are_read_again(is_late: bool) -> None:
    with ExitStack() as stack:
        here = World(stack)
        here.growing.declare([0], are_found=not is_late)
        await here.publish()
        here.growing.find([0])
        await here.publish()
        here.growing.extend(1)
        await here.publish()
        changes = [type(record.change) for record in here.journal.written]
        killed_at = 2
        assert changes[1:3] == (
            [StarknetBlockRecord, ClassesRecord] if is_late else [ClassesRecord, StarknetBlockRecord]
        )
        killed = StarknetLogApplier(here.repeated, here.first)
        for record in here.journal.written[:killed_at]:
            killed.apply(record)
        killed.give_up()
        async with here.caught_up():
            with here.repeated.snapshot() as view:
                assert view.rendered_class(sierra(0).class_hash) == sierra(0).rendered


async def test_blocks_are_taken_once_there_is_room() -> None:
    with ExitStack() as stack:
        here = World(stack)
        here.growing.extend(3)
        await here.publish()
        replica = here.replica()
        async with running(replica):
            with files_of_at_most(FULL):
                await until(lambda: replica.stage is SyncStage.UNSTORED)
                with here.repeated.snapshot() as view:
                    assert view.head is None
            await here.reached(replica)
        assert replica.refused == 0
        here.applier.give_up()
