"""Other limits on a running server: what begins from then on sees them."""

import pytest
import trio
import trio.testing

from tests.server.conftest import OpenSite, until
from wsnode.server.limits import Limits
from wsnode.server.scheduling.fair_limiter import FairLimiter


async def test_open_connections_see_new_limits_at_their_next_call(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        await peer.call("rpc_limits")
        assert (await peer.reply())["result"]["server"]["calls_per_connection"] == 256
        site.server.apply(Limits(calls_per_connection=1, batch_items=2))
        await peer.call("rpc_limits")
        assert (await peer.reply())["result"]["server"]["calls_per_connection"] == 1
        await peer.call("wait", id=1)
        await until(lambda: site.gate.entered == 1)
        await peer.call("wait", id=2)
        assert (await peer.reply())["error"]["message"] == "too many calls in flight"
        await peer.send("[1,2,3]")
        assert (await peer.reply())[0]["error"]["message"] == "batch too large"
        site.gate.opened = 1
        assert (await peer.reply())["result"] == "passed"


async def test_a_message_may_be_as_long_as_when_its_connection_was_opened(open_site: OpenSite) -> None:
    text = '{"jsonrpc":"2.0","id":1,"method":"number"}'
    async with open_site() as site:
        before = await site.peer()
        site.server.apply(Limits(message_bytes=20))
        await before.send(text)
        assert (await before.reply())["result"] == "0x1"
        after = await site.peer()
        await after.send(text)
        assert await after.close_code() == 1009


async def test_more_threads_take_up_what_waits(open_site: OpenSite) -> None:
    async with open_site(Limits(threads=1)) as site:
        peer = await site.peer()
        for number in range(3):
            await peer.call("wait", id=number)
        await until(lambda: site.gate.entered == 1)
        site.server.apply(Limits(threads=3))
        await until(lambda: site.gate.entered == 3)
        site.gate.opened = 1
        assert sorted([(await peer.reply())["id"] for _ in range(3)]) == [0, 1, 2]


@pytest.mark.parametrize(("first", "second"), [(3, 1), (1, 3), (2, 2)])
async def test_turns_that_were_taken_are_not_handed_out_beyond_a_new_number(first: int, second: int) -> None:
    limiter, running, most = FairLimiter(first), 0, list[int]()

    async def work(key: int) -> None:
        nonlocal running
        await limiter.acquire(key)
        running += 1
        most.append(running)
        await trio.testing.wait_all_tasks_blocked(key / 100)
        running -= 1
        limiter.release(key)

    async with trio.open_nursery() as nursery:
        for key in range(first):
            nursery.start_soon(work, key)
        await trio.testing.wait_all_tasks_blocked()
        limiter.resize(second)
        most.clear()
        for key in range(8):
            nursery.start_soon(work, key)
    assert limiter.waiting == 0
    assert max(most) == second
