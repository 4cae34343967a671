"""No party and no peer can take all of a shared bound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, RpcError
from wsnode.jsonrpc.share import LITTLE, Party, Share


def filled(share: Share, party: Party) -> int:
    count = 0
    while share.admits(party):
        share.take(party)
        count += 1
    return count


def test_one_peer_holds_at_most_half() -> None:
    share = Share(100)
    assert filled(share, Party("192.0.2.1")) == 50
    # The same address on another connection.
    assert not share.admits(Party("192.0.2.1"))
    assert share.admits(Party("192.0.2.2"))


def test_the_last_quarter_is_for_those_who_hold_little() -> None:
    share, greedy = Share(1000), Party()
    assert filled(share, greedy) == 750
    assert filled(share, Party()) == LITTLE
    assert not share.admits(greedy)


def test_of_the_last_quarter_all_connections_of_a_peer_have_little_together() -> None:
    share, newcomer = Share(1000), Party("192.0.2.3")
    assert filled(share, Party("192.0.2.1")) == 500
    assert filled(share, Party("192.0.2.2")) == 250
    assert not share.admits(Party("192.0.2.1"))
    assert not share.admits(Party("192.0.2.2"))
    assert filled(share, newcomer) == LITTLE
    assert not share.admits(Party("192.0.2.3"))


def test_a_small_bound_is_used_up_by_whoever_comes() -> None:
    share = Share(3)
    assert filled(share, Party()) == 3
    with pytest.raises(RpcError, match="too many of them") as refused:
        share.take_or_refuse(Party(), "too many of them")
    assert (refused.value.code, refused.value.data) == (LIMIT_EXCEEDED, {"limit": 3})


def test_a_key_is_one_peer_on_all_of_its_connections() -> None:
    share, first, second = Share(10), Party(), Party("192.0.2.1")
    assert first.of("bot") is first.of("bot")
    assert filled(share, first.of("bot")) == 5
    assert not share.admits(second.of("bot"))
    assert share.admits(second)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=200), st.integers(1, 40))
def test_what_is_given_back_can_be_taken_again(steps: list[tuple[int, bool]], limit: int) -> None:
    share = Share(limit)
    parties = [Party(None if number % 2 else f"192.0.2.{number // 4}") for number in range(6)]
    held = dict.fromkeys(parties, 0)
    for number, takes in steps:
        party = parties[number]
        if takes and share.admits(party):
            share.take(party)
            held[party] += 1
        elif not takes and held[party]:
            share.give_back(party)
            held[party] -= 1
        assert share.used == sum(held.values()) <= limit
    for party, count in held.items():
        for _ in range(count):
            share.give_back(party)
    assert all(share.admits(party) for party in parties)
