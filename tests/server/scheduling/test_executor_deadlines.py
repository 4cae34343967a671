"""Waits end at their times, and few of them at once."""

from collections import Counter

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from wsnode.server.scheduling.executor import MAX_IN_A_SLOT, SLOT_SECONDS, CoalescedDeadlines


async def test_a_wait_ends_at_its_time(autojump_clock: MockClock) -> None:
    deadlines, due = CoalescedDeadlines(), trio.current_time() + 5
    with deadlines.move_on_at(due) as scope:
        await trio.sleep(60)
    assert scope.cancelled_caught
    assert trio.current_time() == pytest.approx(due)


async def test_what_ends_before_is_not_cancelled(autojump_clock: MockClock) -> None:
    deadlines = CoalescedDeadlines()
    for time in (trio.current_time() + 5, float("inf")):
        with deadlines.move_on_at(time) as scope:
            await trio.sleep(1)
        assert not scope.cancelled_caught


async def test_of_many_waits_with_one_time_few_end_at_once(autojump_clock: MockClock) -> None:
    deadlines, due, ends = CoalescedDeadlines(), trio.current_time() + 5, Counter[float]()

    async def wait() -> None:
        with deadlines.move_on_at(due):
            await trio.sleep(60)
        ends[trio.current_time()] += 1

    count = 50 * MAX_IN_A_SLOT
    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(wait)
    assert ends.total() == count
    assert max(ends.values()) <= MAX_IN_A_SLOT
    assert due <= min(ends)
    assert max(ends) <= due + 51 * SLOT_SECONDS


async def test_the_place_of_a_wait_that_has_ended_is_free_again(autojump_clock: MockClock) -> None:
    deadlines, due = CoalescedDeadlines(), trio.current_time() + 5
    for _ in range(3 * MAX_IN_A_SLOT):
        with deadlines.move_on_at(due):
            await wait_all_tasks_blocked()
    with deadlines.move_on_at(due):
        await trio.sleep(60)
    assert trio.current_time() == pytest.approx(due)
