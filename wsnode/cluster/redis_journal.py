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

from wsnode.cluster import redis_scripts
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
from wsnode.cluster.membership import (
    MAX_NODE_BYTES,
    MAX_NODES,
    NODE_SECONDS,
    ClusterNode,
    PresentNodes,
    decode_nodes,
)
from wsnode.cluster.records import (
    Record,
    RecordId,
    UnreadableRecordError,
    decode_record,
    encode_record,
    require_linked,
)
from wsnode.cluster.shared_rates import MAX_OWING, MAX_OWING_SECONDS, MAX_SINCE_SECONDS, KeySpending
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

# coredis logs each error that it raises, with a traceback, so every outage would fill pages of the log.
logging.getLogger("coredis").setLevel(logging.CRITICAL)

_EPOCH: Final = re.compile(rb"[0-9]{1,15}")
"""Epoch in decimal digits, as many as the scripts take: Python converts no more than 4,300."""


class RedisJournal:
    """Journal of a chain in Redis, with the directory of nodes, the shared filters and the shared credits
    beside it. After a JournalUnavailableError it is unusable: leave `open_journal`, and enter it again.
    """

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
        what, value = await self._run(redis_scripts.CLAIM, holder, str(floor), _LEASE_MILLISECONDS)
        if what == "taken":
            raise LeaseHeldError(value.decode(errors="replace"))
        return Lease(holder, int(value))

    async def renew(self, lease: Lease) -> RecordId | None:
        _what, tip = await self._run_with(lease, redis_scripts.RENEW, _LEASE_MILLISECONDS)
        return record_id(tip)

    async def release(self, lease: Lease) -> None:
        await self._run(redis_scripts.RELEASE, lease.holder, str(lease.epoch))

    async def append(self, lease: Lease, record: Record) -> None:
        # Compressing a block of 8 MiB takes too long for the event loop.
        content = await trio.to_thread.run_sync(encode_record, record)
        what, *values = await self._run_with(
            lease,
            redis_scripts.APPEND,
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
        return next(iter(await self.read_back(None, 1)), None)

    async def read(self, after: RecordId | None, seconds: float) -> Sequence[Record]:
        start = "0-0" if after is None else str(after)
        with self.asking(seconds):
            # Redis takes a block time of 0 ms as a wait without end, so the shortest wait is 1 ms.
            found = await self._client.xread(
                {self._log: start}, count=RECORDS_AT_ONCE, block=max(1, int(seconds * 1000))
            )
        entries = [entry for each in (found or {}).values() for entry in each]
        records = await trio.to_thread.run_sync(self._records, entries)
        require_linked(after, records)
        return records

    async def read_back(self, before: RecordId | None, most: int) -> Sequence[Record]:
        end = "+" if before is None else f"({before}"
        with self.asking():
            entries = await self._client.xrevrange(self._log, end=end, count=min(most, RECORDS_AT_ONCE))
        return await trio.to_thread.run_sync(self._records, entries)

    async def keep_genesis(self, lease: Lease, genesis: bytes) -> None:
        await self._run_with(lease, redis_scripts.KEEP_GENESIS, genesis)

    async def genesis(self) -> bytes | None:
        with self.asking():
            return await self._client.get(self._keys[3])

    async def meet(self, node: ClusterNode | None) -> PresentNodes:
        name, text = ("", b"") if node is None else (node.name, msgspec.json.encode(node))
        bounds = (str(int(NODE_SECONDS)), str(MAX_NODES), str(MAX_NODE_BYTES))
        with self.asking():
            texts: Any = await self._client.eval(redis_scripts.MEET, [self._keys[4]], [name, text, *bounds])
            writer, epoch = await self._client.mget(self._keys[1:3])
        return PresentNodes(
            tuple(decode_nodes(texts)),
            (writer or b"").decode(errors="replace") or None,
            int(epoch) if epoch is not None and _EPOCH.fullmatch(epoch) else 0,
        )

    async def exchange(self, spendings: Sequence[KeySpending]) -> Mapping[str, float]:
        said = [
            text
            for each in spendings
            for text in (each.digest, *(f"{value:.9f}" for value in (each.seconds, each.since, each.own)))
        ]
        bounds = (str(MAX_OWING), str(MAX_SINCE_SECONDS), str(MAX_OWING_SECONDS))
        with self.asking():
            reply: Any = await self._client.eval(redis_scripts.EXCHANGE, [self._quota], [*bounds, *said])
        owing = iter(reply)
        return {digest.decode(errors="replace"): float(next(owing)) for digest in owing}

    async def add_filter(self, identity: str, new: StoredFilter, seconds: float, room: FilterQuota) -> None:
        holder = room.holder and hashlib.sha256(room.holder.encode()).hexdigest()
        bounds = map(str, (room.weight, room.max_filters, room.max_held, room.max_weight))
        kept = (new.wish, new.place, _lifetime(seconds), holder)
        what, *_ = await self._run_on(
            identity, redis_scripts.ADD_FILTER, *kept, *bounds, new.owner, holder=holder
        )
        if what == b"full":
            raise FilterQuotaError

    async def find_filter(self, identity: str) -> StoredFilter | None:
        what, *values = await self._run_on(identity, redis_scripts.FIND_FILTER)
        if what == b"unreadable":
            raise UnreadableFilterError(values[0].decode(errors="replace"))
        return StoredFilter(*values) if what == b"found" else None

    async def move_filter(self, identity: str, began: bytes, place: bytes, seconds: float) -> bool:
        moved = (began, place, _lifetime(seconds))
        what, *_ = await self._run_on(identity, redis_scripts.MOVE_FILTER, *moved)
        return bool(what == b"done")

    async def remove_filter(self, identity: str) -> bool:
        what, *_ = await self._run_on(identity, redis_scripts.REMOVE_FILTER)
        return bool(what == b"removed")

    def key(self, name: str) -> str:
        return f"{self._prefix}:{name}"

    async def run_fenced(
        self, lease: Lease, script: str, keys: tuple[str, str], *arguments: str | bytes
    ) -> list[Any]:
        """Run a script that begins with `IS_MINE`, so it changes nothing once the lease is lost.

        Returns the script's reply.

        `keys` become its KEYS[1] and KEYS[4]; KEYS[2] and KEYS[3] are the keys of the lease and of its epoch.

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
        with self.asking():
            reply: Any = await self._client.eval(
                script, [*keys, f"{self._filters}:of:{holder}"], [identity, *arguments]
            )
        return list(reply)

    async def _run_with(
        self, lease: Lease, script: str, *arguments: str | bytes, keys: Sequence[str] | None = None
    ) -> list[Any]:
        """Return the reply of a script that first checks the holder's lease."""
        reply = await self._run(script, lease.holder, str(lease.epoch), *arguments, keys=keys)
        if reply[0] == "lost":
            raise LeaseLostError(lease)
        return reply

    async def _run(
        self, script: str, *arguments: str | bytes, keys: Sequence[str] | None = None
    ) -> list[Any]:
        with self.asking():
            reply: Any = await self._client.eval(script, keys or self._keys, arguments)
        what, *values = reply
        if what == b"damaged":
            raise CorruptKeyError(self.place, values[0].decode(errors="replace"))
        return [what.decode(), *values]

    @contextmanager
    def asking(self, seconds: float = 0) -> Iterator["coredis.Redis[bytes]"]:
        """Yield the client; its answers may take `seconds` longer than `ANSWER_SECONDS`.

        Raises:
            JournalUnavailableError: Redis cannot be reached.
        """
        with _as_away(self.place), trio.fail_after(seconds + ANSWER_SECONDS):
            yield self._client

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
        # The client must not repeat requests: a repeated append could not distinguish the record of its first
        # attempt from another process's.
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
    # Without the first cause, a refused connection, a wrong certificate and an unknown host would have the
    # same text.
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
