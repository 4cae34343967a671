"""What workers count together, by several views of one memory."""

import os
import subprocess
import sys
from mmap import mmap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode._native.scoreboard import SharedWords
from wsnode.node.workers.scoreboard import (
    NoSlotError,
    Scoreboard,
    ScoreboardSlots,
    SharedRateLimiter,
    make_memory,
)
from wsnode.server.access.api_keys import ApiKey, KeyLimits
from wsnode.server.access.rate_limit import CreditCountingRateLimiter, CreditRate, LocalRateLimiter

SPENDER = """
import sys, time
from wsnode.node.workers.scoreboard import Scoreboard
from wsnode.server.access.rate_limit import CreditRate
uses = Scoreboard(int(sys.argv[1])).rate_limiter_of(int(sys.argv[2]), "one", "key")
print(sum(not uses.charge(7.0, CreditRate(1.0, 10_000.0), 1.0) for _ in range(10_000)))
"""


def uses(memory: int, slot: int, key: str = "key") -> SharedRateLimiter:
    scoreboard = Scoreboard(memory)
    scoreboard.use_row(slot)
    found = scoreboard.rate_limiter_of(slot, "one", key)
    assert found is not None
    return found


def test_what_is_open_is_the_sum_over_all_workers(memory: int) -> None:
    first, second, other = uses(memory, 0), uses(memory, 5), uses(memory, 5, "another")
    first.add_connections(3)
    second.add_connections(2)
    second.add_subscriptions(7)
    first.add_connections(-1)
    assert (first.connections, second.connections, other.connections) == (4, 4, 0)
    assert first.subscriptions == 7


def test_nothing_is_open_of_a_worker_that_has_ended(memory: int) -> None:
    first, second = uses(memory, 0), uses(memory, 1)
    first.add_connections(3)
    second.add_subscriptions(2)
    second.count_call(9)
    Scoreboard(memory).clear_row(1)
    assert (first.connections, first.subscriptions, first.calls_in(9)) == (3, 0, 0)


def test_calls_of_a_second_are_those_of_all_workers(memory: int) -> None:
    first, second = uses(memory, 0), uses(memory, 1)
    for _ in range(3):
        first.count_call(7)
    second.count_call(7)
    second.count_call(8)
    assert (first.calls_in(7), first.calls_in(8), first.calls_in(9)) == (4, 1, 0)


def test_the_keys_of_two_networks_are_two(memory: int) -> None:
    scoreboard = Scoreboard(memory)
    assert scoreboard.slot_of("one", "key") != scoreboard.slot_of("two", "key")
    assert scoreboard.slot_of("one", "key") == Scoreboard(memory).slot_of("one", "key")


def test_processes_together_get_what_one_would(memory: int) -> None:
    commands = [[sys.executable, "-c", SPENDER, str(memory), str(slot)] for slot in range(3)]
    spenders = [subprocess.Popen(each, stdout=subprocess.PIPE, pass_fds=[memory]) for each in commands]
    assert sum(int(spender.communicate()[0]) for spender in spenders) == 10_000


RATES = st.builds(CreditRate, st.floats(0.5, 1e4), st.floats(1, 1e4), st.just(50.0))
CALLS = st.lists(st.tuples(st.floats(0, 10), st.sampled_from([1.0, 2.0, 50.0])), max_size=60)


@given(RATES, CALLS)
def test_shared_credits_are_those_of_one_process(rate: CreditRate, calls: list[tuple[float, float]]) -> None:
    memory = make_memory()
    shared, own, now = uses(memory, 0), LocalRateLimiter(), 1000.0
    os.close(memory)
    for pause, cost in calls:
        now += pause
        expected = own.charge(now, rate, cost)
        # A bucket that is full but for a rounding is full to the scoreboard.
        assert shared.charge(now, rate, cost) == pytest.approx(expected, abs=1e-5)
        if 0 < expected < 1e-5:
            return


def metered(memory: int, slot: int) -> SharedRateLimiter:
    found = Scoreboard(memory).rate_limiter_of(slot, "one", "key", is_metered=True)
    assert found is not None
    return found


def test_what_workers_spent_is_added_up_and_outlasts_them(memory: int) -> None:
    first, second, rate = metered(memory, 0), metered(memory, 1), CreditRate(1.0, 10.0)
    assert uses(memory, 0).spent is None
    for each in (first, second):
        each.charge(7.0, rate, 4.5)
    assert first.charge(7.0, rate, 4.5) == pytest.approx(3.5)
    Scoreboard(memory).clear_row(1)
    assert (first.spent, second.spent) == (9.0, 9.0)


@given(RATES, st.floats(-50, 50), st.floats(0, 20))
def test_credits_that_are_settled_come_back_when_it_was_said(
    rate: CreditRate, missing: float, later: float
) -> None:
    memory = make_memory()
    shared, own, now = metered(memory, 0), CreditCountingRateLimiter(), 1e6
    os.close(memory)
    for each in (shared, own):
        each.charge(now, rate, 1.0)
        each.settle(rate, now + missing)
        assert each.full_at(rate) == pytest.approx(now + missing)
        credits = min(rate.burst, rate.burst + (later - missing) * rate.per_second)
        assert each.charge(now + later, rate, 1.0) == 0 or credits < 1 + 1e-4


def test_grants_of_two_workers_refuse_together(memory: int) -> None:
    limits = KeyLimits(requests_per_second=2, connections=1, subscriptions=1)
    one, other = (ApiKey("bot", limits, lambda: 5.0, uses(memory, slot)) for slot in range(2))
    one.admit("a")
    other.admit("a")
    with pytest.raises(Exception, match="request rate limit exceeded"):
        one.admit("a")
    other.take_connection("first", print)
    with pytest.raises(Exception, match="connection limit exceeded"):
        one.check_connections()
    with pytest.raises(Exception, match="connection limit exceeded"):
        one.take_connection("second", print)
    other.give_back_connection("first")
    one.check_connections()
    one.take_subscription()
    with pytest.raises(Exception, match="subscription limit exceeded"):
        other.take_subscription()
    one.give_back_subscription()
    other.take_subscription()
    assert one.usage() == {"current_rps": 3, "connections": 0, "subscriptions": 1}


def test_a_row_is_one_workers_until_it_is_given_back() -> None:
    rows = ScoreboardSlots()
    taken = [rows.take() for _ in range(256)]
    assert sorted(taken) == list(range(256))
    with pytest.raises(NoSlotError):
        rows.take()
    rows.give_back(17)
    assert rows.take() == 17


def test_words_lie_in_writable_memory_in_one_piece() -> None:
    words = SharedWords(mmap(-1, 4096))
    words.store(511, 2**64 - 1)
    assert words.load(511) == 2**64 - 1
    with pytest.raises(IndexError):
        words.load(512)
    with pytest.raises(ValueError, match="writable"):
        SharedWords(bytes(64))  # type: ignore[arg-type]
