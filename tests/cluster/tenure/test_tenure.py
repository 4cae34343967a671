"""Two writers of one journal that loses its end, forgets leases and goes away: no record is ever made twice.

Writers have a chain each, which share a genesis block and what one has imported of the other.
"""

from contextlib import ExitStack

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from tests.cluster.growing import Growing, doings, new_chain
from tests.cluster.memory_journal import MemoryJournal
from tests.cluster.replaying import Replayed, standing_of
from tests.cluster.tenure.tenures import append_all, publish, tenure_of
from tests.drawing import examples
from wsnode.cluster.journal import (
    LEASE_SECONDS,
    JournalLimits,
    JournalUnavailableError,
    LeaseHeldError,
    LeaseLostError,
    TipMovedError,
    UnrelatedJournalError,
)
from wsnode.cluster.journal_diff import EthereumSource
from wsnode.cluster.leader_session import LeaderSession, PublishedChain, StaleLeaderError
from wsnode.cluster.records import Record
from wsnode.ethereum.chain import Chain

EXPECTED = (JournalUnavailableError, LeaseLostError, LeaseHeldError, TipMovedError)


class Writer:
    """A process that writes a chain, and publishes it when it is its turn."""

    def __init__(self, name: str, chain: Chain, journal: MemoryJournal) -> None:
        self.growing = Growing(chain)
        self.chain = chain
        self.published = PublishedChain(EthereumSource(chain, is_development=True), name)
        self._journal = journal
        self._tenure: LeaderSession | None = None

    async def publish(self) -> bool:
        """Publish what there is, and return whether it came to the end; a failure ends the tenure."""
        try:
            if self._tenure is None:
                self._tenure = await LeaderSession.begin(self.published, self._journal)
            await append_all(self._tenure)
            await self._tenure.renew()
        except EXPECTED:
            self._tenure = None
            return False
        return True

    def die(self) -> None:
        """Forget what a process knows, but not what its store has."""
        self._tenure = None
        self.published = PublishedChain(self.published.source, f"{self.published.holder}'")


class World:
    """The journal and both writers."""

    def __init__(self, stack: ExitStack, clock: MockClock | None = None) -> None:
        self._clock = clock
        chains = [stack.enter_context(new_chain()) for _ in range(2)]
        self.journal = MemoryJournal(chains[0].spec.genesis_hash)
        self.writers = [Writer(name, chain, self.journal) for name, chain in zip("ab", chains, strict=True)]

    def pause(self, seconds: float) -> None:
        """Let time pass, for the journal and for the writers."""
        self.journal.now += seconds
        if self._clock is not None:
            self._clock.jump(seconds)


PLACES = st.integers(0, 1)
DEEDS = st.one_of(
    st.tuples(st.just("do"), PLACES, doings()),
    st.tuples(st.just("publish"), PLACES),
    st.tuples(st.just("publish"), PLACES),
    st.tuples(st.just("lose"), st.integers(1, 6)),
    st.tuples(st.just("empty")),
    st.tuples(st.just("pause"), st.sampled_from([1.0, LEASE_SECONDS + 1])),
    st.tuples(st.just("away"), st.booleans()),
    st.tuples(st.just("die"), PLACES),
)


async def happen(world: World, deed: tuple[object, ...]) -> None:
    match deed:
        case ("do", int(place), do):
            assert callable(do)
            do(world.writers[place].growing)
        case ("publish", int(place)):
            await world.writers[place].publish()
        case ("lose", int(records)):
            world.journal.lose(min(records, world.journal.entries))
        case ("empty",):
            world.journal.lose(world.journal.entries)
        case ("pause", float(seconds)):
            world.pause(seconds)
        case ("away", bool(is_away)):
            world.journal.is_away = is_away
        case ("die", int(place)):
            world.writers[place].die()


def check_names(world: World) -> None:
    """Check that no epoch was given twice, and no record made twice."""
    epochs = [lease.epoch for lease in world.journal.given]
    assert len(set(epochs)) == len(epochs)
    names = [record.id for record in world.journal.written]
    assert len(set(names)) == len(names)


async def all_records(journal: MemoryJournal) -> list[Record]:
    """Return the records that the journal has, each linked to the one before."""
    records: list[Record] = []
    while more := await journal.read(records[-1].id if records else None, 0):
        if records:
            more[0].require_next_to(records[-1])
        records += more
    return records


@settings(max_examples=examples(40))
@given(st.lists(DEEDS, max_size=25), PLACES)
def test_every_journal_ends_as_the_last_writer_stands(deeds: list[tuple[object, ...]], last: int) -> None:
    async def history() -> None:
        with ExitStack() as stack:
            world = World(stack, clock)
            for deed in deeds:
                await happen(world, deed)
            world.journal.is_away = False
            world.pause(LEASE_SECONDS + 1)
            writer = world.writers[last]
            while not await writer.publish():
                pass
            check_names(world)
            records = await all_records(world.journal)
            if records:
                assert records[-1].after == standing_of(writer.chain)
            replayed = Replayed(stack.enter_context(new_chain(is_marked=False)))
            for record in records:
                replayed.apply(record.change, record.after)

    clock = MockClock()
    trio.run(history, clock=clock)


async def test_a_writer_goes_on_where_the_one_before_stopped() -> None:
    with ExitStack() as stack:
        world = World(stack)
        writer = world.writers[0]
        writer.growing.extend(2)
        await writer.publish()
        writer.die()
        writer.growing.replace(1, 2)
        assert not await writer.publish()
        world.journal.now += LEASE_SECONDS
        assert await writer.publish()
        numbers = [record.after.head.number for record in await all_records(world.journal)]
    assert numbers == [1, 2, 3]


async def test_lost_records_are_made_again_in_another_epoch() -> None:
    with ExitStack() as stack:
        world = World(stack)
        writer = world.writers[0]
        writer.growing.extend(3)
        await writer.publish()
        world.journal.lose(2)
        writer.growing.extend(1)
        assert not await writer.publish()
        assert await writer.publish()
        records = await all_records(world.journal)
    assert [record.after.head.number for record in records] == [1, 2, 3, 4]
    assert [record.id.sequence for record in records] == [1, 1, 2, 3]


async def test_a_renewal_notices_lost_records_though_nothing_happens(autojump_clock: MockClock) -> None:
    with new_chain() as chain:
        journal = MemoryJournal(chain.spec.genesis_hash)
        Growing(chain).extend(1)
        tenure = await tenure_of(published(chain, "a"), journal)
        await trio.sleep_until(tenure.next_renewal)
        await tenure.renew()
        journal.lose(1)
        await journal.claim("a")
        await trio.sleep_until(tenure.next_renewal)
        with pytest.raises(LeaseLostError):
            await tenure.renew()


def published(chain: Chain, holder: str) -> PublishedChain:
    return PublishedChain(EthereumSource(chain, is_development=False), holder)


async def test_a_writer_that_is_behind_leaves_the_lease_to_others() -> None:
    with new_chain() as ahead, new_chain() as behind:
        journal = MemoryJournal(ahead.spec.genesis_hash)
        Growing(ahead).extend(3)
        Growing(behind).extend(2)
        await publish(published(ahead, "a"), journal)
        with pytest.raises(StaleLeaderError) as raised:
            await LeaderSession.begin(published(behind, "b"), journal)
        assert (raised.value.head, raised.value.tip) == (behind.head, ahead.head)
        await journal.claim("a")


async def test_a_writer_on_another_branch_replaces_what_is_above_the_last_common_block() -> None:
    with new_chain() as one, new_chain(is_marked=False) as other:
        journal = MemoryJournal(one.spec.genesis_hash)
        Growing(one).extend(2)
        await publish(published(one, "a"), journal)
        replayed = Replayed(other)
        for record in (await all_records(journal))[:1]:
            replayed.apply(record.change, record.after)
        Growing(other).extend(30)
        await tenure_of(published(other, "b"), journal)
        records = await all_records(journal)
        assert records[-1].after == standing_of(other)
        assert [record.after.head.number for record in records] == [1, 2, 31]
        assert records[-1].ancestor is not None
        assert records[-1].ancestor.head.number == 1


async def test_a_journal_of_blocks_that_nobody_knows_is_not_continued() -> None:
    with new_chain() as one, new_chain() as other:
        # What both have in common is not in the journal any more.
        journal = MemoryJournal(one.spec.genesis_hash, JournalLimits(records=3, blocks=1))
        Growing(one).extend(9)
        Growing(other).extend(9)
        await publish(published(one, "a"), journal)
        with pytest.raises(UnrelatedJournalError) as raised:
            await LeaderSession.begin(published(other, "b"), journal)
        assert raised.value.tip == one.head
        # Another process may know them.
        await journal.claim("c")
