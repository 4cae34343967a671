"""Calls in flight of one connection take little of the others' time when they end."""

import gc
from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.server.conftest import OpenSite, until
from wsnode.jsonrpc.share import Party
from wsnode.jsonrpc.work import SlowCall
from wsnode.server.limits import Limits
from wsnode.server.turns.slow_lane import SlowLane
from wsnode.server.websocket.slow_calls import ENDED_AT_ONCE

CALLS = 200


class Ends(trio.abc.Instrument):
    """How many calls ended in each pass of the scheduler."""

    def __init__(self, lane: SlowLane) -> None:
        self.most = 0
        self._lane = lane
        self._left = lane.in_flight

    def before_io_wait(self, timeout: float) -> None:
        self.most = max(self.most, self._left - self._lane.in_flight)
        self._left = self._lane.in_flight


async def most_ended_at_once(lane: SlowLane, end: Callable[[], Awaitable[None]]) -> int:
    """Return how many of the calls in flight ended together after `end()`."""
    ends = Ends(lane)
    trio.lowlevel.add_instrument(ends)
    await end()
    await until(lambda: not lane.in_flight)
    trio.lowlevel.remove_instrument(ends)
    return ends.most


@pytest.mark.parametrize("is_cut_off", [False, True])
async def test_calls_of_a_connection_that_ends_do_so_a_few_at_a_time(
    open_site: OpenSite, is_cut_off: bool
) -> None:
    async with open_site(Limits(threads=1)) as site:
        peer, lane = await site.peer(), site.server.shared.lane
        for _ in range(CALLS):
            await peer.call("wait")
        await until(lambda: lane.in_flight == CALLS)

        async def end() -> None:
            if is_cut_off:
                for connection in list(site.server._alive):
                    connection.give_up_replies()
            else:
                await peer.stream.aclose()

        # One of them is in the thread, and ends when that does.
        assert 0 < await most_ended_at_once(lane, end) <= ENDED_AT_ONCE + 1
        assert site.gate.cancelled == 1


async def test_no_call_of_a_connection_that_waits_to_end_gets_a_thread(open_site: OpenSite) -> None:
    async with open_site(Limits(threads=1)) as site:
        peer, lane, other = await site.peer(), site.server.shared.lane, Party()
        for _ in range(CALLS):
            await peer.call("wait")
        await until(lambda: lane.in_flight == CALLS)
        await lane.turns.acquire(other)
        (connection,) = site.server._alive
        connection.give_up_replies()
        await until(lambda: lane.turns.waiting > 0)
        site.gate.opened = 1
        await until(lambda: lane.in_flight < CALLS)
        await wait_all_tasks_blocked(0.01)
        seen = lane.in_flight, site.gate.entered
        lane.turns.release(other)
        assert seen == (CALLS - 1, 1)
        await until(lambda: not lane.in_flight)
        assert site.gate.entered == 1


async def test_a_call_that_was_answered_is_not_kept_by_its_connection(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        for _ in range(2):
            await peer.call("late_zeros", 1_000_000)
            await peer.reply()
        await wait_all_tasks_blocked()
        assert site.server.connections == 1
        assert [each for each in gc.get_objects() if isinstance(each, SlowCall)] == []
