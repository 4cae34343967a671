"""Pool of a journal's writer in Redis: `:pool`, a stream of its changes, and `:pool:contents`, a hash.

Readers use commands that only read, so a user of Redis without the right to write can follow.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import Lease
from wsnode.cluster.pool.stream import (
    MAX_BYTES,
    STREAM_BYTES,
    STREAM_CHANGES,
    Encoded,
    PoolStreamChangedError,
    PublishedState,
    RecordedChange,
    decode_change,
    encode_change,
)
from wsnode.cluster.records import RecordId
from wsnode.cluster.redis_journal import RedisJournal, open_journal, record_id
from wsnode.cluster.redis_scripts import IS_MINE

READ_AT_ONCE: Final = 16
"""Changes in one reply, so that it has 8 MiB at most."""
SCANNED_AT_ONCE: Final = 64
"""Transactions in one reply, so that it has 8 MiB or so."""

# If another program has written keys of another type, the script raises no error: it deletes them, and the
# contents begin anew. Each change holds the total bytes of all changes through it. So the stream's size needs
# no separate counter, which could be lost while the stream remains.
APPEND: Final = f"""
{IS_MINE}
for key, kind in pairs({{[KEYS[1]] = 'stream', [KEYS[4]] = 'hash'}}) do
    local found = redis.call('TYPE', key).ok
    if found ~= 'none' and found ~= kind then redis.call('DEL', key) end
end
local tip, id, content, removed = ARGV[3], ARGV[5], ARGV[6], tonumber(ARGV[7])
if tip == '' then redis.call('DEL', KEYS[1], KEYS[4]) end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if tip ~= (last and last[1] or '') or redis.call('HLEN', KEYS[4]) ~= tonumber(ARGV[4]) then
    return {{'moved', last and last[1] or ''}}
end
local place = 10
for _ = 1, removed do
    redis.call('HDEL', KEYS[4], ARGV[place])
    place = place + 1
end
for at = place, #ARGV, 2 do redis.call('HSET', KEYS[4], ARGV[at], ARGV[at + 1]) end
if id == '' then return {{'kept'}} end
local bytes = (last and tonumber(last[2][4]) or 0) + #content
redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[8], id, 'change', content, 'bytes', string.format('%.0f', bytes))
while true do
    local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
    if first[1] == id or bytes - tonumber(first[2][4]) + #first[2][2] <= tonumber(ARGV[9]) then break end
    redis.call('XDEL', KEYS[1], first[1])
end
return {{'appended'}}
"""


class RedisPoolStream:
    """Published pool in Redis, beside the chain's journal: a stream of its last changes, and its present
    transactions. Implements `PoolStream`.
    """

    def __init__(
        self, journal: RedisJournal, most_changes: int = STREAM_CHANGES, most_bytes: int = STREAM_BYTES
    ) -> None:
        self._journal = journal
        self._bounds = str(most_changes), str(most_bytes)
        self._stream, self._contents = journal.key("pool"), journal.key("pool:contents")

    async def append(
        self,
        lease: Lease,
        before: PublishedState,
        said: RecordedChange | None,
        added: Mapping[bytes, Encoded],
        removed: Sequence[bytes],
    ) -> None:
        what, *values = await self._journal.run_fenced(
            lease,
            APPEND,
            (self._stream, self._contents),
            "" if before.tip is None else str(before.tip),
            str(before.count),
            "" if said is None else str(said.id),
            b"" if said is None else encode_change(said.change),
            str(len(removed)),
            *self._bounds,
            *removed,
            *(each for pair in added.items() for each in pair),
        )
        if what == "moved":
            raise PoolStreamChangedError(before.tip, record_id(values[0]))

    async def tip(self) -> RecordedChange | None:
        with self._journal.asking() as client:
            entries = await client.xrevrange(self._stream, count=1)
        return next(map(_said, entries), None)

    async def read(self, after: RecordId | None, seconds: float) -> Sequence[RecordedChange]:
        start, milliseconds = "0-0" if after is None else str(after), max(1, int(seconds * 1000))
        with self._journal.asking(seconds) as client:
            found = await client.xread({self._stream: start}, count=READ_AT_ONCE, block=milliseconds)
        return [_said(entry) for entries in (found or {}).values() for entry in entries]

    async def contents(self) -> AsyncIterator[Sequence[Encoded]]:
        cursor, size = 0, 0
        while size <= MAX_BYTES:
            with self._journal.asking() as client:
                cursor, found = await client.hscan(self._contents, cursor=cursor, count=SCANNED_AT_ONCE)
            assert isinstance(found, dict), "values are asked for"
            size += sum(map(len, found.values()))
            yield list(found.values())
            if not cursor:
                return

    async def find(self, hashes: Sequence[bytes]) -> Sequence[Encoded | None]:
        with self._journal.asking() as client:
            return list(await client.hmget(self._contents, list(hashes)))


@asynccontextmanager
async def open_pool(address: JournalAddress, genesis: bytes) -> AsyncIterator[RedisPoolStream]:
    """Yield the pool's stream in a journal; `genesis` is the hash of the chain's first block.

    Raises:
        JournalUnavailableError: Redis cannot be reached. With a single server, neither cluster nor Sentinel,
            this is raised only at the first use.
    """
    async with open_journal(address, genesis) as journal:
        yield RedisPoolStream(journal)


def _said(entry: Any) -> RecordedChange:
    return decode_change(entry.identifier.decode(), entry.field_values.get(b"change", b""))
