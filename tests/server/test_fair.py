"""Turns are handed out in rotation, and none is lost."""

import trio
import trio.testing

from wsnode.server.fair import FairLimiter


async def test_keys_take_turns() -> None:
    limiter, order = FairLimiter(1), list[str]()

    async def work(key: str) -> None:
        await limiter.acquire(key)
        order.append(key)
        await trio.lowlevel.checkpoint()
        limiter.release()

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
        limiter.release()
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
        limiter.release()
        await limiter.acquire("c")
    await limiter.acquire("d")
    limiter.release()
    limiter.release()
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
        limiter.release()
        nursery.start_soon(work, "c")
        await trio.testing.wait_all_tasks_blocked()
        assert order == ["b"]
        limiter.release()
    assert order == ["b", "c"]
