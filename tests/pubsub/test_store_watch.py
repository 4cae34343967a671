"""Time stands still in these tests, so nothing but what they do lets the watch look again."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import trio
import trio.testing

from wsnode.pubsub.fan_out import FanOut
from wsnode.pubsub.store_watch import WATCH_SECONDS, CommitNotifier, StoreWatch
from wsnode.store.environment import Environment
from wsnode.store.table import Table

FRUIT = Table("fruit")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Environment]:
    environment = Environment(tmp_path, [FRUIT], writer=True)
    yield environment
    environment.close()


def commit(store: Environment) -> None:
    store.write(lambda writer: writer.put(FRUIT, b"apple", b"red"))


async def test_every_watch_looks_again_after_a_commit(
    tmp_path: Path, store: Environment, nursery: trio.Nursery, mock_clock: trio.testing.MockClock
) -> None:
    looks = [0, 0]

    def look_of(number: int) -> None:
        looks[number] += 1

    for number in range(2):
        watch = StoreWatch(FanOut(), tmp_path)
        nursery.start_soon(watch.run, lambda number=number: look_of(number))
    await trio.testing.wait_all_tasks_blocked()
    assert looks == [1, 1]
    for count in range(2, 5):
        commit(store)
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert looks == [count, count]


async def test_a_commit_during_a_look_is_seen_by_the_next_one(
    tmp_path: Path, store: Environment, nursery: trio.Nursery, mock_clock: trio.testing.MockClock
) -> None:
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            commit(store)

    nursery.start_soon(StoreWatch(FanOut(), tmp_path).run, look)
    await trio.testing.wait_all_tasks_blocked(0.01)
    assert looks == 2


@pytest.mark.parametrize("folder", [None, Path("/nonexistent")])
async def test_without_a_folder_to_watch_it_looks_at_an_interval(
    folder: Path | None,
    nursery: trio.Nursery,
    mock_clock: trio.testing.MockClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1

    nursery.start_soon(StoreWatch(FanOut(), folder).run, look)
    for count in range(1, 4):
        await trio.testing.wait_all_tasks_blocked()
        assert looks == count
        mock_clock.jump(WATCH_SECONDS)
    assert ("cannot be watched" in caplog.text) == (folder is not None)


async def test_a_commit_that_is_undone_wakes_nobody(
    tmp_path: Path, store: Environment, autojump_clock: trio.testing.MockClock
) -> None:
    def fail(_writer: object) -> None:
        raise ZeroDivisionError

    with closing(CommitNotifier(tmp_path)) as doorbell:
        with pytest.raises(ZeroDivisionError):
            store.write(fail)
        with trio.move_on_after(1) as scope:
            await doorbell.wait_ring()
    assert scope.cancelled_caught
