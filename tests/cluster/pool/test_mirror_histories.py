"""Whatever is sent, dropped, mined and lost, and whichever process writes: all pools come to the same."""

from functools import partial

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from tests.cluster.pool.nodes import Cluster, cluster
from tests.drawing import examples
from tests.ethereum.pool.playground import ALICE, BOB, CAROL, GWEI
from wsnode.demo.accounts import FundedAccount
from wsnode.ethereum.codec.transactions import PooledTransaction

pytestmark = pytest.mark.slow


async def send(made: Cluster, place: int, sender: FundedAccount, nonce: int, fee: int) -> None:
    node = made.nodes[place]
    made.send(node, node.playground.sign(sender, nonce, fee=fee * GWEI, tip=fee * GWEI))


async def begin_writing(made: Cluster, place: int, *, is_empty: bool) -> None:
    if made.journal.is_away:
        return
    await made.begin_writing(made.nodes[place], is_empty=is_empty)


async def lose(made: Cluster, done: int) -> None:
    made.stream.lose(done)


async def forget(made: Cluster) -> None:
    made.stream.forget()


async def drop(made: Cluster, place: int) -> None:
    made.drop(place)


async def mine(made: Cluster, most: int) -> None:
    made.mine(most)


async def catch_up(made: Cluster, place: int) -> None:
    made.nodes[place].catch_up()


async def go_away(made: Cluster, *, is_away: bool) -> None:
    made.journal.is_away = is_away


async def wait(_made: Cluster, seconds: float) -> None:
    await trio.sleep(seconds)


async def deliver(made: Cluster) -> None:
    made.deliver()


nodes, counts = st.integers(0, 2), st.integers(1, 5)
sends = st.builds(
    lambda place, sender, nonce, fee: partial(send, place=place, sender=sender, nonce=nonce, fee=fee),
    nodes,
    st.sampled_from([ALICE, BOB, CAROL]),
    st.integers(0, 3),
    st.sampled_from([5, 10, 20]),
)
events = st.one_of(
    st.builds(lambda place: partial(drop, place=place), st.integers(0, 9)),
    st.builds(lambda most: partial(mine, most=most), counts),
    st.builds(lambda place: partial(catch_up, place=place), nodes),
    st.builds(
        lambda place, is_empty: partial(begin_writing, place=place, is_empty=is_empty), nodes, st.booleans()
    ),
    st.builds(lambda done: partial(lose, done=done), counts),
    st.just(partial(forget)),
    st.just(partial(deliver)),
    st.builds(lambda is_away: partial(go_away, is_away=is_away), st.booleans()),
)
waits = st.builds(
    lambda seconds: partial(wait, seconds=seconds), st.sampled_from([0.001, 0.1, 0.3, 1.5, 4.0])
)
rounds = st.tuples(st.lists(sends, min_size=1, max_size=3), waits, events, waits)
"""Where all are drawn alike, too few histories have something pending when something happens."""
doings = st.lists(rounds, min_size=1, max_size=8).map(
    lambda drawn: [each for sent, before, event, after in drawn for each in (*sent, before, event, after)]
)


async def come_together(done: list[partial[None]], most_changes: int) -> None:
    async with cluster(most_changes=most_changes) as made:
        for do in done:
            await do(made)  # type: ignore[misc]
        await made.settle()
        check(made)


def check(made: Cluster) -> None:
    """Check that pools differ by what a node refuses alone, and that nothing that was taken is lost."""
    wanted = made.writer.names
    assert made.stream.kept == wanted
    spec = made.writer.playground.chain.spec
    for node in made.others:
        for name in wanted - node.names:
            assert node.refuses(made.writer.pool.entries[name].transaction)
        for name in node.names - wanted:
            assert made.writer.refuses(node.pool.entries[name].transaction)
    taken = {name: PooledTransaction(spec, encoded) for name, encoded in made.taken.items()}
    entries = [entry for node in made.nodes for entry in node.pool.entries.values()]
    # One that pays more may have taken its place, and may have been dropped since.
    places = {(entry.sender, entry.nonce) for entry in entries}
    places |= {(each.sender, each.nonce) for name, each in taken.items() if name in made.dropped}
    for transaction in taken.values():
        account = made.writer.pool.at.account(made.writer.playground.chain.state, transaction.sender)
        is_mined = transaction.nonce < account.nonce
        assert is_mined or (transaction.sender, transaction.nonce) in places


@settings(max_examples=examples(60), deadline=None)
@given(done=doings, most_changes=st.sampled_from([1, 3, 1000]))
def test_pools_come_to_the_same_whatever_happens(done: list[partial[None]], most_changes: int) -> None:
    trio.run(come_together, done, most_changes, clock=MockClock(autojump_threshold=0))
