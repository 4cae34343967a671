"""No party and no peer can take all of a shared bound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, RpcError
from wsnode.jsonrpc.resource_quota import LITTLE, ClientId, ResourceQuota


def filled(share: ResourceQuota, client: ClientId) -> int:
    count = 0
    while share.admits(client):
        share.take(client)
        count += 1
    return count


def test_one_peer_holds_at_most_half() -> None:
    share = ResourceQuota(100)
    assert filled(share, ClientId("192.0.2.1")) == 50
    # The same address on another connection.
    assert not share.admits(ClientId("192.0.2.1"))
    assert share.admits(ClientId("192.0.2.2"))


@given(st.integers(1, 100), st.integers(0, 100), st.integers(0, 100), st.integers(1, 40), st.booleans())
def test_several_are_admitted_together_as_one_after_the_other(
    limit: int, held: int, held_by_others: int, count: int, has_peer: bool
) -> None:
    together, in_turn = ResourceQuota(limit), ResourceQuota(limit)
    client = ClientId("192.0.2.1" if has_peer else None)
    for share in (together, in_turn):
        share.take(client, held)
        share.take(ClientId(), held_by_others)
    admitted = 0
    while admitted < count and in_turn.admits(client):
        in_turn.take(client)
        admitted += 1
    assert together.admits(client, count) == (admitted == count)


def test_the_last_quarter_is_for_those_who_hold_little() -> None:
    share, greedy = ResourceQuota(1000), ClientId()
    assert filled(share, greedy) == 750
    assert filled(share, ClientId()) == LITTLE
    assert not share.admits(greedy)


def test_of_the_last_quarter_all_connections_of_a_peer_have_little_together() -> None:
    share, newcomer = ResourceQuota(1000), ClientId("192.0.2.3")
    assert filled(share, ClientId("192.0.2.1")) == 500
    assert filled(share, ClientId("192.0.2.2")) == 250
    assert not share.admits(ClientId("192.0.2.1"))
    assert not share.admits(ClientId("192.0.2.2"))
    assert filled(share, newcomer) == LITTLE
    assert not share.admits(ClientId("192.0.2.3"))


def test_a_small_bound_is_used_up_by_whoever_comes() -> None:
    share = ResourceQuota(3)
    assert filled(share, ClientId()) == 3
    with pytest.raises(RpcError, match="too many of them") as refused:
        share.take_or_refuse(ClientId(), "too many of them")
    assert (refused.value.code, refused.value.data) == (LIMIT_EXCEEDED, {"limit": 3})


def test_a_key_is_one_peer_on_all_of_its_connections() -> None:
    share, first, second = ResourceQuota(10), ClientId(), ClientId("192.0.2.1")
    assert first.of("bot") is first.of("bot")
    assert filled(share, first.of("bot")) == 5
    assert not share.admits(second.of("bot"))
    assert share.admits(second)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=200), st.integers(1, 40))
def test_what_is_given_back_can_be_taken_again(steps: list[tuple[int, bool]], limit: int) -> None:
    share = ResourceQuota(limit)
    clients = [ClientId(None if number % 2 else f"192.0.2.{number // 4}") for number in range(6)]
    pending_subscriptions = dict.fromkeys(clients, 0)
    for number, takes in steps:
        client = clients[number]
        if takes and share.admits(client):
            share.take(client)
            pending_subscriptions[client] += 1
        elif not takes and pending_subscriptions[client]:
            share.give_back(client)
            pending_subscriptions[client] -= 1
        assert share.used == sum(pending_subscriptions.values()) <= limit
    for client, count in pending_subscriptions.items():
        for _ in range(count):
            share.give_back(client)
    assert all(share.admits(client) for client in clients)
