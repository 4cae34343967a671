"""What the contents in a journal are to become, at the bounds of records and bytes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ethereum.pool.playground import ALICE, BOB, CHAIN_ID, GWEI, SOMEBODY, TRANSFER_GAS, Playground
from tests.ethereum.pool.steps import with_blobs
from wsnode.cluster.pool.publisher import PoolDiff, PoolJournalDiff
from wsnode.cluster.pool.stream import (
    ADDED_AT_ONCE,
    ADDED_BYTES_AT_ONCE,
    DROPPED_AT_ONCE,
    MAX_CHANGE_BYTES,
    MAX_TRANSACTION_BYTES,
    PoolChange,
    encode_change,
)
from wsnode.demo.accounts import ACCOUNTS
from wsnode.ethereum.codec.transactions import PooledTransaction, unsigned_transaction
from wsnode.ethereum.pool.limits import PoolLimits

pytestmark = pytest.mark.slow

WIDE = PoolLimits(account_queue=10_000, global_queue=10_000, global_slots=10_000, account_slots=10_000)


@pytest.fixture
def playground(tmp_path: Path) -> Iterator[Playground]:
    made = Playground(tmp_path, WIDE)
    yield made
    made.close()


def listing_of(playground: Playground, most: int = 10_000, most_bytes: int = 1 << 30) -> PoolJournalDiff:
    listing = PoolJournalDiff(playground.pool, most=most, most_bytes=most_bytes)
    playground.pool.on_dropped.append(listing.drop)
    return listing


def batches(listing: PoolJournalDiff) -> list[PoolDiff]:
    found: list[PoolDiff] = []
    while not (batch := listing.next_batch()).is_empty:
        found.append(batch)
        listing.note(batch)
    return found


def test_what_came_first_is_listed_and_no_more_than_there_is_room_for(playground: Playground) -> None:
    names = [playground.send(ALICE, nonce) for nonce in range(5)]
    listing = listing_of(playground, most=3)
    assert [entry.hash for batch in batches(listing) for entry in batch.added] == names[:3]
    assert (len(listing), listing.left_out) == (3, 2)
    playground.pool.drop(names[0])
    (batch,) = batches(listing)
    assert (batch.dropped, [entry.hash for entry in batch.added]) == ([names[0]], [names[3]])
    assert (len(listing), listing.left_out) == (3, 1)


def test_bytes_are_bounded_as_well_and_counted_off_again(playground: Playground) -> None:
    names = [playground.send(sender, 0, call=bytes(1000), gas=100_000) for sender in ACCOUNTS[:4]]
    size = len(playground.pool.entries[names[0]].transaction.encoded)
    listing = listing_of(playground, most_bytes=2 * size + 10)
    batches(listing)
    assert len(listing) == 2
    playground.pool.drop(names[0])
    playground.pool.drop(names[1])
    batches(listing)
    assert (len(listing), listing.left_out) == (2, 0)


def test_a_change_has_a_part_of_many_and_never_more_bytes_than_are_read(playground: Playground) -> None:
    for nonce in range(ADDED_AT_ONCE + 1):
        playground.send(ALICE, nonce)
    for sender, nonce in ((BOB, 0), (BOB, 1), (BOB, 2), (BOB, 3)):
        largest = MAX_TRANSACTION_BYTES - 200
        playground.send(sender, nonce, call=bytes(largest), gas=10_000_000)
    found = batches(listing_of(playground))
    assert [len(batch.added) for batch in found] == [256, 4, 1]
    for batch in found:
        added = [entry.transaction.encoded for entry in batch.added]
        assert sum(map(len, added)) <= ADDED_BYTES_AT_ONCE + MAX_TRANSACTION_BYTES
    most = [bytes(ADDED_BYTES_AT_ONCE + MAX_TRANSACTION_BYTES)]
    change = PoolChange("1" * 20, True, most, [bytes(32)] * DROPPED_AT_ONCE)
    assert len(encode_change(change)) <= MAX_CHANGE_BYTES


def test_what_a_block_has_is_taken_off_without_a_word_and_what_is_dropped_with_one(
    playground: Playground,
) -> None:
    names = [playground.send(sender, 0) for sender in (ALICE, BOB)]
    listing = listing_of(playground)
    batches(listing)
    playground.mine([playground.pool.entries[names[0]].transaction])
    playground.pool.drop(names[1])
    (batch,) = batches(listing)
    assert (batch.gone, batch.dropped) == ([names[0]], [names[1]])
    assert len(listing) == 0


def test_what_left_with_a_block_that_is_gone_again_was_not_dropped(playground: Playground) -> None:
    name = playground.send(ALICE, 0)
    listing = listing_of(playground)
    batches(listing)
    playground.pool.takes_back = False
    playground.mine()
    playground.reorganise(1, [[]])
    (batch,) = batches(listing)
    assert (batch.gone, batch.dropped) == ([name], [])


def test_what_was_dropped_is_said_once_also_if_it_was_never_listed_and_not_if_it_came_again(
    playground: Playground,
) -> None:
    names = [playground.send(sender, 0) for sender in (ALICE, BOB)]
    listing = listing_of(playground, most=3)
    for name in names:
        playground.pool.drop(name)
    again = playground.send(BOB, 0)
    (batch,) = batches(listing)
    assert ([entry.hash for entry in batch.added], batch.dropped) == ([again], names[:1])
    listing.drop([bytes([number]) for number in range(5)])
    listing.begin_anew()
    (batch,) = batches(listing)
    assert (len(batch.added), len(batch.dropped)) == (1, 3)


def test_a_replaced_one_is_said_to_be_dropped_for_its_successor_may_be_gone_by_then(
    playground: Playground,
) -> None:
    name = playground.send(ALICE, 0)
    listing = listing_of(playground)
    batches(listing)
    second = playground.send(ALICE, 0, fee=20 * GWEI, tip=2 * GWEI)
    (batch,) = batches(listing)
    assert ([entry.hash for entry in batch.added], batch.gone, batch.dropped) == ([second], [], [name])
    third = playground.send(ALICE, 0, fee=40 * GWEI, tip=4 * GWEI)
    playground.pool.drop(third)
    (batch,) = batches(listing)
    assert (batch.added, batch.gone, batch.dropped) == ([], [], [second, third])


def test_what_no_other_node_could_check_is_not_listed(playground: Playground) -> None:
    unsigned = unsigned_transaction(
        ALICE.address,
        chain_id=CHAIN_ID,
        nonce=0,
        to=SOMEBODY,
        value=1,
        input=b"",
        gas=TRANSFER_GAS,
        max_fee=10 * GWEI,
        max_priority_fee=GWEI,
    )
    impersonated = PooledTransaction.impersonated(playground.chain.spec, unsigned)
    playground.pool.check(impersonated)
    playground.pool.admit(impersonated)
    listing = listing_of(playground)
    assert batches(listing) == []
    assert listing.left_out == 1


def test_a_blob_transaction_is_listed_without_its_blobs(playground: Playground) -> None:
    playground.pool.add(with_blobs(ALICE, 0))
    (batch,) = batches(listing_of(playground))
    assert len(batch.added[0].transaction.encoded) < 300
