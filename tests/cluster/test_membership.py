"""Nodes that say in a Redis that they are there, and find the one that writes their chain."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
import trio
import trio.testing

from tests.cluster.drawn import GENESIS
from tests.cluster.growing import new_chain
from tests.cluster.redis_server import RedisServer, needs_redis
from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import JournalUnavailableError
from wsnode.cluster.membership import (
    MAX_NODE_BYTES,
    NODE_SECONDS,
    ClusterMembership,
    ClusterNode,
    PresentNodes,
)
from wsnode.cluster.redis_journal import RedisJournal, open_journal

pytestmark = needs_redis
LOW = ClusterNode("one", "http://one/", 3, "0x03")
HIGH = ClusterNode("two", "http://two/", 5, "0x05")


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
    higher = ClusterNode("one", "http://one/", 4, "0x04")
    assert (await meeting.meet(higher)).nodes == (higher,)


@pytest.mark.parametrize("ahead", [60, 10**22])
async def test_a_node_of_the_future_is_dropped(redis: RedisServer, meeting: RedisJournal, ahead: int) -> None:
    nodes, now = f"wsnode:{{{GENESIS.hex()}}}:nodes", (await meeting._client.time()).timestamp()
    await meeting._client.hset(nodes, {"ghost": f"{int(now) + ahead} {msgspec.json.encode(LOW).decode()}"})
    assert (await meeting.meet(HIGH)).nodes == (HIGH,)
    assert list(await meeting._client.hkeys(nodes)) == [b"two"]


@pytest.mark.parametrize(
    "text",
    [b'{"name":"\xff"}', b"[" * 4000, b'{"name":"%b"}' % (b"a" * MAX_NODE_BYTES), b"9" * 4000, b"null"],
    ids=["no UTF-8", "nested", "long", "number", "null"],
)
async def test_what_no_node_says_is_passed_over(
    redis: RedisServer, meeting: RedisJournal, text: bytes
) -> None:
    nodes, now = f"wsnode:{{{GENESIS.hex()}}}:nodes", (await meeting._client.time()).timestamp()
    await meeting._client.hset(nodes, {"evil": b"%d %b" % (int(now), text)})
    assert (await meeting.meet(HIGH)).nodes == (HIGH,)


async def test_a_node_that_says_nothing_any_more_is_gone(redis: RedisServer, meeting: RedisJournal) -> None:
    await meeting.meet(HIGH)
    nodes = f"wsnode:{{{GENESIS.hex()}}}:nodes"
    for name, text in (("old", f"1000 {LOW.name}"), ("strange", "1"), ("other", "99999999999 []")):
        await meeting._client.hset(nodes, {name: text})
    assert (await meeting.meet(None)).nodes == (HIGH,)
    left = redis.ask(f"HKEYS {nodes}")
    assert b"old" not in left
    assert b"strange" not in left


async def test_a_user_of_redis_with_the_rights_of_a_replica_meets_the_others(
    redis: RedisServer, meeting: RedisJournal
) -> None:
    await meeting.claim("one")
    chain = f"wsnode:{{{GENESIS.hex()}}}"
    redis.ask(f"ACL SETUSER replica on >secret resetkeys %R~{chain}:* %RW~{chain}:nodes +@all -@admin")
    url = redis.url.replace("unix://", "unix://replica:secret@")
    async with open_journal(JournalAddress.parse(url), GENESIS) as replica:
        assert (await replica.meet(LOW)).leader == LOW
        with pytest.raises(JournalUnavailableError, match="permissions"):
            await replica.claim("two")


class Place:
    """A place in memory where nodes meet, which can be taken away."""

    def __init__(self) -> None:
        self.present = PresentNodes()
        self.is_away = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Place"]:
        yield self

    async def meet(self, node: ClusterNode | None) -> PresentNodes:
        await trio.lowlevel.checkpoint()
        if self.is_away:
            raise JournalUnavailableError("memory", "it was taken away")
        return self.present


async def test_a_chain_has_a_writer_while_a_process_has_the_lease_and_unknown_while_nobody_can_say(
    autojump_clock: trio.testing.MockClock,
) -> None:
    with new_chain() as chain:
        place = Place()
        presence = ClusterMembership(chain, place.open, "one", None)
        assert presence.has_writer is None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(presence.run)
            found: list[bool | None] = []
            for present, is_away in (
                (PresentNodes(), False),
                (PresentNodes(writer="two"), False),
                (PresentNodes(), True),
            ):
                place.present, place.is_away = present, is_away
                await trio.sleep(NODE_SECONDS)
                found.append(presence.has_writer)
            nursery.cancel_scope.cancel()
        assert found == [False, True, None]
