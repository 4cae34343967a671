"""Calls in flight of one connection take little of the others' time when they end."""

import gc
from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.server.conftest import OpenSite, until
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.jsonrpc.work import CallTask
from wsnode.server.limits import Limits
from wsnode.server.scheduling.executor import TaskExecutor
from wsnode.server.websocket.call_tasks import ENDED_AT_ONCE

CALLS = 200


class Ends(trio.abc.Instrument):
    """How many calls ended in each pass of the scheduler."""

    def __init__(self, executor: TaskExecutor) -> None:
        self.most = 0
        self._executor = executor
        self._left = executor.in_flight

    def before_io_wait(self, timeout: float) -> None:
        self.most = max(self.most, self._left - self._executor.in_flight)
        self._left = self._executor.in_flight


async def most_ended_at_once(executor: TaskExecutor, end: Callable[[], Awaitable[None]]) -> int:
    """Return how many of the calls in flight ended together after `end()`."""
    ends = Ends(executor)
    trio.lowlevel.add_instrument(ends)
    await end()
    await until(lambda: not executor.in_flight)
    trio.lowlevel.remove_instrument(ends)
    return ends.most


@pytest.mark.parametrize("is_cut_off", [False, True])
async def test_calls_of_a_connection_that_ends_do_so_a_few_at_a_time(
    open_site: OpenSite, is_cut_off: bool
) -> None:
    async with open_site(Limits(threads=1)) as site:
        peer, executor = await site.peer(), site.server.shared.executor
        for _ in range(CALLS):
            await peer.call("wait")
        await until(lambda: executor.in_flight == CALLS)

        async def end() -> None:
            if is_cut_off:
                for connection in list(site.server._alive):
                    connection.evict_output()
            else:
                await peer.stream.aclose()

        # One of them is in the thread, and ends when that does.
        assert 0 < await most_ended_at_once(executor, end) <= ENDED_AT_ONCE + 1
        assert site.gate.cancelled == 1


async def test_no_call_of_a_connection_that_waits_to_end_gets_a_thread(open_site: OpenSite) -> None:
    async with open_site(Limits(threads=1)) as site:
        peer, executor, other = await site.peer(), site.server.shared.executor, ClientId()
        for _ in range(CALLS):
            await peer.call("wait")
        await until(lambda: executor.in_flight == CALLS)
        await executor.turns.acquire(other)
        (connection,) = site.server._alive
        connection.evict_output()
        await until(lambda: executor.turns.waiting > 0)
        site.gate.opened = 1
        await until(lambda: executor.in_flight < CALLS)
        await wait_all_tasks_blocked(0.01)
        seen = executor.in_flight, site.gate.entered
        executor.turns.release(other)
        assert seen == (CALLS - 1, 1)
        await until(lambda: not executor.in_flight)
        assert site.gate.entered == 1


async def test_a_call_that_was_answered_is_not_kept_by_its_connection(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        for _ in range(2):
            await peer.call("late_zeros", 1_000_000)
            await peer.reply()
        await wait_all_tasks_blocked()
        assert site.server.connections == 1
        assert [each for each in gc.get_objects() if isinstance(each, CallTask)] == []
