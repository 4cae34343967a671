"""Bytes that connections keep are counted for their peers, of which none may keep more than half."""

from collections.abc import Iterator

import pytest

from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.server.scheduling.memory_quota import GUARANTEED_BYTES, OVERFLOW_BYTES, InputQuota, MemoryQuota

LIMIT = 64 * GUARANTEED_BYTES
CROWD, OTHER = "198.51.100.1", "198.51.100.2"


class Keeper:
    """A connection that keeps bytes until it has to let go."""

    def __init__(self, peer: str | None) -> None:
        # Each connection has its address in a text of its own.
        self.client = ClientId(peer and str(peer.encode(), "ascii"))
        self.has_given_up = False

    def evict(self) -> None:
        self.has_given_up = True


def test_one_address_keeps_half_of_a_budget_on_however_many_connections() -> None:
    budget = MemoryQuota(LIMIT)
    clients = [ClientId(CROWD) for _ in range(1000)]
    for client in clients:
        if budget.allows(client):
            budget.add(client, GUARANTEED_BYTES // 2)
    assert budget.used == LIMIT // 2
    assert not budget.allows(clients[-1])
    assert budget.allows(ClientId(OTHER), GUARANTEED_BYTES * 2)


def test_the_last_quarter_of_a_budget_is_for_who_keeps_little() -> None:
    budget = MemoryQuota(LIMIT)
    clients = [ClientId(f"198.51.100.{number}") for number in range(10, 13)]
    for client in clients:
        budget.add(client, LIMIT // 4)
    assert not any(map(budget.allows, clients))
    assert budget.allows(ClientId(OTHER), GUARANTEED_BYTES)
    assert budget.allows(ClientId(), GUARANTEED_BYTES)


def test_who_keeps_little_may_keep_that_whatever_others_keep() -> None:
    budget = MemoryQuota(LIMIT)
    budget.add(ClientId(CROWD), 2 * LIMIT)
    assert budget.allows(ClientId(OTHER), GUARANTEED_BYTES)
    assert not budget.allows(ClientId(OTHER), GUARANTEED_BYTES + 1)


def test_a_budget_says_when_far_more_is_kept_than_there_should_be() -> None:
    budget, overflows = MemoryQuota(LIMIT), list[int]()
    budget.on_overflow = lambda: overflows.append(budget.used)
    client = ClientId()
    budget.add(client, LIMIT + OVERFLOW_BYTES)
    assert overflows == []
    budget.add(client, 1)
    assert overflows == [LIMIT + OVERFLOW_BYTES + 1]
    budget.add(client, -budget.used)
    assert (budget.used, budget.held_by(client), len(overflows)) == (0, 0, 1)


def keepers(held: InputQuota, peer: str | None, sizes: Iterator[int] | range) -> list[Keeper]:
    found = []
    for size in sizes:
        found.append(Keeper(peer))
        held.hold(found[-1], size)
    return found


def test_the_largest_connection_of_an_address_goes_beyond_its_half() -> None:
    held = InputQuota(LIMIT)
    (other,) = keepers(held, OTHER, iter([LIMIT // 4]))
    crowd = keepers(held, CROWD, range(1000, LIMIT, 1000))
    assert held.used <= LIMIT // 2 + LIMIT // 4
    assert not other.has_given_up
    assert [keeper.has_given_up for keeper in crowd].count(True) > len(crowd) // 2
    assert not crowd[0].has_given_up


def test_many_small_connections_of_an_address_keep_no_more_than_its_half() -> None:
    held = InputQuota(LIMIT)
    crowd = keepers(held, CROWD, iter([GUARANTEED_BYTES] * 200))
    assert held.used == LIMIT // 2
    assert [keeper.has_given_up for keeper in crowd].count(False) == 32


def test_a_connection_whose_address_holds_half_but_little_is_left_alone() -> None:
    held = InputQuota(GUARANTEED_BYTES)
    (keeper,) = keepers(held, CROWD, iter([GUARANTEED_BYTES - 1]))
    assert (keeper.has_given_up, held.used) == (False, GUARANTEED_BYTES - 1)


@pytest.mark.parametrize("peer", [None, OTHER])
def test_a_newcomer_has_room_where_others_keep_all_that_they_may(peer: str | None) -> None:
    held = InputQuota(LIMIT)
    crowds = [
        keepers(held, f"198.51.100.{number}", iter([GUARANTEED_BYTES] * 64)) for number in range(10, 15)
    ]
    (newcomer,) = keepers(held, peer, iter([4 * GUARANTEED_BYTES]))
    assert not newcomer.has_given_up
    assert held.used <= LIMIT
    assert all(any(not keeper.has_given_up for keeper in crowd) for crowd in crowds)


def test_connections_without_an_address_keep_little_each_until_it_is_far_too_much() -> None:
    held = InputQuota(GUARANTEED_BYTES)
    crowd = keepers(held, None, iter([GUARANTEED_BYTES] * (OVERFLOW_BYTES // GUARANTEED_BYTES + 10)))
    assert held.used <= GUARANTEED_BYTES + OVERFLOW_BYTES
    assert [keeper.has_given_up for keeper in crowd].count(True) == 9


def test_what_is_kept_no_more_leaves_nothing_behind() -> None:
    held = InputQuota(LIMIT)
    for keeper in keepers(held, CROWD, range(0, 10_000, 1000)):
        held.hold(keeper, 0)
    assert held.used == 0


def test_nobody_may_keep_more_while_far_too_much_is_kept() -> None:
    budget = MemoryQuota(LIMIT)
    clients = [ClientId() for _ in range((LIMIT + OVERFLOW_BYTES) // GUARANTEED_BYTES * 2)]
    for client in clients:
        if budget.allows(client):
            budget.add(client, GUARANTEED_BYTES)
    assert budget.used == LIMIT + OVERFLOW_BYTES + GUARANTEED_BYTES
    assert not budget.allows(ClientId())
