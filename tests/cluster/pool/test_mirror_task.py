"""What one node is sent is pending at all others of a journal, in the order in which it came."""

import logging

import pytest
import trio
from trio.testing import MockClock

from tests.cluster.pool.nodes import Cluster, cluster
from tests.ethereum.pool.playground import ALICE, BALANCE, BOB, CAROL, CHAIN_ID, DAVE, ETHER, GWEI, signed
from tests.ethereum.pool.steps import with_blobs
from wsnode.cluster.pool.stream import PoolChange, encode_change
from wsnode.cluster.records import RecordId
from wsnode.cluster.replica.tx_resender import AGAIN_SECONDS
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.pool.blobs import Blobs
from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.state import sign_transaction

SOON = 0.1
REPAIR = 4.0


def are_alike(made: Cluster) -> bool:
    return (
        all(node.names == made.writer.names for node in made.nodes) and made.stream.kept == made.writer.names
    )


async def test_what_is_sent_to_one_node_is_pending_at_all_and_announced_once(
    autojump_clock: MockClock,
) -> None:
    async with cluster() as made:
        _writer, one, other = made.nodes
        sign = one.playground.sign
        for nonce in (0, 1, 3):
            assert made.send(one, sign(ALICE, nonce))
        assert made.send(other, sign(BOB, 0))
        await trio.sleep(SOON)
        assert are_alike(made)
        for node in made.nodes:
            assert node.playground.nonces(ALICE) == ([0, 1], [3])
            with node.playground.chain.snapshot() as view:
                assert node.pool.next_nonce(ALICE.address, view) == 2
            assert len(node.announced) == len(set(node.announced)) == 3
        assert made.deliver() == 0
        assert one.mirroring.mirror.counts.taken == 1
        assert other.mirroring.mirror.counts.taken == 3


async def test_what_is_replaced_or_dropped_at_the_writer_is_so_at_all(autojump_clock: MockClock) -> None:
    async with cluster() as made:
        one, other = made.others
        sign = one.playground.sign
        for nonce in range(3):
            made.send(one, sign(ALICE, nonce))
        await trio.sleep(SOON)
        announced = list(other.announced)
        assert made.send(other, sign(ALICE, 1, fee=20 * GWEI, tip=2 * GWEI))
        await trio.sleep(SOON)
        assert are_alike(made)
        # The one behind it is no news.
        assert len(other.announced) == len(announced) + 1
        made.drop(0)
        made.drop(0)
        await trio.sleep(SOON)
        assert are_alike(made)
        assert len(made.writer.names) == 1


async def test_what_a_block_has_stays_here_until_the_block_is(autojump_clock: MockClock) -> None:
    async with cluster() as made:
        one, other = made.others
        made.send(one, one.playground.sign(ALICE, 0))
        await trio.sleep(SOON)
        made.mine()
        await trio.sleep(REPAIR)
        assert made.stream.kept == set()
        assert len(one.names) == len(other.names) == 1
        one.catch_up()
        other.catch_up()
        await trio.sleep(REPAIR)
        assert are_alike(made)
        assert one.mirroring.mirror.listed == one.mirroring.mirror.lacking == 0
        assert one.mirroring.mirror.counts.dropped == 0


async def test_what_needs_funds_of_a_block_is_taken_once_the_block_is_here(autojump_clock: MockClock) -> None:
    async with cluster() as made:
        one, _other = made.others
        writer, sign = made.writer, made.writer.playground.sign
        made.send(writer, sign(ALICE, 0, value=BALANCE // 2, to=BOB.address))
        made.mine()
        made.send(writer, sign(BOB, 0, value=BALANCE + ETHER))
        await trio.sleep(REPAIR)
        mirror = one.mirroring.mirror
        assert (one.names, mirror.listed, mirror.lacking) == (set(), 1, 1)
        # Those tries count once.
        assert mirror.counts.refused == 1
        one.catch_up()
        await trio.sleep(1)
        assert one.names == writer.names
        assert one.announced


async def test_what_the_writer_takes_though_its_sender_gave_up_comes_back(autojump_clock: MockClock) -> None:
    async with cluster() as made:
        one, _other = made.others
        made.send(one, one.playground.sign(ALICE, 0))
        await trio.sleep(SOON)
        one.pool.clear()
        await trio.sleep(REPAIR)
        assert are_alike(made)


async def test_a_node_that_comes_later_reads_all_by_nonce_and_one_that_fell_behind_reads_it_anew(
    autojump_clock: MockClock,
) -> None:
    async with cluster(most_changes=2) as made:
        one, other = made.others
        made.journal.is_away = True
        await trio.sleep(REPAIR)
        for nonce in range(70):
            made.send(made.writer, one.playground.sign(ALICE, nonce))
        made.journal.is_away = False
        await trio.sleep(REPAIR)
        assert are_alike(made)
        assert one.mirroring.mirror.counts.refused == 0
        read = made.stream.contents_read
        other.listens = False
        await trio.sleep(REPAIR)
        for nonce in range(5):
            made.send(made.writer, one.playground.sign(BOB, nonce))
            await trio.sleep(SOON)
        made.drop(0)
        await trio.sleep(SOON)
        other.listens = True
        await trio.sleep(REPAIR)
        assert made.stream.contents_read == read + 1
        assert made.writer.names == one.names
        # What it did not hear of it offers to the writer, once.
        assert len(other.names - one.names) == 1
        assert made.deliver() == 1
        await trio.sleep(SOON)
        assert made.deliver() == 0
        assert are_alike(made)
        assert len(made.writer.names) == 75


@pytest.mark.slow
async def test_blob_transactions_come_without_their_blobs_and_not_to_a_builder_of_payloads(
    autojump_clock: MockClock,
) -> None:
    async with cluster() as made:
        one, builder = made.others
        builder.pool.blobs = Blobs(1 << 20)
        assert made.send(made.writer, with_blobs(DAVE, 0))
        await trio.sleep(SOON)
        assert one.names == made.writer.names
        assert builder.names == set()
        assert sum(map(len, one.pool.entries)) < 1000
        assert made.deliver() == 0


async def test_nothing_is_believed(autojump_clock: MockClock) -> None:
    async with cluster() as made:
        one, other = made.others
        sign = one.playground.sign
        elsewhere = sign_transaction(
            ALICE.secret,
            chain_id=CHAIN_ID + 1,
            nonce=0,
            to=bytes(20),
            value=1,
            input=b"",
            gas=21_000,
            max_fee=GWEI,
            max_priority_fee=GWEI,
        )
        added = [
            b"",
            b"\x02garbage",
            elsewhere,
            sign(ALICE, 0, value=BALANCE),
            sign(ALICE, 0, gas=10**9),
            sign(ALICE, 0, fee=ETHER),
            with_blobs(DAVE, 0)[:-1],
            signed(BOB, {"nonce": 0, "gas": 21_000, "data": bytes(200_000)}),
            good := sign(CAROL, 0),
        ]
        assert made.writer.lease is not None
        name = RecordId(made.writer.lease.epoch, 100)
        made.stream.put(name, encode_change(PoolChange(None, True, added, [b"", bytes(32)])))
        await trio.sleep(SOON)
        for node in (one, other):
            assert [each.encoded for each in node.pool.held()] == [good]
            assert node.mirroring.mirror.counts.refused == len(added) - 1


@pytest.mark.parametrize(
    "content", [b"", b"\xc1", bytes(600_000), encode_change(PoolChange("x", True, [], []))]
)
async def test_a_change_that_cannot_be_read_is_left_behind_by_the_next_one(
    autojump_clock: MockClock, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "wsnode.journal")
    async with cluster() as made:
        assert made.writer.lease is not None
        # Not at the moment at which the writer looks, as it does each second.
        await trio.sleep(0.3)
        made.stream.put(RecordId(made.writer.lease.epoch, 100), content)
        await trio.sleep(0.3)
        made.stream.lose(1)
        for nonce in range(3):
            made.send(made.writer, made.writer.playground.sign(ALICE, nonce))
            await trio.sleep(1)
        assert are_alike(made)
    said = [message for message in caplog.messages if "not received for now" in message]
    assert len(said) == len(made.others)


async def test_while_the_journal_is_away_pools_keep_what_they_have_which_is_said_once(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "wsnode.journal")
    async with cluster(2) as made:
        (one,) = made.others
        made.send(one, one.playground.sign(ALICE, 0))
        await trio.sleep(SOON)
        made.journal.is_away = True
        await trio.sleep(20)
        before = one.names
        assert len(before) == 1
        made.send(made.writer, one.playground.sign(ALICE, 1))
        await trio.sleep(20)
        assert one.names == before
        assert not one.mirroring.is_reachable
        made.journal.is_away = False
        await trio.sleep(2)
        assert are_alike(made)
    assert sorted(message.split(":")[0] for message in caplog.messages) == [
        "pending transactions are not published in the journal for now",
        "pending transactions are published again, since the journal is reachable",
        "the writer's pending transactions are not received for now",
        "the writer's pending transactions are received again",
    ]


async def test_a_stream_that_lost_its_end_is_begun_anew_and_nothing_leaves_meanwhile(
    autojump_clock: MockClock,
) -> None:
    async with cluster() as made:
        one, other = made.others
        for nonce in range(3):
            made.send(one, one.playground.sign(ALICE, nonce))
            await trio.sleep(SOON)
        made.drop(0)
        made.stream.lose(3)
        await trio.sleep(SOON)
        assert len(other.names) >= 2
        await trio.sleep(REPAIR)
        assert are_alike(made)
        counts = other.mirroring.mirror.counts
        assert (counts.taken, counts.dropped) == (3, 1)


async def test_without_a_writer_what_redis_lost_stays(autojump_clock: MockClock) -> None:
    async with cluster() as made:
        one, other = made.others
        for nonce in range(3):
            made.send(one, one.playground.sign(ALICE, nonce))
            await trio.sleep(SOON)
        assert made.writer.lease is not None
        await made.journal.release(made.writer.lease)
        made.stream.lose(2)
        await trio.sleep(5 * REPAIR)
        assert len(one.names) == len(other.names) == 3
        # It reads on from there, should another program write anew.
        assert other.mirroring.mirror.listed == 1


async def test_a_writer_that_has_lost_its_lease_says_nothing_more(autojump_clock: MockClock) -> None:
    async with cluster() as made:
        first, second, third = made.nodes
        lease = first.lease
        await made.begin_writing(second)
        first.lease = lease
        await trio.sleep(REPAIR)
        made.send(second, first.playground.sign(ALICE, 0))
        first.playground.send(BOB, 0)
        await trio.sleep(REPAIR)
        assert made.stream.kept == second.names == third.names
        assert len(third.names) == 1


async def test_another_writer_is_sent_once_what_it_lacks(autojump_clock: MockClock) -> None:
    async with cluster() as made:
        first, second, third = made.nodes
        for node, sender in ((second, ALICE), (third, BOB)):
            for nonce in range(4):
                made.send(node, node.playground.sign(sender, nonce))
        await trio.sleep(SOON)
        names = first.names
        # Its pool is as that of the one before, but for what it has lost.
        await made.begin_writing(second)
        await trio.sleep(1)
        assert (second.names, made.deliver()) == (names, 0)
        await made.begin_writing(first, is_empty=True)
        await trio.sleep(1)
        # Each of the two sends all, because neither hears of the other in between.
        assert made.deliver() == 2 * len(names)
        await trio.sleep(1)
        assert made.deliver() == 0
        assert are_alike(made)
        assert first.names == names


async def test_what_another_node_has_sent_to_the_next_writer_is_not_sent_once_more(
    autojump_clock: MockClock,
) -> None:
    async with cluster() as made:
        first, second, third = made.nodes
        made.send(second, second.playground.sign(ALICE, 0))
        await trio.sleep(SOON)
        await made.begin_writing(first, is_empty=True)
        await trio.sleep(1)
        assert made.writer.lease is not None
        epoch = made.writer.lease.epoch
        (due,) = second.outbox.due(epoch)
        assert third.outbox.is_due(due.hash, epoch)
        first.pool.add(due.encoded)
        await trio.sleep(SOON)
        assert not third.outbox.is_due(due.hash, epoch)


async def test_what_left_the_writer_with_a_block_that_is_gone_again_is_not_dropped(
    autojump_clock: MockClock,
) -> None:
    async with cluster() as made:
        one, other = made.others
        made.send(one, one.playground.sign(ALICE, 0))
        await trio.sleep(SOON)
        made.writer.pool.takes_back = False
        made.mine()
        made.writer.playground.reorganise(1, [[]])
        await trio.sleep(REPAIR)
        assert made.writer.names == set()
        assert len(one.names) == len(other.names) == 1
        for node in (one, other):
            node.catch_up()
            node.playground.reorganise(1, [[]])
        assert made.deliver() == 2
        await trio.sleep(SOON)
        assert are_alike(made)


async def test_what_the_writer_drops_before_it_says_that_it_has_it_is_dropped_where_it_was_sent(
    autojump_clock: MockClock,
) -> None:
    async with cluster() as made:
        one, _other = made.others
        made.send(one, one.playground.sign(ALICE, 0))
        made.drop(0)
        await trio.sleep(SOON)
        assert are_alike(made)
        assert one.names == set()


async def test_what_the_writer_has_taken_and_does_not_list_is_offered_again(
    autojump_clock: MockClock,
) -> None:
    async with cluster() as made:
        one, _other = made.others
        made.send(one, one.playground.sign(ALICE, 0))
        made.writer.pool.on_dropped.clear()
        made.drop(0)
        await trio.sleep(REPAIR)
        assert len(one.names) == 1
        assert made.deliver() == 0
        one.playground.now += AGAIN_SECONDS
        assert made.deliver() == 1
        await trio.sleep(SOON)
        assert are_alike(made)
        one.playground.now += AGAIN_SECONDS
        assert made.deliver() == 0


async def test_own_transactions_are_sent_before_those_of_others(autojump_clock: MockClock) -> None:
    async with cluster() as made:
        one, other = made.others
        made.send(other, other.playground.sign(ALICE, 0))
        made.send(one, one.playground.sign(BOB, 0))
        await trio.sleep(SOON)
        for node, first in ((one, BOB), (other, ALICE)):
            due = node.outbox.due(10**9)
            assert len(due) == 2
            assert due[0].sender == first.address


async def test_a_pool_with_less_room_takes_what_it_can_and_the_rest_when_there_is_room(
    autojump_clock: MockClock,
) -> None:
    small = PoolLimits(global_slots=2, account_slots=1, global_queue=1)
    async with cluster(2, limits=[None, small]) as made:
        (one,) = made.others
        for sender in (ALICE, BOB, CAROL, DAVE):
            made.send(made.writer, one.playground.sign(sender, 0))
        await trio.sleep(SOON)
        assert len(one.names) == 3
        assert one.mirroring.mirror.lacking == 1
        made.mine(2)
        one.catch_up()
        await trio.sleep(REPAIR)
        assert are_alike(made)


async def test_blocks_that_leave_the_chain_give_their_transactions_back_everywhere(
    autojump_clock: MockClock,
) -> None:
    async with cluster(2) as made:
        (one,) = made.others
        made.send(one, one.playground.sign(ALICE, 0))
        await trio.sleep(SOON)
        names = one.names
        made.mine()
        one.catch_up()
        await trio.sleep(REPAIR)
        assert made.stream.kept == set()
        for node in made.nodes:
            node.playground.reorganise(1, [[]])
            node.pool.advance(HeadChange((), ()))
        await trio.sleep(REPAIR)
        assert are_alike(made)
        assert one.names == names
