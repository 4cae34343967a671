"""Journal in a Redis stream, by way of coredis.

All keys of a chain have its name in braces, so that they lie in one slot of a Redis Cluster, and a failover
takes all of them back together to one moment.
"""

import hashlib
import logging
import re
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from math import inf
from typing import Any, Final

import coredis
import msgspec
import trio
from coredis.connection import TCPLocation
from coredis.exceptions import RedisError
from coredis.retry import NoRetryPolicy

from wsnode.cluster import filter_scripts
from wsnode.cluster.address import CLUSTER, SENTINEL, JournalAddress
from wsnode.cluster.journal import (
    LEASE_SECONDS,
    CorruptKeyError,
    JournalLimits,
    JournalUnavailableError,
    Lease,
    LeaseHeldError,
    LeaseLostError,
    TipMovedError,
)
from wsnode.cluster.node_directory import (
    MAX_NODE_BYTES,
    MAX_NODES,
    NODE_SECONDS,
    ClusterNode,
    PresentNodes,
    decode_nodes,
)
from wsnode.cluster.quotas import MAX_OWING, MAX_OWING_SECONDS, MAX_SINCE_SECONDS, KeySpending
from wsnode.cluster.records import (
    Record,
    RecordId,
    UnreadableRecordError,
    decode_record,
    encode_record,
    require_linked,
)
from wsnode.ethereum.live.filter_store import (
    FilterQuota,
    FilterQuotaError,
    StoredFilter,
    UnreadableFilterError,
)

ANSWER_SECONDS: Final = 3.0
"""Seconds to wait for an answer, beyond the time that the request itself waits; less than a lease lasts."""
CONNECT_SECONDS: Final = 2.0
RECORDS_AT_ONCE: Final = 8
"""Records in one reply, so that it has 64 MiB at most with blocks of 8 MiB, and 128 MiB with reorgs."""
_LEASE_MILLISECONDS: Final = str(int(LEASE_SECONDS * 1000))

# The client logs, with a traceback, what it raises as well: each outage would fill pages.
logging.getLogger("coredis").setLevel(logging.CRITICAL)

_EPOCH: Final = re.compile(rb"[0-9]{1,15}")
"""Epoch in decimal digits, as many as `_SOUND` takes: Python converts no more than 4,300."""

# What another program has put there would fail in the arithmetic below, or be a lease for ever.
_SOUND: Final = """
for _, key in ipairs({KEYS[2], KEYS[3]}) do
    local kind = redis.call('TYPE', key).ok
    if kind ~= 'none' and kind ~= 'string' then return {'damaged', key} end
end
if redis.call('PTTL', KEYS[2]) == -1 then return {'damaged', KEYS[2]} end
local given = redis.call('GET', KEYS[3])
if given and (#given > 15 or not string.match(given, '^%d+$')) then return {'damaged', KEYS[3]} end
"""
# An epoch is also a time, so that a Redis that lost all, or its last writes, does not give one out again.
_CLAIM: Final = f"""
{_SOUND}
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[1] then return {{'taken', holder}} end
local now = redis.call('TIME')
local epoch = now[1] * 1000 + math.floor(now[2] / 1000)
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local told = last and string.match(last[1], '^%d+') or '0'
for _, other in ipairs({{given or '0', ARGV[2], told}}) do epoch = math.max(epoch, tonumber(other) + 1) end
local name = string.format('%.0f', epoch)
if #name > 15 then return {{'damaged', tonumber(told) + 1 == epoch and KEYS[1] or KEYS[3]}} end
redis.call('SET', KEYS[3], name)
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3])
return {{'given', name}}
"""
IS_MINE: Final = f"""
{_SOUND}
if redis.call('GET', KEYS[2]) ~= ARGV[1] or redis.call('GET', KEYS[3]) ~= ARGV[2] then return {{'lost'}} end
"""
_TIP: Final = """
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local tip = last and last[1] or ''
"""
_RENEW: Final = f"""
{IS_MINE}
redis.call('PEXPIRE', KEYS[2], ARGV[3])
{_TIP}
return {{'renewed', tip}}
"""
_RELEASE: Final = f"""
{IS_MINE}
redis.call('DEL', KEYS[2])
return {{'released'}}
"""
_KEEP_GENESIS: Final = f"""
{IS_MINE}
redis.call('SET', KEYS[4], ARGV[3])
return {{'kept'}}
"""
# Each entry has what the log had held through it, so that its size needs no counter that could be lost apart.
_APPEND: Final = f"""
{IS_MINE}
{_TIP}
if tip ~= ARGV[3] then return {{'moved', tip}} end
local bytes, blocks = 0, 0
if last then bytes, blocks = tonumber(last[2][4]), tonumber(last[2][6]) end
bytes, blocks = bytes + #ARGV[5], blocks + tonumber(ARGV[6])
redis.call('XADD', KEYS[1], ARGV[4], 'record', ARGV[5],
    'bytes', string.format('%.0f', bytes), 'blocks', string.format('%.0f', blocks))
local most_records, most_bytes, least_blocks = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
for _ = 1, 64 do
    local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
    local kept = bytes - tonumber(first[2][4]) + #first[2][2]
    local is_beyond = kept > most_bytes or redis.call('XLEN', KEYS[1]) > most_records
    if not is_beyond or blocks - tonumber(first[2][6]) < least_blocks then break end
    redis.call('XDEL', KEYS[1], first[1])
end
return {{'appended'}}
"""


# A node that has said nothing for long is gone; the server's clock alone counts. A script has none but keys
# that a replica's user may write: of others Redis would have it be allowed to write them as well.
_MEET: Final = """
local now = tonumber(redis.call('TIME')[1])
if ARGV[1] ~= '' then redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2]) end
local found = redis.call('HGETALL', KEYS[1])
local told = {}
for place = 1, #found, 2 do
    local said, text = string.match(found[place + 1], '^(%d+) (.*)$')
    if not said or #text > tonumber(ARGV[5]) or math.abs(now - tonumber(said)) > tonumber(ARGV[3]) then
        redis.call('HDEL', KEYS[1], found[place])
    elseif #told < tonumber(ARGV[4]) then table.insert(told, text) end
end
return told
"""

# A key is a member, its score the time at which all its credits are back. The server's clock alone counts;
# nodes say and hear durations. When a node spent is known but for the time since it last said so, and matters
# only if no credits were missing then: between these bounds its own count holds. Times beyond the longest
# would have a key be refused for ever; another program has put them there.
_EXCHANGE: Final = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1e6
local kept, longest = now - ARGV[2], now + ARGV[3]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.6f', kept))
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.6f', longest), '+inf')
for place = 4, #ARGV, 4 do
    local known = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[place]) or '0')
    local seconds, since, own = tonumber(ARGV[place + 1]), tonumber(ARGV[place + 2]), now + ARGV[place + 3]
    local earliest = math.max(known, now - since) + seconds
    local latest = seconds > 0 and math.max(known, now) + seconds or math.huge
    local full = math.min(math.max(earliest, math.min(own, latest)), longest)
    if full > kept then redis.call('ZADD', KEYS[1], string.format('%.6f', full), ARGV[place]) end
end
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
if last then redis.call('EXPIREAT', KEYS[1], string.format('%.0f', last + ARGV[2] + 1)) end
local after = string.format('(%.6f', now)
local owing = redis.call('ZREVRANGEBYSCORE', KEYS[1], '+inf', after, 'WITHSCORES', 'LIMIT', 0, ARGV[1])
for place = 2, #owing, 2 do owing[place] = string.format('%.6f', owing[place] - now) end
return owing
"""


class RedisJournal:
    """`Journal` in Redis; after a JournalUnavailableError leave `open_journal`, and open it again."""

    def __init__(
        self, client: "coredis.Redis[bytes]", place: str, prefix: str, genesis: bytes, bounds: JournalLimits
    ) -> None:
        self._client = client
        self.place = place
        self._genesis = genesis
        self._bounds = bounds
        self._keys = [f"{prefix}:{name}" for name in ("log", "lease", "epoch", "genesis", "nodes")]
        self._prefix = prefix
        self._log = self._keys[0]
        self._quota = f"{prefix}:quota"
        self._filters = f"{prefix}:filters"
        self._filter = f"{prefix}:filter:"

    async def claim(self, holder: str, floor: int = 0) -> Lease:
        """Return a lease with a new epoch, above `floor` and all earlier ones.

        Raises:
            LeaseHeldError: Another process has it.
            JournalUnavailableError: Redis cannot be reached.
        """
        what, value = await self._run(_CLAIM, holder, str(floor), _LEASE_MILLISECONDS)
        if what == "taken":
            raise LeaseHeldError(value.decode(errors="replace"))
        return Lease(holder, int(value))

    async def renew(self, lease: Lease) -> RecordId | None:
        """Have the lease last longer, and return the id of the last record, None for an empty journal.

        Raises:
            LeaseLostError: It is not the holder's any more.
            JournalUnavailableError: Redis cannot be reached.
        """
        _what, tip = await self._run_with(lease, _RENEW, _LEASE_MILLISECONDS)
        return record_id(tip)

    async def release(self, lease: Lease) -> None:
        """Give up the lease, so that another process can write immediately; a lost lease is no error.

        Raises:
            JournalUnavailableError: Redis cannot be reached.
        """
        await self._run(_RELEASE, lease.holder, str(lease.epoch))

    async def append(self, lease: Lease, record: Record) -> None:
        """Append a record, and drop first records beyond the bounds.

        Raises:
            LeaseLostError, TipMovedError, RecordTooLargeError: As `Journal.append`.
            JournalUnavailableError: Redis cannot be reached; the record may have been appended.
        """
        # A block of 8 MiB takes too long to compress for the event loop.
        content = await trio.to_thread.run_sync(encode_record, record)
        what, *values = await self._run_with(
            lease,
            _APPEND,
            "" if record.previous is None else str(record.previous),
            str(record.id),
            content,
            str(record.blocks),
            str(self._bounds.records),
            str(self._bounds.bytes),
            str(self._bounds.blocks),
        )
        if what == "moved":
            raise TipMovedError(record.previous, record_id(values[0]))

    async def tip(self) -> Record | None:
        """Return the last record, None for an empty journal.

        Raises:
            UnreadableRecordError, ChainMismatchError: It is no record of this chain.
            JournalUnavailableError: Redis cannot be reached.
        """
        return next(iter(await self.read_back(None, 1)), None)

    async def read(self, after: RecordId | None, seconds: float) -> Sequence[Record]:
        """Return records after one, oldest first; wait up to `seconds` for the first of them.

        Raises:
            BrokenLinkError, UnreadableRecordError, ChainMismatchError: As `Journal.read`.
            JournalUnavailableError: Redis cannot be reached.
        """
        start = "0-0" if after is None else str(after)
        with self._asking(seconds):
            # No milliseconds would be to wait for ever.
            found = await self._client.xread(
                {self._log: start}, count=RECORDS_AT_ONCE, block=max(1, int(seconds * 1000))
            )
        entries = [entry for each in (found or {}).values() for entry in each]
        records = await trio.to_thread.run_sync(self._records, entries)
        require_linked(after, records)
        return records

    async def read_back(self, before: RecordId | None, most: int) -> Sequence[Record]:
        """Return up to `most` records before one, or the last ones, latest first.

        Raises:
            UnreadableRecordError, ChainMismatchError: A record is none of this chain.
            JournalUnavailableError: Redis cannot be reached.
        """
        end = "+" if before is None else f"({before}"
        with self._asking():
            entries = await self._client.xrevrange(self._log, end=end, count=min(most, RECORDS_AT_ONCE))
        return await trio.to_thread.run_sync(self._records, entries)

    async def keep_genesis(self, lease: Lease, genesis: bytes) -> None:
        """Keep the chain's genesis file for readers.

        Raises:
            LeaseLostError: The lease is not the holder's any more.
            JournalUnavailableError: Redis cannot be reached.
        """
        await self._run_with(lease, _KEEP_GENESIS, genesis)

    async def genesis(self) -> bytes | None:
        """Return the genesis file that the writer keeps, None before there is one.

        Raises:
            JournalUnavailableError: Redis cannot be reached.
        """
        with self._asking():
            return await self._client.get(self._keys[3])

    async def meet(self, node: ClusterNode | None) -> PresentNodes:
        """Announce a node unless it is None, and return the present nodes.

        Raises:
            JournalUnavailableError: Redis cannot be reached.
        """
        name, text = ("", b"") if node is None else (node.name, msgspec.json.encode(node))
        bounds = (str(int(NODE_SECONDS)), str(MAX_NODES), str(MAX_NODE_BYTES))
        with self._asking():
            texts: Any = await self._client.eval(_MEET, [self._keys[4]], [name, text, *bounds])
            writer, epoch = await self._client.mget(self._keys[1:3])
        return PresentNodes(
            tuple(decode_nodes(texts)),
            (writer or b"").decode(errors="replace") or None,
            int(epoch) if epoch is not None and _EPOCH.fullmatch(epoch) else 0,
        )

    async def exchange(self, spendings: Sequence[KeySpending]) -> Mapping[str, float]:
        """Count spent credits of keys, and return the seconds until all credits of each key are back.

        Raises:
            JournalUnavailableError: Redis cannot be reached.
        """
        said = [
            text
            for each in spendings
            for text in (each.digest, *(f"{value:.9f}" for value in (each.seconds, each.since, each.own)))
        ]
        bounds = (str(MAX_OWING), str(MAX_SINCE_SECONDS), str(MAX_OWING_SECONDS))
        with self._asking():
            reply: Any = await self._client.eval(_EXCHANGE, [self._quota], [*bounds, *said])
        owing = iter(reply)
        return {digest.decode(errors="replace"): float(next(owing)) for digest in owing}

    async def add_filter(self, identity: str, new: StoredFilter, seconds: float, room: FilterQuota) -> None:
        """Keep a filter until `seconds` after its last poll.

        Raises:
            FilterQuotaError: There are too many.
            JournalUnavailableError: Redis cannot be reached; the filter may be kept.
        """
        holder = room.holder and hashlib.sha256(room.holder.encode()).hexdigest()
        bounds = map(str, (room.weight, room.max_filters, room.max_held, room.max_weight))
        kept = (new.wish, new.place, _lifetime(seconds), holder)
        what, *_ = await self._run_on(identity, filter_scripts.ADD, *kept, *bounds, new.owner, holder=holder)
        if what == b"full":
            raise FilterQuotaError

    async def find_filter(self, identity: str) -> StoredFilter | None:
        """Return a filter, None if there is none.

        Raises:
            UnreadableFilterError: Another program has written the key.
            JournalUnavailableError: Redis cannot be reached.
        """
        what, *values = await self._run_on(identity, filter_scripts.FIND)
        if what == b"unreadable":
            raise UnreadableFilterError(values[0].decode(errors="replace"))
        return StoredFilter(*values) if what == b"found" else None

    async def move_filter(self, identity: str, began: bytes, place: bytes, seconds: float) -> bool:
        """Move a filter to `place`; return False if it is not at the place at which a poll `began`.

        Raises:
            JournalUnavailableError: Redis cannot be reached; the filter may have moved.
        """
        moved = (began, place, _lifetime(seconds))
        what, *_ = await self._run_on(identity, filter_scripts.MOVE, *moved)
        return bool(what == b"done")

    async def remove_filter(self, identity: str) -> bool:
        """Forget a filter; return False if there is none.

        Raises:
            JournalUnavailableError: Redis cannot be reached; the filter may be forgotten.
        """
        what, *_ = await self._run_on(identity, filter_scripts.REMOVE)
        return bool(what == b"removed")

    def key(self, name: str) -> str:
        """Return the name of one of this chain's keys in Redis."""
        return f"{self._prefix}:{name}"

    @contextmanager
    def asking(self, seconds: float = 0) -> Iterator["coredis.Redis[bytes]"]:
        """Yield the client, for keys of other modules; its answers may take `seconds` longer.

        Raises:
            JournalUnavailableError: Redis cannot be reached.
        """
        with self._asking(seconds):
            yield self._client

    async def run_fenced(
        self, lease: Lease, script: str, keys: tuple[str, str], *arguments: str | bytes
    ) -> list[Any]:
        """Return the reply of a script that begins with `IS_MINE`; `keys` are its first and its fourth key.

        Raises:
            LeaseLostError: The lease is not the holder's any more.
            JournalUnavailableError: Redis cannot be reached; the script may have run.
        """
        first, fourth = keys
        return await self._run_with(lease, script, *arguments, keys=(first, *self._keys[1:3], fourth))

    async def _run_on(
        self, identity: str, script: str, *arguments: str | bytes, holder: str = ""
    ) -> list[Any]:
        keys = [self._filter + identity, self._filters, f"{self._filters}:weights"]
        with self._asking():
            reply: Any = await self._client.eval(
                script, [*keys, f"{self._filters}:of:{holder}"], [identity, *arguments]
            )
        return list(reply)

    async def _run_with(
        self, lease: Lease, script: str, *arguments: str | bytes, keys: Sequence[str] | None = None
    ) -> list[Any]:
        """Return the reply of a script that first checks the holder's lease.

        Raises:
            LeaseLostError: The lease is not the holder's any more.
        """
        reply = await self._run(script, lease.holder, str(lease.epoch), *arguments, keys=keys)
        if reply[0] == "lost":
            raise LeaseLostError(lease)
        return reply

    async def _run(
        self, script: str, *arguments: str | bytes, keys: Sequence[str] | None = None
    ) -> list[Any]:
        with self._asking():
            reply: Any = await self._client.eval(script, keys or self._keys, arguments)
        what, *values = reply
        if what == b"damaged":
            raise CorruptKeyError(self.place, values[0].decode(errors="replace"))
        return [what.decode(), *values]

    @contextmanager
    def _asking(self, seconds: float = 0) -> Iterator[None]:
        with _as_away(self.place), trio.fail_after(seconds + ANSWER_SECONDS):
            yield

    def _records(self, entries: Sequence[Any]) -> list[Record]:
        return [self._record(entry) for entry in entries]

    def _record(self, entry: Any) -> Record:
        place = entry.identifier.decode()
        try:
            record = decode_record(entry.field_values.get(b"record", b""), self._genesis)
        except UnreadableRecordError as error:
            raise UnreadableRecordError(error.reason, place) from None
        if place != str(record.id):
            raise UnreadableRecordError(f"it is record {record.id}", place)
        return record


@asynccontextmanager
async def open_journal(
    address: JournalAddress, genesis: bytes, bounds: JournalLimits | None = None
) -> AsyncIterator[RedisJournal]:
    """Yield the journal at an address, of the chain with `genesis` as its first block's hash.

    Raises:
        JournalUnavailableError: Redis cannot be reached; a single server is noticed only at the first use.
    """
    prefix = f"wsnode:{{{genesis.hex()}{'.' if address.network else ''}{address.network}}}"
    place = str(address)
    with _as_away(place), _alone(), trio.CancelScope(deadline=trio.current_time() + ANSWER_SECONDS) as scope:
        async with _client(address) as client:
            scope.deadline = inf
            yield RedisJournal(client, place, prefix, genesis, bounds or JournalLimits())
    if scope.cancelled_caught:
        raise JournalUnavailableError(place, "it does not answer")


@asynccontextmanager
async def _client(address: JournalAddress) -> AsyncIterator[Any]:
    options: dict[str, Any] = {
        "username": address.user,
        "password": address.password,
        "connect_timeout": CONNECT_SECONDS,
        # A repeated append could not tell its own record from another's.
        "retry_policy": NoRetryPolicy(),
    }
    if address.is_encrypted:
        options["ssl_context"] = _tls_context(address.cafile)
    hosts = [TCPLocation(*host) for host in address.hosts]
    if address.scheme in CLUSTER:
        async with coredis.RedisCluster(startup_nodes=hosts, **options) as cluster:
            yield cluster
    elif address.scheme in SENTINEL:
        sentinels = coredis.Sentinel(hosts, db=address.database, **options)
        async with sentinels, sentinels.primary_for(address.service) as primary:
            yield primary
    else:
        if address.path:
            options["unix_socket_path"] = address.path
        else:
            options["host"], options["port"] = address.hosts[0]
        async with coredis.Redis(db=address.database, **options) as server:
            yield server


def _tls_context(cafile: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=cafile)
    except OSError as error:
        raise OSError(f"the certificates in {cafile}: {error.strerror or error}") from None


@contextmanager
def _alone() -> Iterator[None]:
    """Raise a single error as itself: the client's tasks wrap errors in groups."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from error.__cause__


@contextmanager
def _as_away(place: str) -> Iterator[None]:
    """Raise failures of the connection, and refusals of the server, as JournalUnavailableError."""
    try:
        yield
    except trio.TooSlowError:
        raise JournalUnavailableError(place, "it does not answer") from None
    except (RedisError, OSError) as error:
        raise JournalUnavailableError(place, _reason(error)) from error


def _reason(error: BaseException) -> str:
    """Return an error's text in one line; the client's own texts name hosts, and no user or password."""
    text = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    first = _first_cause(error)
    # Without it a refused connection, a wrong certificate and an unknown host are one and the same.
    return text if first is None else f"{text}: {first.strerror or str(first) or type(first).__name__}"


def _first_cause(error: BaseException) -> OSError | None:
    """Return the error of the connection behind a failure of the client, None if there is none."""
    first: OSError | None = None
    cause = error.__cause__
    while cause is not None:
        first = cause if isinstance(cause, OSError) else first
        cause = cause.__cause__
    return first


def _lifetime(seconds: float) -> str:
    """Return whole seconds, the unit of expiry in Redis, as text."""
    return str(max(1, round(seconds)))


def record_id(text: bytes) -> RecordId | None:
    """Return the id in a key of Redis, None where there is none.

    Raises:
        UnreadableRecordError: The text is no id.
    """
    return RecordId.parse(text.decode(errors="replace")) if text else None
