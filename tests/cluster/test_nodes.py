"""Nodes that say in a Redis that they are there, and find the one that writes their chain."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.cluster.drawn import GENESIS
from tests.cluster.redis_server import RedisServer, needs_redis, started_redis
from wsnode.cluster.address import JournalAddress
from wsnode.cluster.nodes import Node
from wsnode.cluster.redis_journal import RedisJournal, open_journal

pytestmark = needs_redis
LOW = Node("one", "http://one/", 3, "0x03")
HIGH = Node("two", "http://two/", 5, "0x05")


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with started_redis() as server:
        yield server


@pytest.fixture
async def meeting(redis: RedisServer) -> AsyncIterator[RedisJournal]:
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as opened:
        yield opened


async def test_nodes_find_each_other_and_the_one_with_the_lease(meeting: RedisJournal) -> None:
    assert (await meeting.meet(None)).nodes == ()
    assert (await meeting.meet(LOW)).leader is None
    await meeting.claim("one")
    present = await meeting.meet(HIGH)
    assert present.leader == LOW
    assert present.others("none") == [HIGH, LOW]
    assert present.others("two") == [LOW]


async def test_what_a_node_says_again_takes_the_place_of_what_it_said(meeting: RedisJournal) -> None:
    await meeting.meet(LOW)
    higher = Node("one", "http://one/", 4, "0x04")
    assert (await meeting.meet(higher)).nodes == (higher,)


async def test_a_node_that_says_nothing_any_more_is_gone(redis: RedisServer, meeting: RedisJournal) -> None:
    await meeting.meet(HIGH)
    nodes = f"wsnode:{{{GENESIS.hex()}}}:nodes"
    for name, text in (("old", f"1000 {LOW.name}"), ("strange", "1"), ("other", "99999999999 []")):
        await meeting._client.hset(nodes, {name: text})
    assert (await meeting.meet(None)).nodes == (HIGH,)
    left = redis.ask(f"HKEYS {nodes}")
    assert b"old" not in left
    assert b"strange" not in left
