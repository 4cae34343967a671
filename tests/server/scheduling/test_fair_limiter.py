"""Turns are handed out in rotation, and none is lost."""

import pytest
import trio
import trio.testing

from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.server.scheduling.fair_limiter import SHORTEST_TURN, FairLimiter, first_turn


@pytest.mark.parametrize("ready", [1, 2, 4, 8, 64, 256, 10_000])
def test_first_turns_together_take_a_slice_at_most_or_the_shortest_each(ready: int) -> None:
    seconds = first_turn(0.002, ready)
    assert SHORTEST_TURN <= seconds <= 0.002
    assert ready * seconds <= max(0.002, ready * SHORTEST_TURN) + 1e-12
    assert ready > 1 or seconds == 0.002


async def test_keys_take_turns() -> None:
    limiter, order = FairLimiter(1), list[str]()

    async def work(key: str) -> None:
        await limiter.acquire(key)
        order.append(key)
        await trio.lowlevel.checkpoint()
        limiter.release(key)

    async with trio.open_nursery() as nursery:
        for key in "aaaaabbc":
            nursery.start_soon(work, key)
            await trio.testing.wait_all_tasks_blocked()
    assert sorted(order) == list("aaaaabbc")

    order.clear()
    await limiter.acquire("first")
    async with trio.open_nursery() as nursery:
        for key in "aaaabbc":
            nursery.start_soon(work, key)
            await trio.testing.wait_all_tasks_blocked(0)
        limiter.release("first")
    assert "".join(order) == "abcabaa"


async def test_a_cancelled_waiter_leaves_its_turn_to_others() -> None:
    limiter = FairLimiter(2)
    await limiter.acquire("a")
    await limiter.acquire("a")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(limiter.acquire, "b")
        await trio.testing.wait_all_tasks_blocked()
        assert limiter.waiting == 1
        nursery.cancel_scope.cancel()
    assert limiter.waiting == 0
    with trio.CancelScope() as scope:
        scope.cancel()
        limiter.release("a")
        await limiter.acquire("c")
    await limiter.acquire("d")
    limiter.release("d")
    limiter.release("a")
    with trio.fail_after(60):
        await limiter.acquire("e")
        await limiter.acquire("f")


async def test_nobody_overtakes_those_who_wait() -> None:
    limiter, order = FairLimiter(1), list[str]()
    await limiter.acquire("a")

    async def work(key: str) -> None:
        await limiter.acquire(key)
        order.append(key)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(work, "b")
        await trio.testing.wait_all_tasks_blocked()
        limiter.release("a")
        nursery.start_soon(work, "c")
        await trio.testing.wait_all_tasks_blocked()
        assert order == ["b"]
        limiter.release("b")
    assert order == ["b", "c"]


async def test_connections_of_one_address_take_turns_within_its_own() -> None:
    limiter, order = FairLimiter(1), list[str]()
    near = [ClientId("192.0.2.1") for _ in range(3)]
    waiting = {"a": near[0], "b": near[1], "c": near[2], "far": ClientId("192.0.2.2"), "here": ClientId()}

    async def work(name: str) -> None:
        await limiter.acquire(waiting[name])
        order.append(name)
        limiter.release(waiting[name])

    await limiter.acquire("first")
    async with trio.open_nursery() as nursery:
        for name in ["a", "a", "b", "c", "far", "far", "here"]:
            nursery.start_soon(work, name)
            await trio.testing.wait_all_tasks_blocked()
        limiter.release("first")
    assert order == ["a", "far", "here", "b", "far", "c", "a"]


async def test_the_last_turns_are_for_parties_that_have_none() -> None:
    limiter, order = FairLimiter(4), list[str]()

    async def work(key: str) -> None:
        await limiter.acquire(key)
        order.append(key)

    async with trio.open_nursery() as nursery:
        for key in "aaaaabc":
            nursery.start_soon(work, key)
            await trio.testing.wait_all_tasks_blocked()
        assert "".join(order) == "aaab"
        limiter.release("a")
        await trio.testing.wait_all_tasks_blocked()
        # c has none yet, so it goes before the first one's fourth.
        assert "".join(order) == "aaabc"
        for key in "bcaa":
            limiter.release(key)


async def test_one_address_has_half_of_the_turns() -> None:
    limiter, order = FairLimiter(4), list[str]()

    async def work(client: ClientId, name: str) -> None:
        await limiter.acquire(client)
        order.append(name)

    async with trio.open_nursery() as nursery:
        near = [ClientId("192.0.2.1") for _ in range(3)]
        for client in near:
            nursery.start_soon(work, client, "near")
            await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(work, ClientId("192.0.2.2"), "far")
        await trio.testing.wait_all_tasks_blocked()
        assert order == ["near", "near", "far"]
        limiter.release(near[0])
