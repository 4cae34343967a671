"""When the next block is due, on a clock that jumps."""

from itertools import pairwise

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from wsnode.ethereum.development.maker import MiningMode


async def due(mode: MiningMode, last: float) -> float:
    """Return how long it takes until a block is due."""
    began = trio.current_time()
    await mode.wait_due(last)
    return trio.current_time() - began


async def test_blocks_are_due_at_their_times_however_long_one_takes(autojump_clock: MockClock) -> None:
    mode, last = MiningMode(5), trio.current_time()
    dues = []
    for work in (1, 4, 0):
        last = await mode.wait_due(last)
        dues.append(last)
        await trio.sleep(work)
    assert [later - earlier for earlier, later in pairwise(dues)] == [5, 5]


async def test_a_block_that_is_late_is_not_made_up_for(autojump_clock: MockClock) -> None:
    mode, last = MiningMode(5), trio.current_time()
    last = await mode.wait_due(last)
    await trio.sleep(17)
    assert await due(mode, last) == 0
    assert await due(mode, trio.current_time()) == 5


@pytest.mark.parametrize("mode", [MiningMode(), MiningMode(0), MiningMode(None)])
async def test_without_a_time_none_is_due(mode: MiningMode, autojump_clock: MockClock) -> None:
    assert mode.is_automatic
    with trio.move_on_after(1000) as waited:
        await mode.wait_due(trio.current_time())
    assert waited.cancelled_caught


async def test_another_time_counts_from_when_it_was_set(autojump_clock: MockClock) -> None:
    mode = MiningMode(100)
    async with trio.open_nursery() as nursery:
        found = []

        async def wait() -> None:
            found.append(await due(mode, trio.current_time()))

        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        await trio.sleep(30)
        mode.set_seconds(2)
    assert found == [32]
    assert not mode.is_automatic


async def test_turning_it_off_ends_only_the_way_that_is_on() -> None:
    mode = MiningMode(5)
    mode.set_automatic(enabled=False)
    assert (mode.seconds, mode.is_automatic) == (5, False)
    mode.set_automatic(enabled=True)
    assert (mode.seconds, mode.is_automatic) == (None, True)
    mode.set_automatic(enabled=False)
    assert (mode.seconds, mode.is_automatic) == (None, False)


@pytest.mark.parametrize("seconds", [5, None])
def test_it_goes_back_to_how_it_began(seconds: float | None) -> None:
    mode = MiningMode(seconds)
    for changed in (7, 0):
        mode.set_seconds(changed)
        mode.reset()
        assert (mode.seconds, mode.is_automatic) == (seconds, seconds is None)
