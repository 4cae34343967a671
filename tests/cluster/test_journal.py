"""What every journal does, in memory and in a Redis."""

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trio

from tests.cluster.drawn import GENESIS, record, records
from tests.cluster.memory_journal import MemoryJournal
from tests.cluster.redis_server import RedisServer, needs_redis, started_redis
from wsnode.cluster import redis_journal
from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import (
    CorruptKeyError,
    Journal,
    JournalLimits,
    JournalUnavailableError,
    Lease,
    LeaseHeldError,
    LeaseLostError,
    TipMovedError,
)
from wsnode.cluster.records import (
    BrokenLinkError,
    ChainMismatchError,
    PatchRecord,
    RecordId,
    UnreadableRecordError,
)
from wsnode.cluster.redis_journal import open_journal

BOUNDS = JournalLimits(records=6, bytes=4000, blocks=3)


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with started_redis() as server:
        yield server


@pytest.fixture(params=["memory", pytest.param("redis", marks=needs_redis)])
async def journal(request: pytest.FixtureRequest) -> AsyncIterator[Journal]:
    if request.param == "memory":
        yield MemoryJournal(GENESIS, BOUNDS)
    else:
        server: RedisServer = request.getfixturevalue("redis")
        server.ask("FLUSHALL")
        async with open_journal(JournalAddress.parse(server.url), GENESIS, BOUNDS) as opened:
            yield opened


async def filled(journal: Journal, blocks: int) -> tuple[Lease, list[RecordId]]:
    """Append blocks and return the lease, and the ids of their records."""
    lease = await journal.claim("one")
    made = records(lease, range(1, blocks + 1))
    for each in made:
        await journal.append(lease, each)
    return lease, [each.id for each in made]


async def test_an_empty_journal_has_no_tip(journal: Journal) -> None:
    assert await journal.tip() is None
    assert list(await journal.read(None, 0)) == []
    assert list(await journal.read_back(None, 9)) == []


async def test_records_are_read_in_order_from_any_of_them_on(journal: Journal) -> None:
    _lease, ids = await filled(journal, 4)
    assert [each.id for each in await journal.read(None, 0)] == ids
    assert [each.id for each in await journal.read(ids[1], 0)] == ids[2:]
    assert list(await journal.read(ids[3], 0)) == []
    tip = await journal.tip()
    assert tip is not None
    assert tip.id == ids[3]


async def test_records_are_read_back_from_any_of_them_on(journal: Journal) -> None:
    _lease, ids = await filled(journal, 4)
    assert [each.id for each in await journal.read_back(None, 3)] == [ids[3], ids[2], ids[1]]
    assert [each.id for each in await journal.read_back(ids[1], 3)] == [ids[0]]
    assert list(await journal.read_back(ids[0], 3)) == []


async def test_a_reader_is_woken_by_a_record(journal: Journal) -> None:
    lease, ids = await filled(journal, 1)
    async with trio.open_nursery() as nursery:

        async def append() -> None:
            tip = await journal.tip()
            await journal.append(lease, record(lease, 2, tip))

        nursery.start_soon(append)
        (read,) = await journal.read(ids[0], 60)
    assert read.previous == ids[0]


async def test_one_process_at_a_time_has_the_lease(journal: Journal) -> None:
    lease = await journal.claim("one")
    with pytest.raises(LeaseHeldError) as raised:
        await journal.claim("two")
    assert raised.value.holder == "one"
    await journal.release(lease)
    assert (await journal.claim("two")).epoch > lease.epoch


async def test_a_holder_that_claims_again_has_a_new_epoch(journal: Journal) -> None:
    first = await journal.claim("one")
    second = await journal.claim("one", floor=first.epoch + 1_000_000)
    assert second.epoch > first.epoch + 1_000_000
    with pytest.raises(LeaseLostError):
        await journal.renew(first)
    assert await journal.renew(second) is None
    await journal.release(first)
    assert await journal.renew(second) is None


async def test_a_writer_without_the_lease_is_refused(journal: Journal) -> None:
    first, ids = await filled(journal, 1)
    await journal.release(first)
    second = await journal.claim("two")
    tip = await journal.tip()
    with pytest.raises(LeaseLostError):
        await journal.append(first, record(first, 2, tip))
    with pytest.raises(LeaseLostError):
        await journal.keep_genesis(first, b"{}")
    await journal.append(second, record(second, 2, tip))
    assert await journal.renew(second) == RecordId(second.epoch, 1)
    assert [each.id for each in await journal.read(ids[0], 0)] == [RecordId(second.epoch, 1)]


async def test_a_record_is_appended_after_the_one_that_it_names_only(journal: Journal) -> None:
    lease, ids = await filled(journal, 2)
    first = (await journal.read(None, 0))[0]
    with pytest.raises(TipMovedError) as raised:
        await journal.append(lease, record(lease, 2, first))
    assert (raised.value.expected, raised.value.found) == (ids[0], ids[1])
    with pytest.raises(TipMovedError) as raised:
        await journal.append(lease, record(lease, 1, None))
    assert (raised.value.expected, raised.value.found) == (None, ids[1])


async def test_first_records_are_dropped_beyond_the_number(journal: Journal) -> None:
    _lease, ids = await filled(journal, 9)
    assert [each.id for each in await journal.read(None, 0)] == ids[3:]
    with pytest.raises(BrokenLinkError) as raised:
        await journal.read(ids[1], 0)
    assert (raised.value.expected, raised.value.found) == (ids[1], ids[2])
    assert [each.id for each in await journal.read(ids[2], 0)] == ids[3:]


async def test_first_records_are_dropped_beyond_the_bytes_but_some_blocks_stay(journal: Journal) -> None:
    lease, _ids = await filled(journal, 4)
    # Bytes that do not compress.
    large = PatchRecord(bytes(RANDOM[:5000]))
    await journal.append(lease, record(lease, 5, await journal.tip(), large))
    kept = await journal.read(None, 0)
    assert [each.after.head.number for each in kept] == [2, 3, 4, 5]


async def test_the_genesis_file_is_held_by_readers(journal: Journal) -> None:
    assert await journal.genesis() is None
    lease = await journal.claim("one")
    await journal.keep_genesis(lease, b'{"config":{}}')
    assert await journal.genesis() == b'{"config":{}}'


RANDOM = b"".join(pow(3, exponent, 2**521 - 1).to_bytes(66, "big") for exponent in range(1000, 1100))


@needs_redis
async def test_journals_of_two_networks_of_a_chain_are_two(redis: RedisServer) -> None:
    redis.ask("FLUSHALL")
    one, two = (JournalAddress.parse(f"{redis.url}?network={name}") for name in ("one", "two"))
    async with open_journal(one, GENESIS) as first, open_journal(two, GENESIS) as second:
        await filled(first, 1)
        assert await second.tip() is None
        await second.claim("two")


@needs_redis
async def test_a_record_of_another_chain_in_the_stream_is_told(redis: RedisServer) -> None:
    redis.ask("FLUSHALL")
    address = JournalAddress.parse(redis.url)
    async with open_journal(address, GENESIS) as journal, open_journal(address, b"o" * 32) as other:
        await filled(journal, 1)
        log, others = (f"wsnode:{{{genesis.hex()}}}:log" for genesis in (GENESIS, b"o" * 32))
        assert redis.ask(f"COPY {log} {others}") == b":1\r\n"
        with pytest.raises(ChainMismatchError):
            await other.tip()


@needs_redis
async def test_what_redis_forgot_is_noticed_by_writer_and_reader(redis: RedisServer) -> None:
    redis.ask("FLUSHALL")
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as journal:
        lease, ids = await filled(journal, 2)
        tip = await journal.tip()
        redis.ask("FLUSHALL")
        with pytest.raises(LeaseLostError):
            await journal.append(lease, record(lease, 3, tip))
        later = await journal.claim("one", floor=lease.epoch)
        assert later.epoch > lease.epoch
        await journal.append(later, record(later, 3, None))
        with pytest.raises(BrokenLinkError) as raised:
            await journal.read(ids[-1], 0)
        assert (raised.value.expected, raised.value.found) == (ids[-1], None)


@needs_redis
async def test_an_expired_lease_is_lost() -> None:
    with started_redis() as server:
        async with open_journal(JournalAddress.parse(server.url), GENESIS) as journal:
            lease = await journal.claim("one")
            server.ask(f"PEXPIRE wsnode:{{{GENESIS.hex()}}}:lease 0")
            with pytest.raises(LeaseLostError):
                await journal.renew(lease)


@needs_redis
async def test_a_redis_that_was_killed_is_away_until_the_journal_is_opened_again() -> None:
    with started_redis() as server:
        address = JournalAddress.parse(server.url)
        async with open_journal(address, GENESIS) as journal:
            lease = await journal.claim("one")
            server.kill()
            with pytest.raises(JournalUnavailableError, match="unix://"):
                await journal.renew(lease)
        async with open_journal(address, GENESIS) as journal:
            with pytest.raises(JournalUnavailableError):
                await journal.tip()
        server.start()
        async with open_journal(address, GENESIS) as journal:
            assert await journal.tip() is None


@pytest.mark.slow
@needs_redis
async def test_a_redis_that_hangs_is_away_after_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    with started_redis() as server:
        async with open_journal(JournalAddress.parse(server.url), GENESIS) as journal:
            assert await journal.tip() is None
            server.signal(signal.SIGSTOP)
            monkeypatch.setattr(redis_journal, "ANSWER_SECONDS", 3.0)
            with pytest.raises(JournalUnavailableError, match="does not answer"):
                await journal.read(None, 0)
            server.signal(signal.SIGCONT)


@needs_redis
async def test_a_reader_that_is_cancelled_leaves_a_journal_that_can_be_read(redis: RedisServer) -> None:
    redis.ask("FLUSHALL")
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as journal:
        lease, ids = await filled(journal, 1)
        with trio.move_on_after(0.01) as scope:
            await journal.read(ids[0], 60)
        assert scope.cancelled_caught
        await journal.append(lease, record(lease, 2, await journal.tip()))
        assert [each.previous for each in await journal.read(ids[0], 60)] == ids


@needs_redis
@pytest.mark.parametrize(
    ("fields", "reason"), [("name value", "its version is missing"), ("record bytes", "its version is 62")]
)
async def test_an_entry_that_is_no_record_is_named(redis: RedisServer, fields: str, reason: str) -> None:
    redis.ask("FLUSHALL")
    redis.ask(f"XADD wsnode:{{{GENESIS.hex()}}}:log 17-42 {fields}")
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as journal:
        for reading in (journal.tip(), journal.read(None, 0)):
            with pytest.raises(UnreadableRecordError, match=f"record 17-42 of the journal .*{reason}"):
                await reading


@needs_redis
@pytest.mark.parametrize("name", ["epoch", "lease"])
@pytest.mark.parametrize("command", ["SET {} garbage", "SADD {} garbage"])
async def test_a_damaged_key_is_named_and_no_key_is_changed(
    redis: RedisServer, name: str, command: str
) -> None:
    redis.ask("FLUSHALL")
    key = f"wsnode:{{{GENESIS.hex()}}}:{name}"
    async with open_journal(JournalAddress.parse(redis.url), GENESIS) as journal:
        lease = await journal.claim("one")
        redis.ask(f"DEL {key}")
        redis.ask(command.format(key))
        before = redis.ask(f"DUMP {key}")
        for asking in (
            journal.claim("one"),
            journal.renew(lease),
            journal.append(lease, record(lease, 1, None)),
        ):
            with pytest.raises(CorruptKeyError) as raised:
                await asking
            assert str(raised.value) == (
                f"the journal at {journal.place} cannot be used: "
                f"its key {key} was not written by a writer of the journal: delete that key"
            )
        assert redis.ask(f"DUMP {key}") == before
        redis.ask(f"DEL {key}")
        assert (await journal.claim("one")).epoch > lease.epoch


async def ask(path: Path) -> None:
    """Ask until the answer is given up, which the client may say as a failure of its own."""
    with suppress(JournalUnavailableError):
        async with open_journal(JournalAddress.parse(f"unix://{path}"), GENESIS) as journal:
            await journal.tip()


async def test_to_give_up_a_connection_leaves_nothing_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # The path of `tmp_path` may be too long for a socket's.
    with TemporaryDirectory(prefix="silent") as folder, trio.socket.socket(trio.socket.AF_UNIX) as server:
        path = Path(folder) / "redis"
        await server.bind(str(path))
        server.listen(1)
        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as scope:

                async def hear() -> None:
                    client, _address = await server.accept()
                    with client:
                        assert await client.recv(4096)
                        scope.cancel()
                        await trio.sleep_forever()

                nursery.start_soon(hear)
                await ask(path)
            nursery.cancel_scope.cancel()
    assert not caplog.records


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("unix:///none/of/these", "/none/of/these: No such file or directory"),
        ("rediss://localhost:1?cafile=/none/of/these", "certificates in /none/of/these: No such file"),
        (f"rediss://localhost:1?cafile={__file__}", f"certificates in {__file__}: .*no certificate"),
    ],
)
async def test_why_a_connection_failed_is_said_with_what_is_named(url: str, reason: str) -> None:
    with pytest.raises(JournalUnavailableError, match=reason):
        async with open_journal(JournalAddress.parse(url), GENESIS) as journal:
            await journal.tip()
