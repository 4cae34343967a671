"""What the pool holds, told a little at a time."""

import json
from collections.abc import Callable

import pytest

from tests.ethereum.pool.playground import ALICE, BOB, Playground
from tests.slices import result_of
from wsnode.ethereum.codec.addresses import checksummed
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.pool import SLICE, Pool, SenderParameters, Slices

MANY = 3 * SLICE

Ask = Callable[[Pool], Slices]


@pytest.mark.parametrize(
    "ask",
    [Pool.content, Pool.inspect, lambda pool: pool.content_from(SenderParameters(Address(ALICE.address)))],
    ids=["content", "inspect", "content of an account"],
)
def test_a_full_pool_is_told_in_slices_as_it_was_at_the_first(ask: Ask, playground: Playground) -> None:
    for nonce in range(MANY):
        playground.send(ALICE, nonce)
    playground.send(BOB, 1)
    methods = Pool(playground.pool, ())
    before = result_of(ask(methods))
    slices = ask(methods)
    for _ in range(3):
        next(slices)
    playground.mine()
    playground.pool.clear()
    assert result_of(slices) == before
    assert len(json.loads(result_of(ask(methods)))["pending"]) == 0


def test_accounts_stand_in_the_order_of_their_addresses(playground: Playground) -> None:
    for sender in (ALICE, BOB):
        playground.send(sender, 0)
    told = json.loads(result_of(Pool(playground.pool, ()).inspect()))
    assert list(told["pending"]) == sorted(checksummed(sender.address) for sender in (ALICE, BOB))
