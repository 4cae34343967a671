"""What another program has put at the keys of a journal: each question has an answer, or one typed error."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
import pytest

from tests.cluster.drawn import GENESIS
from tests.cluster.redis_server import RedisServer, needs_redis
from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import (
    CorruptKeyError,
    JournalUnavailableError,
    Lease,
    LeaseHeldError,
    LeaseLostError,
    TipMovedError,
)
from wsnode.cluster.membership import MAX_NODES, ClusterNode
from wsnode.cluster.pool.redis_pool import RedisPoolStream
from wsnode.cluster.pool.stream import PoolStreamChangedError, PublishedState
from wsnode.cluster.records import BrokenLinkError, ChainMismatchError, UnreadableRecordError
from wsnode.cluster.redis_journal import RedisJournal, open_journal
from wsnode.cluster.shared_rates import MAX_OWING_SECONDS, KeySpending
from wsnode.ethereum.live.filter_store import (
    FilterQuota,
    FilterQuotaError,
    StoredFilter,
    UnreadableFilterError,
)

pytestmark = [needs_redis, pytest.mark.slow]

EXPECTED: Final = (
    JournalUnavailableError,
    LeaseLostError,
    LeaseHeldError,
    TipMovedError,
    BrokenLinkError,
    UnreadableRecordError,
    ChainMismatchError,
    FilterQuotaError,
    UnreadableFilterError,
    PoolStreamChangedError,
)
KEYS: Final = (
    *("log", "lease", "epoch", "genesis", "nodes", "quota", "filters", "filters:weights", "filters:of:"),
    *("filter:0x1", "pool", "pool:contents"),
)
WORDS: Final = (b"9" * 5000, b"\xff\xfe", b"[" * 1000, b"-1", b"inf", b"nan", b"0x10", b"")
FEW_WORDS: Final = (b"9" * 5000, b"\xff\xfe", b"nan")

Put = Callable[[Any, str], Awaitable[Any]]
Ask = Callable[[RedisJournal, RedisPoolStream], Awaitable[Any]]


def text(word: bytes) -> Put:
    return lambda client, key: client.set(key, word)


def expiring(word: bytes) -> Put:
    return lambda client, key: client.set(key, word, px=60_000)


def fields(word: bytes) -> Put:
    return lambda client, key: client.hset(key, {word or b"x": word, b"record": word, b"one": b"1 " + word})


def stream(word: bytes, identifier: str) -> Put:
    names = ("record", "bytes", "blocks", "change")
    return lambda client, key: client.xadd(key, dict.fromkeys(names, word), identifier=identifier)


PUTS: Final[dict[str, Put]] = {
    **{f"text {word[:8]!r}": text(word) for word in WORDS},
    **{f"expiring {word[:8]!r}": expiring(word) for word in FEW_WORDS},
    **{f"hash {word[:8]!r}": fields(word) for word in FEW_WORDS},
    **{f"stream {word[:8]!r}": stream(word, "1-1") for word in FEW_WORDS},
    "last id": stream(b"x", f"{2**64 - 1}-{2**64 - 1}"),
    "short entry": lambda client, key: client.xadd(key, {"x": b"y"}, identifier="5-5"),
    "list": lambda client, key: client.rpush(key, [b"x", b"y"]),
    "set": lambda client, key: client.sadd(key, [b"x", b"\xff"]),
    "scores": lambda client, key: client.zadd(key, {b"x": 1e308, b"\xff": float("inf"), b"a": float("-inf")}),
}
LEASE, NODE = Lease("one", 1), ClusterNode("one", "http://one/", 3, "0x03")
QUOTA, FILTER = FilterQuota("one", 1, 10, 10, 10), StoredFilter(b"wish", b"place")
ASKS: Final[dict[str, Ask]] = {
    "claim": lambda journal, pool: journal.claim("one"),
    "renew": lambda journal, pool: journal.renew(LEASE),
    "release": lambda journal, pool: journal.release(LEASE),
    "tip": lambda journal, pool: journal.tip(),
    "read": lambda journal, pool: journal.read(None, 0.001),
    "read_back": lambda journal, pool: journal.read_back(None, 5),
    "genesis": lambda journal, pool: journal.genesis(),
    "meet": lambda journal, pool: journal.meet(NODE),
    "exchange": lambda journal, pool: journal.exchange([KeySpending("a", 1.0, 0.1, 2.0)]),
    "add_filter": lambda journal, pool: journal.add_filter("0x1", FILTER, 60, QUOTA),
    "find_filter": lambda journal, pool: journal.find_filter("0x1"),
    "move_filter": lambda journal, pool: journal.move_filter("0x1", b"place", b"on", 60),
    "remove_filter": lambda journal, pool: journal.remove_filter("0x1"),
    "pool tip": lambda journal, pool: pool.tip(),
    "pool read": lambda journal, pool: pool.read(None, 0.001),
    "pool find": lambda journal, pool: pool.find([b"x"]),
    "pool append": lambda journal, pool: pool.append(LEASE, PublishedState(None, 0), None, {}, []),
}


@pytest.mark.parametrize("put", PUTS)
async def test_every_question_is_answered_or_fails_in_its_own_way(redis: RedisServer, put: str) -> None:
    wrong = []
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as journal:
        pool = RedisPoolStream(journal)
        for key in KEYS:
            for name, ask in ASKS.items():
                await journal._client.flushdb()
                await PUTS[put](journal._client, journal.key(key))
                try:
                    await ask(journal, pool)
                except EXPECTED:
                    continue
                except Exception as error:
                    wrong.append(f"{key}: {name}: {error!r:.150}")
    assert wrong == []


@pytest.mark.parametrize("score", [float("inf"), 1e308, 1e12], ids=str)
async def test_no_key_owes_for_ever(redis: RedisServer, score: float) -> None:
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as journal:
        await journal._client.zadd(journal.key("quota"), {b"a": score})
        assert await journal.exchange([]) == {}
        await journal._client.zadd(journal.key("quota"), {b"a": score})
        owing = await journal.exchange([KeySpending("a", MAX_OWING_SECONDS, 0.1, 0.0)])
        assert 0 < owing["a"] <= MAX_OWING_SECONDS


async def test_an_epoch_has_as_many_digits_as_its_writer_gives_it(redis: RedisServer) -> None:
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as journal:
        for digits, epoch in ((15, 10**15 - 1), (16, 0), (5000, 0)):
            await journal._client.set(journal.key("epoch"), b"9" * digits)
            assert (await journal.meet(NODE)).epoch == epoch


@pytest.mark.parametrize("milliseconds", [10**15 - 1, 10**15, 2**64 - 1])
async def test_a_record_of_the_far_future_gives_no_epoch_that_nobody_may_have(
    redis: RedisServer, milliseconds: int
) -> None:
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as journal:
        log, epoch = journal.key("log"), journal.key("epoch")
        await journal._client.xadd(log, {"record": b"x"}, identifier=f"{milliseconds}-1")
        with pytest.raises(CorruptKeyError) as damaged:
            await journal.claim("writer", 0)
        assert damaged.value.key == log
        assert await journal._client.exists([epoch]) == 0
        # What its message says to do is all that it takes.
        await journal._client.delete([log])
        assert (await journal.claim("writer", 0)).epoch < 10**15


async def test_the_last_epoch_is_followed_by_none(redis: RedisServer) -> None:
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as journal:
        await journal._client.set(journal.key("epoch"), str(10**15 - 2))
        lease = await journal.claim("writer", 0)
        assert lease.epoch == 10**15 - 1
        await journal.release(lease)
        with pytest.raises(CorruptKeyError) as damaged:
            await journal.claim("writer", 0)
        assert damaged.value.key == journal.key("epoch")


async def test_so_many_nodes_are_returned(redis: RedisServer) -> None:
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as journal:
        now = int((await journal._client.time()).timestamp())
        said = {
            f"node {number}": f"{now} {msgspec.json.encode(NODE).decode()}" for number in range(MAX_NODES)
        }
        await journal._client.hset(journal.key("nodes"), said)
        assert len((await journal.meet(None)).nodes) == MAX_NODES
        await journal._client.hset(journal.key("nodes"), {"one more": said["node 1"]})
        assert len((await journal.meet(None)).nodes) == MAX_NODES
