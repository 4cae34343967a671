"""A replica of a journal that is written, lost, emptied, damaged and away, in memory."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cluster.growing import DoneTo, Growing, doings, new_chain
from tests.cluster.memory_journal import MemoryJournal
from tests.cluster.replaying import standing_of
from tests.cluster.replica.test_peer_nodes import blocks_of
from tests.cluster.tenure.tenures import publish
from tests.drawing import examples
from tests.file_limits import files_of_at_most
from wsnode.cluster.journal import JournalLimits, JournalUnavailableError
from wsnode.cluster.journal_diff import EthereumSource
from wsnode.cluster.leader_session import RENEWAL_SECONDS, PublishedChain
from wsnode.cluster.records import Record, RecordId
from wsnode.cluster.replica.apply import EthereumReplicaChain, GapError
from wsnode.cluster.replica.following import HELD_SECONDS, LATE_SECONDS, RECORDS_BACK, Replica
from wsnode.cluster.replica.peer_nodes import take
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.sync.follow.sync_report import SyncStage

PATIENCE = 60
FULL = 4096
TRIMMED = JournalLimits(records=4, blocks=2)
LEFT_BRANCH: Sequence[DoneTo] = (
    partial(Growing.extend, blocks=3),
    partial(Growing.replace, depth=3, blocks=20),
)
"""A branch, and another one in its place."""
OF_THE_NEXT = 21
"""Records of the second."""
LEFT_WITH_A_CHANGE: Sequence[DoneTo] = (
    partial(Growing.patch, account=4096, balance=1),
    partial(Growing.extend, blocks=1),
    partial(Growing.extend, blocks=1),
    partial(Growing.unwind, depth=2),
)
"""Blocks on a state that was changed by hand, and how both were left."""
OF_ITS_END = 2
"""Records of how they were left."""
AWAY = "the journal at memory cannot be reached: it was taken away"


class NotingCopy(EthereumReplicaChain):
    """A copy of a development chain that notes the number of its head after each record."""

    def __init__(self, chain: Chain, live: LiveTree, heads: list[int]) -> None:
        super().__init__(chain, live, is_development=True)
        self._heads = heads

    async def apply(self, record: Record) -> None:
        await super().apply(record)
        self._heads.append(self.head.number)


class World:
    """A chain that is written and published, and one that replicas repeat it on."""

    def __init__(self, stack: ExitStack, bounds: JournalLimits | None = None) -> None:
        self.written = stack.enter_context(new_chain())
        self.repeated = stack.enter_context(new_chain())
        self.growing = Growing(self.written)
        self.journal = MemoryJournal(self.written.spec.genesis_hash, bounds)
        self._writers = 0
        self.heads: list[int] = []
        """After each record that was repeated."""

    async def publish(self, chain: Chain | None = None, *, is_sole: bool = True) -> None:
        """Publish all that is written, or another chain, as a process that was just started."""
        self._writers += 1
        self.journal.now += 60
        source = EthereumSource(chain or self.written, is_development=is_sole)
        published = PublishedChain(source, f"writer {self._writers}")
        await publish(published, self.journal)

    def replica(self, held_seconds: float = HELD_SECONDS) -> Replica:
        self.live_tree = LiveTree(BlockTree(self.repeated), Hub(self.repeated))
        return Replica(self.copy(), self.open, held_seconds=held_seconds)

    def copy(self) -> EthereumReplicaChain:
        return NotingCopy(self.repeated, self.live_tree, self.heads)

    def bridged_replica(self, blocks: Sequence[UnverifiedBlock]) -> Replica:
        """Return a replica beside a node that has all of some blocks."""

        async def bridge(gap: GapError) -> bool:
            return await take(self.live_tree, blocks[: gap.wanted.head.number])

        self.live_tree = LiveTree(BlockTree(self.repeated), Hub(self.repeated))
        return Replica(self.copy(), self.open, bridge=bridge)

    async def caught_up(self, replica: Replica) -> None:
        """Return once the replica stands as what is written."""
        wanted = standing_of(self.written)
        await until(lambda: replica.stage is SyncStage.LIVE and standing_of(self.repeated) == wanted)

    async def live_through(self, replica: Replica, deeds: Sequence[DoneTo]) -> None:
        """Publish each of some deeds, and return once the replica has repeated all."""
        for do in deeds:
            do(self.growing)
            await self.publish()
            await self.caught_up(replica)

    async def lose_and_publish(self, records: int, replica: Replica) -> None:
        """Lose records, write on, and fail if the replica takes anything back until it has it all."""
        self.heads[:] = [self.repeated.head.number]
        self.journal.lose(records)
        replica.begin_again(self.open)
        await until(lambda: replica.is_reachable and replica.position == self.journal._entries[-1][0])
        self.growing.extend(1)
        await self.publish()
        await self.caught_up(replica)
        assert self.heads == sorted(self.heads)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[MemoryJournal]:
        if self.journal.is_away:
            raise JournalUnavailableError("memory", "it was taken away")
        yield self.journal


@contextmanager
def world(bounds: JournalLimits | None = None) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(stack, bounds)


@asynccontextmanager
async def published(blocks: int, bounds: JournalLimits | None = None) -> AsyncIterator[World]:
    """Yield a world of some blocks, which the journal has."""
    with world(bounds) as here:
        here.growing.extend(blocks)
        await here.publish()
        yield here


async def until(what: Callable[[], bool]) -> None:
    """Return once something is so, which it may become with each change, and while the journal is asked."""
    with trio.fail_after(PATIENCE):
        while not what():  # noqa: ASYNC110
            # Nothing tells of every state of a replica that a test waits for.
            await trio.sleep(0.01)


@asynccontextmanager
async def running(replica: Replica) -> AsyncIterator[None]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(replica.run)
        yield
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def caught_up(here: World) -> AsyncIterator[Replica]:
    """Run a replica, and yield it once it stands as what is written."""
    replica = here.replica()
    async with running(replica):
        await here.caught_up(replica)
        yield replica


async def test_a_replica_stands_as_what_is_written() -> None:
    async with published(12) as here:
        replica = here.replica()
        assert replica.not_ready_reason() == "the journal was not reached yet"
        async with running(replica):
            await here.caught_up(replica)
            assert replica.not_ready_reason() is None
            here.growing.replace(3, 4)
            here.growing.patch(4096, 7)
            here.growing.set_chain_id(9)
            await here.publish()
            await here.caught_up(replica)
        assert (replica.reorganisations, replica.refused, replica.replica_lag.lag) == (1, 0, 0)


async def test_the_journals_height_is_said_before_its_blocks_are_here() -> None:
    async with published(3) as here:
        replica = here.replica()
        heights: list[tuple[int | None, int]] = []
        replica.on_height.append(lambda: heights.append((replica.replica_lag.tip, here.repeated.head.number)))
        async with running(replica):
            await here.caught_up(replica)
            here.growing.extend(1)
            await here.publish()
            await here.caught_up(replica)
        assert heights == [(3, 0), (4, 3)]


async def test_a_replica_that_was_stopped_goes_on_where_it_was() -> None:
    async with published(20) as here:
        for blocks in (1, 30):
            async with caught_up(here):
                pass
            here.growing.replace(2, blocks)
            await here.publish()
        async with caught_up(here) as replica:
            pass
        assert replica.repeated <= 32 + 2


async def test_a_chain_that_has_nothing_but_another_id_has_that_repeated() -> None:
    with world() as here:
        here.growing.extend(1)
        here.growing.set_chain_id(2)
        here.growing.unwind(1)
        await here.publish()
        async with caught_up(here):
            pass


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(doings(), min_size=1, max_size=6), st.integers(1, 6), st.lists(doings(), max_size=6))
def test_records_that_are_lost_and_written_otherwise_are_taken_back(
    deeds: list[DoneTo], lost: int, others: list[DoneTo]
) -> None:
    async def live() -> None:
        with world() as here:
            here.growing.extend(2)
            for do in deeds:
                do(here.growing)
            await here.publish()
            async with caught_up(here) as replica:
                here.journal.lose(min(lost, here.journal.entries))
                for do in others:
                    do(here.growing)
                here.growing.extend(1)
                await here.publish()
                await here.caught_up(replica)

    trio.run(live)


@settings(max_examples=examples(10), deadline=None)
@given(st.lists(doings(), min_size=1, max_size=6), st.lists(doings(), min_size=1, max_size=6))
def test_a_chain_that_went_another_way_comes_back(deeds: list[DoneTo], others: list[DoneTo]) -> None:
    async def live() -> None:
        with world() as here:
            for do in deeds:
                do(here.growing)
            await here.publish()
            first = here.replica()
            async with running(first):
                await until(lambda: standing_of(here.repeated).head == standing_of(here.written).head)
            astray = Growing(here.repeated)
            astray.patch(4097, 12345)
            astray.extend(2)
            for do in others:
                do(here.growing)
            here.growing.extend(1)
            await here.publish()
            async with caught_up(here):
                pass

    trio.run(live)


async def test_an_emptied_journal_goes_on_without_a_reorganisation() -> None:
    async with published(10) as here:
        async with caught_up(here) as replica:
            here.journal.lose(here.journal.entries)
            here.growing.extend(1)
            await here.publish()
            await here.caught_up(replica)
        assert replica.reorganisations == 0


async def keep_all(deeds: Sequence[DoneTo], blocks: int, lost: int, *, is_begun_again: bool) -> None:
    """Fail if a replica takes anything back while records that it has repeated are lost and written again."""
    async with published(blocks) as here:
        async with caught_up(here) as replica:
            await here.live_through(replica, deeds)
            lost = min(lost, here.journal.entries - 1)
            if not is_begun_again:
                await here.lose_and_publish(lost, replica)
        if is_begun_again:
            here.journal.lose(lost)
            replica = here.replica()
            async with running(replica):
                await here.lose_and_publish(0, replica)


@pytest.mark.parametrize("is_begun_again", [False, True], ids=["goes on", "begins again"])
async def test_a_journal_that_lost_how_a_branch_was_left_does_not_lead_back_to_it(
    is_begun_again: bool,
) -> None:
    await keep_all(LEFT_BRANCH, 10, OF_THE_NEXT, is_begun_again=is_begun_again)


async def test_nor_does_one_that_lost_how_a_branch_on_a_changed_state_was_left() -> None:
    await keep_all(LEFT_WITH_A_CHANGE, 3, OF_ITS_END, is_begun_again=True)


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(doings(), min_size=1, max_size=8), st.integers(1, 40), st.booleans())
def test_a_replica_that_has_all_takes_nothing_back_whatever_end_of_the_journal_is_lost(
    deeds: list[DoneTo], lost: int, is_begun_again: bool
) -> None:
    trio.run(partial(keep_all, deeds, 3, lost, is_begun_again=is_begun_again))


async def test_a_writer_that_went_back_where_the_journal_had_lost_a_branch_is_followed() -> None:
    async with published(10) as here, caught_up(here) as replica:
        await here.live_through(replica, LEFT_BRANCH)
        here.journal.lose(OF_THE_NEXT)
        here.growing.unwind(20)
        await here.publish()
        await here.caught_up(replica)


@asynccontextmanager
async def written_anew_from_behind(held_seconds: float) -> AsyncIterator[tuple[World, Replica, Chain]]:
    """Yield a replica of a journal that was emptied, and then written by a node that had less, and otherwise.

    It has eight blocks, and the node the first five of them, and another one.
    """
    with world() as here, new_chain() as behind:
        here.growing.extend(8)
        await here.publish(is_sole=False)
        live = LiveTree(BlockTree(behind), Hub(behind))
        assert await take(live, (await blocks_of(here.written))[:5])
        Growing(behind).extend(1)
        replica = here.replica(held_seconds)
        async with running(replica):
            await here.caught_up(replica)
            here.heads.clear()
            here.journal.lose(here.journal.entries)
            await here.publish(behind, is_sole=False)
            yield here, replica, behind


async def test_a_branch_is_kept_when_a_writer_that_is_behind_writes_an_emptied_journal_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "wsnode.replica")
    async with written_anew_from_behind(HELD_SECONDS) as (here, replica, _behind):
        await until(lambda: "is kept for now" in caplog.text)
        assert replica.not_ready_reason() is None
        # As the writer does once it has the branch too.
        here.growing.extend(1)
        await here.publish(is_sole=False)
        await here.caught_up(replica)
        assert min(here.heads) >= 8
    assert caplog.text.count("is kept for now") == 1


async def test_a_branch_is_not_held_by_ever() -> None:
    async with written_anew_from_behind(0.5) as (here, _replica, behind):
        await until(lambda: standing_of(here.repeated) == standing_of(behind))


async def test_a_branch_is_not_kept_when_another_one_becomes_as_high() -> None:
    async with written_anew_from_behind(HELD_SECONDS) as (here, replica, behind):
        Growing(behind).extend(3)
        began = trio.current_time()
        await here.publish(behind, is_sole=False)
        await until(
            lambda: replica.stage is SyncStage.LIVE and standing_of(here.repeated) == standing_of(behind)
        )
        assert trio.current_time() - began < HELD_SECONDS
        assert replica.not_ready_reason() is None


async def test_a_journal_that_stands_still_is_noticed_as_soon_as_a_writer_notices_it() -> None:
    async with published(3) as here, caught_up(here):
        await until(lambda: here.journal.longest_wait > 0)
    assert here.journal.longest_wait <= RENEWAL_SECONDS


async def test_a_journal_that_is_away_is_tried_again_while_clients_are_served(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with published(3) as here, caught_up(here) as replica:
        with caplog.at_level(logging.WARNING):
            here.journal.is_away = True
            replica.begin_again(here.open)
            await until(lambda: not replica.is_reachable)
        assert replica.not_ready_reason() is None
        here.journal.is_away = False
        here.growing.extend(1)
        await here.publish()
        await here.caught_up(replica)
        assert replica.is_reachable
    told = [record.message for record in caplog.records]
    assert told == [f"{AWAY}; stored blocks are served, and the journal is tried again"]


async def test_a_damaged_record_stops_a_replica_until_an_operator_begins_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with published(3) as here:
        async with caught_up(here):
            pass
        good = standing_of(here.repeated)
        here.growing.extend(2)
        await here.publish()
        name, content, is_block = here.journal._entries[-2]
        here.journal._entries[-2] = name, content[:-1] + bytes([content[-1] ^ 1]), is_block
        replica = here.replica()
        async with running(replica):
            with caplog.at_level(logging.ERROR):
                await until(lambda: replica.stage is SyncStage.STOPPED)
            assert standing_of(here.repeated) == good
            assert replica.refused == 1
            assert (replica.not_ready_reason() or "").startswith(
                "following stopped: a record of the journal cannot be"
            )
            here.journal._entries[-2] = name, content, is_block
            replica.begin_again(here.open)
            await here.caught_up(replica)
    (line,) = [record.message for record in caplog.records]
    assert line.startswith("following stopped at block 3 0x")


async def test_a_replica_goes_on_once_what_is_no_record_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    async with published(3) as here:
        replica = here.replica()
        async with running(replica):
            await here.caught_up(replica)
            good = here.journal._entries[-1]
            here.journal._entries.append((RecordId(good[0].epoch, good[0].sequence + 1), b"poison", False))
            with caplog.at_level(logging.ERROR):
                here.journal._appended.set()
                await until(lambda: replica.stage is SyncStage.STOPPED)
                here.journal._entries.pop()
                await here.caught_up(replica)
            here.growing.extend(1)
            await here.publish()
            await here.caught_up(replica)
            assert replica.refused == 1
            assert replica.error is None
    assert len(caplog.records) == 1


async def test_a_replica_that_has_not_what_a_trimmed_journal_begins_with_says_to_restore_a_snapshot() -> None:
    async with published(12, TRIMMED) as here:
        assert here.journal.entries < 12
        replica = here.replica()
        async with running(replica):
            await until(lambda: replica.stage is SyncStage.STOPPED)
        assert "restore a snapshot" in (replica.error or "")
        assert replica.refused == 0


async def test_blocks_of_other_nodes_are_taken_once_there_is_room() -> None:
    async with published(12, TRIMMED) as here:
        replica = here.bridged_replica(await blocks_of(here.written))
        async with running(replica):
            with files_of_at_most(FULL):
                await until(lambda: replica.stage is SyncStage.UNSTORED)
                assert here.repeated.head.number == 0
            await here.caught_up(replica)


@pytest.mark.parametrize("bounds", [None, TRIMMED], ids=["the journal", "other nodes"])
async def test_the_writers_branch_is_followed_also_from_below_the_finalized_block(
    bounds: JournalLimits | None,
) -> None:
    async with published(12, bounds) as here:
        Growing(here.repeated).extend(6)
        here.repeated.mark_final(here.repeated.head)
        replica = here.bridged_replica(await blocks_of(here.written))
        async with running(replica):
            await here.caught_up(replica)
        assert replica.refused == 0


async def test_a_record_of_another_chain_stops_a_replica() -> None:
    async with published(1) as here:
        replica = here.replica()
        here.journal._genesis = b"\0" * 32
        async with running(replica):
            await until(lambda: replica.stage is SyncStage.STOPPED)
        assert "first block" in (replica.error or "")
        assert here.repeated.head.number == 0


async def test_a_replica_that_cannot_store_says_how_far_it_is_behind_the_journals_last_record() -> None:
    async with published(3) as here:
        async with caught_up(here):
            pass
        here.growing.extend(5)
        await here.publish()
        entries = here.journal._entries
        here.journal._entries = entries[:-4]
        replica = here.replica()
        async with running(replica):
            with files_of_at_most(FULL):
                await until(lambda: replica.stage is SyncStage.UNSTORED)
                assert replica.replica_lag.lag == 1
                here.journal._entries = entries
                await until(lambda: replica.replica_lag.lag == 5)
                here.journal.is_away = True
                await until(lambda: not replica.is_reachable)
                assert replica.stage is SyncStage.UNSTORED
                here.journal.is_away = False
            await here.caught_up(replica)


async def test_an_empty_journal_makes_no_replica_ready_and_is_said_to_be_empty(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with world() as here:
        replica = here.replica()
        async with running(replica):
            await until(lambda: replica.is_reachable)
            assert replica.not_ready_reason() == "the journal is empty"
            assert caplog.messages == [
                "the journal at memory is empty: no node has published this chain there yet; check the "
                "--journal of the node that writes it"
            ]
            here.growing.extend(1)
            await here.publish()
            await here.caught_up(replica)


async def test_a_replica_that_was_held_up_is_not_live_before_it_has_what_came_meanwhile(
    mock_clock: trio.testing.MockClock,
) -> None:
    mock_clock.rate = 1.0
    async with published(1) as here, caught_up(here) as replica:
        stages: list[SyncStage] = []
        replica.on_stage.append(lambda: stages.append(replica.stage))
        async with here.live_tree.lock:
            here.growing.extend(1)
            await here.publish()
            await until(lambda: replica.replica_lag.tip == 2)
            here.growing.extend(5)
            await here.publish()
            mock_clock.jump(2 * LATE_SECONDS)
        await here.caught_up(replica)
    assert stages == [SyncStage.CATCHING_UP, SyncStage.LIVE]


@pytest.mark.timeout(60)
async def test_a_replica_is_live_as_soon_as_it_has_a_full_answer_of_records(
    mock_clock: trio.testing.MockClock,
) -> None:
    # The clock stands, so to wait for more would be to wait for ever.
    async with published(RECORDS_BACK) as here, trio.open_nursery() as nursery:
        replica, live = here.replica(), trio.Event()
        replica.on_stage.append(lambda: live.set() if replica.stage is SyncStage.LIVE else None)
        nursery.start_soon(replica.run)
        await live.wait()
        assert here.repeated.head == here.written.head
        nursery.cancel_scope.cancel()
