"""Filters in a Redis, and what a node does while it is away."""

import signal
from collections.abc import AsyncIterator
from functools import partial
from typing import Final

import pytest
import trio

from tests.cluster.drawn import GENESIS
from tests.cluster.redis_server import RedisServer, needs_redis
from wsnode.cluster import filter_store
from wsnode.cluster.address import JournalAddress
from wsnode.cluster.filter_store import RedisFilterStore
from wsnode.cluster.redis_journal import RedisJournal, open_journal
from wsnode.cluster.redis_scripts import MAX_FILTER_BYTES
from wsnode.ethereum.live.filter_store import (
    FilterQuota,
    FilterQuotaError,
    FilterStoreUnavailableError,
    StoredFilter,
    UnreadableFilterError,
)

pytestmark = [needs_redis, pytest.mark.slow]

PREFIX: Final = f"wsnode:{{{GENESIS.hex()}}}"
NEW: Final = StoredFilter(b'[{"address":[]}]', b"here", b"bot")
ROOM: Final = FilterQuota("kbot", 2, max_filters=6, max_held=3, max_weight=10)
SECONDS: Final = 300.0
LOST: Final = "0x" + "ff" * 16


@pytest.fixture
async def journal(redis: RedisServer) -> AsyncIterator[RedisJournal]:
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as opened:
        yield opened


def identity(number: int) -> str:
    return f"0x{number:032x}"


def reply(redis: RedisServer, command: str) -> bytes:
    return redis.ask(command.replace("PREFIX", PREFIX))


async def test_a_filter_moves_from_where_a_poll_began_and_from_nowhere_else(journal: RedisJournal) -> None:
    await journal.add_filter(identity(1), NEW, SECONDS, ROOM)
    assert await journal.find_filter(identity(1)) == NEW
    assert await journal.move_filter(identity(1), b"here", b"there", SECONDS)
    assert not await journal.move_filter(identity(1), b"here", b"elsewhere", SECONDS)
    assert await journal.find_filter(identity(1)) == StoredFilter(NEW.wish, b"there", b"bot")
    assert await journal.remove_filter(identity(1))
    assert not await journal.remove_filter(identity(1))
    assert await journal.find_filter(identity(1)) is None
    assert not await journal.move_filter(identity(1), b"there", b"here", SECONDS)


async def test_bounds_hold_over_all_nodes(redis: RedisServer, journal: RedisJournal) -> None:
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as other:
        nodes = (journal, other)

        async def add(number: int, holder: str, weight: int) -> None:
            room = FilterQuota(holder, weight, max_filters=6, max_held=3, max_weight=10)
            await nodes[number % 2].add_filter(identity(number), NEW, SECONDS, room)

        for number in range(3):
            await add(number, "kbot", 2)
        with pytest.raises(FilterQuotaError):
            await add(3, "kbot", 0)
        with pytest.raises(FilterQuotaError):
            await add(3, "c192.0.2.1", 5)
        for number in range(3, 6):
            await add(number, "", 0)
        with pytest.raises(FilterQuotaError):
            await add(6, "", 0)
        assert await other.remove_filter(identity(0))
        await add(6, "kbot", 6)
    assert reply(redis, "HGET PREFIX:filters:weights total") == b"$2\r\n10\r\n"
    assert b"bot" not in reply(redis, "KEYS *")


async def test_what_is_not_polled_goes_and_makes_room(redis: RedisServer, journal: RedisJournal) -> None:
    room = FilterQuota("kbot", 6, max_filters=6, max_held=1, max_weight=6)
    await journal.add_filter(identity(1), NEW, 1.0, room)
    while await journal.find_filter(identity(1)) is not None:
        pass
    while True:
        # Redis counts a filter off in the second after it went.
        try:
            await journal.add_filter(identity(2), NEW, SECONDS, room)
        except FilterQuotaError:
            continue
        break
    assert reply(redis, "HGET PREFIX:filters:weights total") == b"$1\r\n6\r\n"
    assert 0 < int(reply(redis, f"TTL PREFIX:filter:{identity(2)}")[1:]) <= SECONDS


async def test_a_poll_has_a_filter_live_on(redis: RedisServer, journal: RedisJournal) -> None:
    await journal.add_filter(identity(1), NEW, 100.0, ROOM)
    assert await journal.move_filter(identity(1), b"here", b"here", 5000.0)
    assert int(reply(redis, f"TTL PREFIX:filter:{identity(1)}")[1:]) > 4000
    scores = [reply(redis, f"ZRANGE {key} 0 -1 WITHSCORES") for key in held(redis)]
    assert len(scores) == 2
    assert scores[0] == scores[1]


def held(redis: RedisServer) -> list[str]:
    keys = reply(redis, "KEYS *").decode().split()
    return [key for key in keys if key.endswith(":filters") or ":filters:of:" in key]


@pytest.mark.parametrize(
    "command",
    [
        "SET PREFIX:filter:ID garbage",
        "HSET PREFIX:filter:ID wish x",
        "HSET PREFIX:filter:ID place x",
        "LPUSH PREFIX:filter:ID x",
    ],
)
async def test_what_no_node_has_put_there_is_no_filter(
    redis: RedisServer, journal: RedisJournal, command: str
) -> None:
    reply(redis, command.replace("ID", identity(1)))
    with pytest.raises(UnreadableFilterError):
        await journal.find_filter(identity(1))
    assert not await journal.move_filter(identity(1), b"here", b"there", SECONDS)
    assert await journal.remove_filter(identity(1))


async def test_garbage_where_filters_are_counted_is_no_error(
    redis: RedisServer, journal: RedisJournal
) -> None:
    for command in ("SET PREFIX:filters x", "SET PREFIX:filters:weights x"):
        reply(redis, command)
        await journal.add_filter(identity(1), NEW, SECONDS, ROOM)
        assert await journal.move_filter(identity(1), b"here", b"here", SECONDS)
        assert await journal.remove_filter(identity(1))
    reply(redis, "HSET PREFIX:filters:weights total x")
    await journal.add_filter(identity(1), NEW, SECONDS, ROOM)
    assert reply(redis, "HGET PREFIX:filters:weights total") == b"$1\r\n2\r\n"


async def test_a_wish_that_is_too_long_is_not_read(journal: RedisJournal) -> None:
    await journal.add_filter(identity(1), StoredFilter(b"x" * (MAX_FILTER_BYTES + 1), b"here"), SECONDS, ROOM)
    with pytest.raises(UnreadableFilterError, match="wish of"):
        await journal.find_filter(identity(1))


async def until_there(kept: RedisFilterStore) -> None:
    while True:
        try:
            await kept.find(LOST)
        except FilterStoreUnavailableError:
            await trio.sleep(0.01)
        else:
            return


@pytest.mark.slow
async def test_an_outage_is_said_once_and_filters_stay(
    redis: RedisServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", "wsnode.journal")
    kept = RedisFilterStore(partial(open_journal, JournalAddress.parse(redis.url), GENESIS), SECONDS)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(kept.run)
        await kept.add(LOST, NEW, ROOM)
        redis.signal(signal.SIGSTOP)
        with monkeypatch.context() as usual:
            usual.setattr(filter_store, "ANSWER_SECONDS", 2.0)
            for _ in range(3):
                with pytest.raises(FilterStoreUnavailableError):
                    await kept.find(LOST)
        redis.signal(signal.SIGCONT)
        await until_there(kept)
        assert await kept.find(LOST) == NEW
        assert await kept.move(LOST, b"here", b"there")
        redis.kill()
        for _ in range(3):
            with pytest.raises(FilterStoreUnavailableError):
                await kept.move(LOST, b"there", b"here")
        redis.start()
        await until_there(kept)
        # This Redis keeps nothing.
        assert await kept.find(LOST) is None
        nursery.cancel_scope.cancel()
    kept.report(LOST, "why")
    messages = [record.getMessage() for record in caplog.records]
    away, again = "filters cannot be polled for now", "filters can be polled again"
    assert [sum(text in message for message in messages) for text in (away, again)] == [2, 2]
    assert messages[-1] == f"the filter {LOST} in the journal cannot be read: why"


async def test_more_polls_at_once_than_there_are_connections_are_answered(journal: RedisJournal) -> None:
    found: list[StoredFilter | None] = []

    async def poll() -> None:
        found.append(await journal.find_filter(LOST))

    async with trio.open_nursery() as polls:
        for _ in range(100):
            polls.start_soon(poll)
    assert found == [None] * 100
