"""The pool of a journal's writer in a Redis: fenced, bounded, and read by a user that may change nothing."""

from collections.abc import AsyncIterator
from typing import Final

import msgspec
import pytest

from tests.cluster.drawn import GENESIS
from tests.cluster.redis_server import RedisServer, needs_redis
from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import JournalUnavailableError, Lease, LeaseLostError
from wsnode.cluster.pool.redis_pool import READ_AT_ONCE, RedisPoolStream
from wsnode.cluster.pool.stream import PoolChange, PoolStreamChangedError, PublishedState, RecordedChange
from wsnode.cluster.records import RecordId, UnreadableRecordError
from wsnode.cluster.redis_journal import RedisJournal, open_journal

pytestmark = [needs_redis, pytest.mark.slow]

PREFIX: Final = f"wsnode:{{{GENESIS.hex()}}}"
FIRST: Final = PublishedState(None)


@pytest.fixture
async def journal(redis: RedisServer) -> AsyncIterator[RedisJournal]:
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as opened:
        yield opened


def reply(redis: RedisServer, command: str) -> bytes:
    return redis.ask(command.replace("PREFIX", PREFIX))


def said(
    lease: Lease, sequence: int, *, previous: int | None, added: int = 0, size: int = 100
) -> RecordedChange:
    change = PoolChange(
        None if previous is None else f"{lease.epoch}-{previous}",
        sequence > 1,
        [bytes([number]) * size for number in range(added)],
        [b"d" * 32],
    )
    return RecordedChange(RecordId(lease.epoch, sequence), change)


def named(said: RecordedChange) -> dict[bytes, bytes]:
    return {bytes([said.id.sequence]) + each[:31].ljust(31): each for each in said.change.added}


async def filled(pool: RedisPoolStream, lease: Lease, changes: int, size: int = 100) -> PublishedState:
    """Append changes of one transaction each."""
    kept = FIRST
    for sequence in range(1, changes + 1):
        told = said(lease, sequence, previous=sequence - 1 or None, added=1, size=size)
        await pool.append(lease, kept, told, named(told), [])
        kept = PublishedState(told.id, kept.count + 1)
    return kept


async def contents(pool: RedisPoolStream) -> list[bytes]:
    return [each async for part in pool.contents() for each in part]


async def test_what_was_appended_is_read_in_its_order_and_found(journal: RedisJournal) -> None:
    pool, lease = RedisPoolStream(journal), await journal.claim("writer")
    assert await pool.tip() is None
    assert await pool.read(None, 0) == []
    assert await contents(pool) == []
    one, two = said(lease, 1, previous=None, added=3), said(lease, 2, previous=1)
    await pool.append(lease, FIRST, one, named(one), [])
    names = list(named(one))
    await pool.append(lease, PublishedState(one.id, 3), two, {}, names[:1])
    assert await pool.tip() == two
    assert await pool.read(None, 0) == [one, two]
    assert await pool.read(one.id, 0) == [two]
    assert await pool.read(two.id, 0) == []
    assert sorted(await contents(pool)) == sorted(one.change.added[1:])
    assert await pool.find(names) == [None, *one.change.added[1:]]
    # Of what a block has nothing is said.
    await pool.append(lease, PublishedState(two.id, 2), None, {}, names[1:])
    assert await pool.tip() == two
    assert await contents(pool) == []


async def test_a_writer_that_begins_anew_leaves_nothing_of_what_was_there(journal: RedisJournal) -> None:
    pool, lease = RedisPoolStream(journal), await journal.claim("writer")
    await filled(pool, lease, 3)
    again = said(lease, 9, previous=None, added=1)
    await pool.append(lease, FIRST, again, named(again), [])
    assert await pool.read(None, 0) == [again]
    assert await contents(pool) == again.change.added


async def test_only_the_holder_of_the_lease_says_something(journal: RedisJournal) -> None:
    pool, lease = RedisPoolStream(journal), await journal.claim("writer")
    kept = await filled(pool, lease, 1)
    again = await journal.claim("writer")
    stranger = Lease("stranger", again.epoch)
    for fenced in (lease, stranger):
        for before, told in ((kept, None), (FIRST, said(fenced, 2, previous=None))):
            with pytest.raises(LeaseLostError):
                await pool.append(fenced, before, told, {}, [])
    await journal.release(again)
    with pytest.raises(LeaseLostError):
        await pool.append(again, FIRST, said(again, 1, previous=None), {}, [])
    assert len(await contents(pool)) == 1


@pytest.mark.parametrize(
    "harm", ["DEL PREFIX:pool", "DEL PREFIX:pool:contents", "SET PREFIX:pool x", "SET PREFIX:pool:contents x"]
)
async def test_what_was_lost_or_overwritten_is_noticed_and_begun_anew(
    redis: RedisServer, journal: RedisJournal, harm: str
) -> None:
    pool, lease = RedisPoolStream(journal), await journal.claim("writer")
    kept = await filled(pool, lease, 2)
    await pool.append(lease, kept, None, {}, [])
    reply(redis, harm)
    with pytest.raises(PoolStreamChangedError):
        await pool.append(lease, kept, None, {}, [])
    anew = said(lease, 3, previous=None, added=1)
    await pool.append(lease, FIRST, anew, named(anew), [])
    assert await pool.read(None, 0) == [anew]
    assert await contents(pool) == anew.change.added


async def test_the_stream_is_bounded_in_changes_and_in_bytes(
    redis: RedisServer, journal: RedisJournal
) -> None:
    lease = await journal.claim("writer")
    kept = await filled(RedisPoolStream(journal, most_changes=4), lease, 9)
    assert reply(redis, "XLEN PREFIX:pool") == b":4\r\n"
    assert kept.count == 9
    most = 5000
    await filled(pool := RedisPoolStream(journal, most_bytes=most), lease, 9, size=1500)
    left = await pool.read(None, 0)
    assert [each.id.sequence for each in left] == [7, 8, 9]
    assert sum(len(msgspec.msgpack.encode(each.change)) for each in left) <= most
    # The last one stays, whatever its size.
    large = said(lease, 10, previous=9, added=4, size=3000)
    await pool.append(lease, PublishedState(left[-1].id, 9), large, named(large), [])
    assert await pool.read(None, 0) == [large]


async def test_a_reader_is_given_a_part_of_many_changes(journal: RedisJournal) -> None:
    pool, lease = RedisPoolStream(journal), await journal.claim("writer")
    await filled(pool, lease, READ_AT_ONCE + 1)
    first = await pool.read(None, 0)
    assert len(first) == READ_AT_ONCE
    assert len(await pool.read(first[-1].id, 0)) == 1


async def test_all_of_many_contents_are_read(journal: RedisJournal) -> None:
    pool, lease = RedisPoolStream(journal), await journal.claim("writer")
    kept, wanted = FIRST, set[bytes]()
    for sequence in range(1, 5):
        told = said(lease, sequence, previous=sequence - 1 or None)
        added = {f"{sequence} {number}".encode(): f"{sequence} {number}".encode() for number in range(250)}
        await pool.append(lease, kept, told, added, [])
        kept, wanted = PublishedState(told.id, kept.count + 250), wanted | set(added)
    assert set(await contents(pool)) == wanted


async def test_what_is_no_change_is_named(redis: RedisServer, journal: RedisJournal) -> None:
    pool = RedisPoolStream(journal)
    reply(redis, "XADD PREFIX:pool 5-1 change x")
    with pytest.raises(UnreadableRecordError, match="5-1"):
        await pool.tip()
    with pytest.raises(UnreadableRecordError, match="5-1"):
        await pool.read(None, 0)
    reply(redis, "DEL PREFIX:pool")
    reply(redis, "SET PREFIX:pool x")
    with pytest.raises(JournalUnavailableError):
        await pool.read(None, 0)


async def test_a_user_that_may_only_read_the_keys_can_follow(redis: RedisServer) -> None:
    reply(redis, "ACL SETUSER writer on >secret resetkeys ~PREFIX:* +@all -@admin")
    reply(redis, "ACL SETUSER reader on >secret resetkeys %R~PREFIX:* +@all -@admin")
    url = redis.url.replace("unix://", "unix://writer:secret@")
    async with open_journal(JournalAddress.parse(url), GENESIS) as opened:
        pool, lease = RedisPoolStream(opened), await opened.claim("writer")
        await filled(pool, lease, 1)
    url = redis.url.replace("unix://", "unix://reader:secret@")
    async with open_journal(JournalAddress.parse(url), GENESIS) as opened:
        reader = RedisPoolStream(opened)
        (told,) = await reader.read(None, 0)
        assert await reader.tip() == told
        assert await contents(reader) == told.change.added
        assert await reader.find(list(named(told))) == told.change.added
        with pytest.raises(JournalUnavailableError):
            await reader.append(lease, FIRST, told, {}, [])
