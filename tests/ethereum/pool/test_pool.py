"""What becomes of transactions that wait, one case at a time."""

from pathlib import Path

import pytest

from tests.ethereum.pool.playground import (
    ALICE,
    BALANCE,
    BOB,
    CAROL,
    DAVE,
    ETHER,
    GWEI,
    Playground,
    signed,
)
from tests.ethereum.pool.steps import authorization, delegating, plain, with_blobs
from wsnode.demo.accounts import ACCOUNTS
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.pool.errors import PoolError
from wsnode.ethereum.pool.limits import PoolLimits

EVE = ACCOUNTS[4]


def refused(playground: Playground, encoded: bytes) -> str:
    with pytest.raises(PoolError) as caught:
        playground.pool.add(encoded)
    return str(caught.value)


def test_a_gap_is_filled_and_all_that_waited_is_told_of(playground: Playground) -> None:
    told: list[list[int]] = []
    playground.pool.on_added.append(lambda added: told.append([each.nonce for each in added]))
    for nonce in (2, 1, 0):
        playground.send(ALICE, nonce)
    assert told == [[0, 1, 2]]
    assert playground.nonces(ALICE) == ([0, 1, 2], [])


def test_a_block_takes_its_transactions_out_of_the_pool(playground: Playground) -> None:
    for nonce in (0, 1, 3):
        playground.send(ALICE, nonce)
    assert playground.mine(playground.pool.executable()[:1]).refused == []
    assert playground.nonces(ALICE) == ([1], [3])
    with playground.chain.snapshot() as view:
        assert playground.pool.next_nonce(ALICE.address, view) == 2
        assert playground.pool.next_nonce(BOB.address, view) == 0


def test_transactions_of_dropped_blocks_come_back_but_for_those_of_the_new_branch(
    playground: Playground,
) -> None:
    first = playground.sign(ALICE, 0)
    for encoded in (first, playground.sign(ALICE, 1), playground.sign(BOB, 0)):
        playground.pool.add(encoded)
        playground.mine()
    assert playground.pool.held() == []
    playground.reorganise(3, [[first]])
    assert playground.nonces(ALICE) == ([1], [])
    assert playground.nonces(BOB) == ([0], [])


def test_blob_transactions_come_back_though_blocks_hold_no_blobs(playground: Playground) -> None:
    added = playground.pool.add(with_blobs(DAVE, 0))
    assert playground.mine().refused == []
    assert playground.pool.find(added) is None
    playground.reorganise(1, [])
    assert playground.pool.find(added) is not None
    assert playground.mine().refused == []


def test_what_cannot_be_paid_for_any_more_goes_and_what_follows_waits(playground: Playground) -> None:
    playground.send(ALICE, 0, value=BALANCE // 2)
    playground.send(ALICE, 1, value=ETHER)
    expensive = playground.sign(ALICE, 0, value=3 * BALANCE // 4, fee=20 * GWEI)
    playground.pool.advance(HeadChange((), (playground.append([expensive]).head,)))
    assert playground.nonces(ALICE) == ([1], [])
    # Alone it could be paid for, but not after the other.
    playground.send(ALICE, 3, value=BALANCE // 5)
    playground.send(ALICE, 2, value=BALANCE // 5)
    assert playground.nonces(ALICE) == ([1, 2], [3])


def test_a_replacement_that_costs_less_leaves_funds_for_what_waits(playground: Playground) -> None:
    playground.send(ALICE, 1, value=ETHER)
    playground.send(ALICE, 0, value=BALANCE - ETHER)
    assert playground.nonces(ALICE) == ([0], [1])
    told: list[int] = []
    playground.pool.on_added.append(lambda added: told.extend(each.nonce for each in added))
    playground.send(ALICE, 0, fee=20 * GWEI, tip=2 * GWEI)
    assert playground.nonces(ALICE) == ([0, 1], [])
    assert told == [0, 1]


def test_everything_above_the_base_fee_is_offered_best_first(playground: Playground) -> None:
    for sender, tip in ((ALICE, 1), (BOB, 3), (CAROL, 2)):
        playground.send(sender, 0, tip=tip * GWEI)
    playground.send(BOB, 1, tip=1)
    playground.send(DAVE, 0, fee=GWEI // 2, tip=1)
    playground.send(DAVE, 1)
    offered = [(each.sender, each.nonce) for each in playground.pool.executable()]
    assert offered == [(BOB.address, 0), (CAROL.address, 0), (ALICE.address, 0), (BOB.address, 1)]
    cheap = playground.pool.executable(base_fee=1)
    assert (DAVE.address, 0) in [(each.sender, each.nonce) for each in cheap]


def test_what_waits_too_long_without_news_goes(playground: Playground) -> None:
    playground.send(ALICE, 1)
    playground.send(BOB, 0)
    playground.now += 3 * 3600 + 61
    playground.send(CAROL, 0)
    assert playground.nonces(ALICE) == ([], [])
    assert playground.nonces(BOB) == ([0], [])


@pytest.fixture
def crowded(tmp_path: Path) -> Playground:
    """Return a pool for three executable transactions and three others."""
    limits = PoolLimits(account_slots=1, global_slots=3, account_queue=2, global_queue=3)
    return Playground(tmp_path, limits)


def test_a_full_pool_lets_go_of_the_cheapest(crowded: Playground) -> None:
    for number, sender in enumerate(ACCOUNTS[:6]):
        crowded.send(sender, 0, tip=(10 + number) * 1000)
    assert refused(crowded, crowded.sign(ACCOUNTS[6], 0, tip=10_000)) == "transaction underpriced"
    crowded.send(ACCOUNTS[6], 0, tip=20_000)
    assert crowded.pool.sender(ALICE.address) is None
    future = crowded.sign(ACCOUNTS[7], 1, tip=30_000)
    assert refused(crowded, future) == "future transaction tries to replace pending"
    assert refused(crowded, future) == "future transaction tries to replace pending"
    assert crowded.pool.pending == 6
    crowded.close()


def test_who_has_many_executable_transactions_loses_the_last(crowded: Playground) -> None:
    for nonce in range(3):
        crowded.send(ALICE, nonce)
    crowded.send(BOB, 0)
    assert crowded.nonces(ALICE) == ([0, 1], [])
    assert crowded.nonces(BOB) == ([0], [])
    crowded.close()


def test_what_waits_for_transactions_of_dropped_blocks_is_not_too_much_until_they_are_back(
    tmp_path: Path,
) -> None:
    playground = Playground(tmp_path, PoolLimits(global_queue=2))
    senders = ACCOUNTS[:3]
    for nonce in range(4):
        for sender in senders:
            playground.send(sender, nonce)
    playground.mine(playground.pool.executable()[:3])
    playground.reorganise(1, [[]])
    assert [playground.nonces(sender) for sender in senders] == [([0, 1, 2, 3], [])] * 3
    playground.close()


def test_an_account_may_have_only_so_many_waiting(crowded: Playground) -> None:
    for nonce in (5, 3):
        crowded.send(ALICE, nonce)
    message = "account limit exceeded: pooled 2 txs"
    assert refused(crowded, crowded.sign(ALICE, 6)) == message
    crowded.send(ALICE, 4)
    assert crowded.nonces(ALICE) == ([], [3, 4])
    crowded.close()


def test_of_too_many_that_wait_those_without_news_for_longest_go(crowded: Playground) -> None:
    for sender in ACCOUNTS[:4]:
        crowded.send(sender, 1)
        crowded.now += 1
    assert crowded.nonces(ALICE) == ([], [])
    assert all(crowded.nonces(sender) == ([], [1]) for sender in ACCOUNTS[1:4])
    crowded.close()


def test_large_transactions_count_by_their_bytes(tmp_path: Path) -> None:
    playground = Playground(tmp_path, PoolLimits(bytes=450_000))
    data = bytes(100_000)
    for sender in (ALICE, BOB):
        playground.send(sender, 0, call=data, gas=2_000_000, tip=1000)
    assert refused(playground, playground.sign(CAROL, 0, call=data, gas=2_000_000, tip=1000)) == (
        "transaction underpriced"
    )
    playground.send(CAROL, 0)
    playground.close()


def test_a_delegated_account_has_one_transaction(playground: Playground) -> None:
    limit = "in-flight transaction limit reached for delegated accounts"
    gap = "gapped-nonce tx from delegated accounts"
    playground.pool.add(delegating(ALICE, 0, (BOB, 0)))
    assert refused(playground, plain(BOB, 1)) == gap
    playground.pool.add(plain(BOB, 0))
    assert refused(playground, plain(BOB, 1)) == limit
    assert playground.mine().refused != []
    with playground.chain.snapshot() as view:
        assert view.state.code(BOB.address, (view.number, view.head.hash)) != b""
        nonce = playground.pool.next_nonce(BOB.address, view)
    playground.pool.add(plain(BOB, nonce))
    assert refused(playground, plain(BOB, nonce + 1)) == limit
    assert refused(playground, plain(CAROL, 0, chainId=1)).startswith("invalid sender")


def test_whose_transactions_wait_cannot_be_delegated_by_another(playground: Playground) -> None:
    for nonce in range(2):
        playground.send(ALICE, nonce)
    playground.pool.add(with_blobs(DAVE, 0))
    for signer in (ALICE, DAVE):
        assert refused(playground, delegating(EVE, 0, (signer, 5))) == "authority already reserved"
    listed = {"nonce": 0, "authorizationList": [authorization(CAROL, 0)]}
    assert playground.pool.add(signed(EVE, listed))


def test_everything_can_be_taken_out_and_put_back(playground: Playground) -> None:
    for nonce in (0, 1, 4):
        playground.send(ALICE, nonce)
    playground.pool.add(with_blobs(DAVE, 0))
    held, version = playground.pool.held(), playground.pool.version
    assert playground.pool.drop(held[0].hash) is not playground.pool.drop(held[0].hash)
    playground.pool.clear()
    assert (playground.pool.pending, playground.pool.queued) == (0, 0)
    playground.pool.put_back(held)
    assert playground.nonces(ALICE) == ([0, 1], [4])
    assert playground.nonces(DAVE) == ([0], [])
    assert playground.pool.version > version


def test_who_sends_while_blocks_are_replaced_is_not_refused(playground: Playground) -> None:
    playground.send(ALICE, 0)
    playground.mine()
    removed = playground.builder.unwind(0)
    added = [playground.append([]).head]
    # The pool still stands on the block that is gone.
    playground.send(BOB, 0)
    assert playground.pool.at.head == added[0]
    playground.pool.advance(HeadChange(tuple(removed), tuple(added)))
    assert playground.nonces(ALICE) == playground.nonces(BOB) == ([0], [])
