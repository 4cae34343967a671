"""Polled filters of a network in a file of their own, from which each of several processes answers polls.

A filter outlives the process that made it. Filters of pending transactions stay in the memory of a process,
since each has its own pending transactions.
"""

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from wsnode.ethereum.live.position import Position
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.parameters import NumberOrTag
from wsnode.ethereum.rpc.logs.filter_changes import ChainFilter, Filter
from wsnode.ethereum.rpc.logs.filter_object import FilterObject
from wsnode.ethereum.rpc.logs.filter_table import (
    FILTERS_UNAVAILABLE,
    IDENTITY_LENGTH,
    InMemoryFilters,
    new_identity,
    require_room,
)
from wsnode.ethereum.snapshot import CallerContext
from wsnode.jsonrpc.resource_quota import ClientId, ResourceQuota
from wsnode.store.environment import (
    DamagedRowError,
    Environment,
    Reader,
    SnapshotLostError,
    StoreError,
    Writer,
)
from wsnode.store.table import Table

FILTERS: Final = Table("filters")
"""A filter by its id."""
POLLS: Final = Table("polls")
"""Nothing, by the time of a filter's last poll (8) and its id: the oldest first."""
COUNTS: Final = Table("counts")
"""Number of filters of an owner (`k`) or a client (`c`), and of all parameters of all filters (`p`): 8 bytes
each.
"""
TABLES: Final = (FILTERS, POLLS, COUNTS)
EXPIRED_AT_ONCE: Final = 64
"""Maximum number of expired filters removed in one call, so that no call waits for thousands."""
_PARAMETERS: Final = b"p"
_BOOT: Final = b"b"
"""Key, among the counts, of the id of the machine's boot."""
BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_MICRO: Final = 1_000_000

Changed = TypeVar("Changed")

logger = logging.getLogger("wsnode.node")


class SavedLogFilter(msgspec.Struct, frozen=True, array_like=True):
    """Filter of logs as the client sent it, by block hash or range; its blocks are resolved anew for each
    eth_getFilterLogs.
    """

    block_hash: bytes | None
    from_block: int | None
    to_block: int | None
    wanted: LogFilter


class SavedFilter(msgspec.Struct, frozen=True, array_like=True):
    """Polled filter as stored in the file shared by the processes of this machine: its creator, time of the
    last poll, position, and conditions.
    """

    owner: str | None
    client: str
    polled: int
    """Microseconds since the start of the machine."""
    number: int
    hash: bytes
    logs: int
    wanted: LogFilter | None
    asked: SavedLogFilter | None

    @property
    def weight(self) -> int:
        return 0 if self.wanted is None else self.wanted.parameter_count

    @property
    def position(self) -> Position:
        return Position(self.number, Hash32(self.hash), self.logs)


def _plain(value: bytes | int) -> bytes | int:
    """Return a value of the chain as plain int or bytes, for the encoder."""
    return int(value) if isinstance(value, int) else bytes(value)


_encode = msgspec.msgpack.Encoder(enc_hook=_plain).encode
_decode = msgspec.msgpack.Decoder(SavedFilter).decode


def open_filters(folder: Path) -> Environment:
    """Return the file of filters in a folder, which is made if there is none.

    Raises:
        StoreError: It cannot be opened.
    """
    store = Environment(folder, TABLES, writer=True, durable=False)
    try:
        _write_undamaged(store, _begin_boot)
    except StoreError as error:
        logger.warning("filters of an earlier start may expire late: %s", error)
    return store


def _write_undamaged(store: Environment, change: Callable[[Writer], Changed]) -> Changed:
    """Return the result of a change; if a row is damaged or has no checksum, all filters are deleted
    first.
    """
    try:
        return store.write(change)
    except DamagedRowError as error:
        logger.warning("all filters are removed, since their file is damaged: %s", error)
    store.write(_forget_all)
    return store.write(change)


def _forget_all(writer: Writer) -> None:
    for table in TABLES:
        writer.clear(table)


def since_boot() -> float:
    """Return the seconds since the machine has started, sleep included: alike for all of its processes."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _begin_boot(writer: Writer) -> None:
    """Set filters of an earlier boot, whose times mean nothing now, to be polled just now."""
    boot = BOOT_ID.read_bytes()
    if writer.get(COUNTS, _BOOT) == boot:
        return
    writer.put(COUNTS, _BOOT, boot)
    now, cursor, kept = int(since_boot() * _MICRO), writer.cursor(FILTERS), list[tuple[bytes, bytes]]()
    while cursor.next():
        kept.append(cursor.item())
    for key, value in kept:
        identity, saved = key.decode(), _decode(value)
        writer.delete(POLLS, _poll_key(saved.polled, identity))
        _put(writer, identity, msgspec.structs.replace(saved, polled=now))


class FilterWriteError(Exception):
    """Error of a polled filter that cannot be written to the shared file, because the disk is full, over its
    quota, or failing.
    """


class SharedFilters:
    """Polled filters in a file shared by the processes of this machine; implements `FilterTable`. Filters of
    pending transactions stay in the memory of one process.
    """

    def __init__(
        self, store: Environment, limits: CallLimits, clock: Callable[[], float] = since_boot
    ) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock
        self._pending = InMemoryFilters(limits)
        self._is_full = False
        """True if the last change could not be written."""

    def add(self, new: Filter, caller: CallerContext) -> str:
        if not isinstance(new, ChainFilter):
            return self._pending.add(new, caller)
        new.owner, identity = caller.key_name, new_identity()
        saved = _saved(new, _client_of(caller.client), self._now())

        def change(writer: Writer) -> None:
            self._expire(writer)
            self._require_room(writer, new, saved, caller.client)
            _put(writer, identity, saved)
            _count(writer, saved, 1)

        self._change(change)
        return identity

    def find(self, identity: str, caller: CallerContext) -> Filter | None:
        def change(writer: Writer) -> SavedFilter | None:
            self._expire(writer)
            if (saved := _get_of(writer, identity, caller)) is None:
                return None
            writer.delete(POLLS, _poll_key(saved.polled, identity))
            polled = msgspec.structs.replace(saved, polled=self._now())
            _put(writer, identity, polled)
            return polled

        if (pending := self._pending.find(identity, caller)) is not None:
            return pending
        try:
            saved = self._write(change)
        except FilterWriteError:
            saved = self._read(identity, caller)
        return None if saved is None else _SharedFilter(self, identity, saved)

    def remove(self, identity: str, caller: CallerContext) -> bool:
        def change(writer: Writer) -> bool:
            self._expire(writer)
            return _get_of(writer, identity, caller) is not None and _remove(writer, identity)

        return self._pending.remove(identity, caller) or self._change(change)

    def move(self, identity: str, began: Position | None, position: Position) -> bool:
        """Set a filter's position and return True; return False if it does not exist, or if `began` is given
        and is not its position.
        """

        def change(writer: Writer) -> bool:
            saved = _get(writer, identity)
            if saved is None or (began is not None and saved.position != began):
                return False
            place = {"number": position.number, "hash": bytes(position.hash), "logs": position.logs}
            writer.put(FILTERS, identity.encode(), _encode(msgspec.structs.replace(saved, **place)))
            return True

        return self._change(change)

    def _read(self, identity: str, caller: CallerContext) -> SavedFilter | None:
        """Return a filter, None if it does not exist or has expired. It does not count as polled."""
        with self._store.read() as reader:
            saved = _get_of(reader, identity, caller)
        return None if saved is None or saved.polled < self._oldest() else saved

    def _change(self, change: Callable[[Writer], Changed]) -> Changed:
        """Return the result of `change`, a transaction of the store.

        Raises:
            RpcError: The disk is full.
        """
        try:
            return self._write(change)
        except FilterWriteError:
            raise FILTERS_UNAVAILABLE from None

    def _write(self, change: Callable[[Writer], Changed]) -> Changed:
        try:
            changed = _write_undamaged(self._store, change)
        except SnapshotLostError:
            raise
        except StoreError as error:
            if not self._is_full:
                logger.warning("filters cannot be written: %s", error)
            self._is_full = True
            raise FilterWriteError from error
        self._is_full = False
        return changed

    def _oldest(self) -> int:
        """Return the time of the oldest poll that keeps a filter."""
        return self._now() - int(self._limits.filter_seconds * _MICRO)

    def _now(self) -> int:
        return int(self._clock() * _MICRO)

    def _require_room(self, writer: Writer, new: Filter, saved: SavedFilter, client: ClientId | None) -> None:
        owned = 0 if saved.owner is None else _counted(writer, _owner_key(saved.owner))
        require_room(self._limits, new, owned, _counted(writer, _PARAMETERS))
        share, held = ResourceQuota(self._limits.filters), _counted(writer, _client_key(saved.client))
        share.take(client, held)
        share.take(object(), writer.entries(FILTERS) - held)
        share.take_or_refuse(client, "too many filters")

    def _expire(self, writer: Writer) -> None:
        last = self._oldest()
        for _ in range(EXPIRED_AT_ONCE):
            cursor = writer.cursor(POLLS)
            if not cursor.next() or int.from_bytes(cursor.key()[:8], "big") >= last:
                return
            _remove(writer, cursor.key()[8:].decode())


class _SharedFilter(ChainFilter):
    """Polled filter read from the shared file for one poll; its new position is written back for the next
    poll, in any process.
    """

    __slots__ = ("_identity", "_table")

    def __init__(self, table: SharedFilters, identity: str, saved: SavedFilter) -> None:
        Filter.__init__(self, saved.weight)
        self._table = table
        self._identity = identity
        self.position = saved.position
        self._spec = None
        self.wanted = saved.wanted
        self.filter_object = None if saved.asked is None else _filter_object(saved.asked)

    def move(self, position: Position) -> None:
        self._table.move(self._identity, None, position)

    def advance(self, began: Position, position: Position) -> bool:
        return began == position or self._table.move(self._identity, began, position)


def _saved(new: ChainFilter, client: str, polled: int) -> SavedFilter:
    asked, place = new.filter_object, new.position
    return SavedFilter(
        new.owner,
        client,
        polled,
        place.number,
        place.hash,
        place.logs,
        new.wanted,
        None
        if asked is None
        else SavedLogFilter(asked.block_hash, asked.from_block, asked.to_block, asked.wanted),
    )


def _filter_object(asked: SavedLogFilter) -> FilterObject:
    made = FilterObject()
    made.block_hash = None if asked.block_hash is None else Hash32(asked.block_hash)
    made.from_block = None if asked.from_block is None else NumberOrTag(asked.from_block)
    made.to_block = None if asked.to_block is None else NumberOrTag(asked.to_block)
    made.wanted = asked.wanted
    return made


def _client_of(client: ClientId | None) -> str:
    """Return the name of a client: a key or an address, or a connection of this machine."""
    if client is None:
        return ""
    return client.peer or f"{os.getpid()}/{id(client)}"


def _get_of(reader: Reader, identity: str, caller: CallerContext) -> SavedFilter | None:
    saved = _get(reader, identity)
    return saved if saved is not None and saved.owner == caller.key_name else None


def _get(reader: Reader, identity: str) -> SavedFilter | None:
    # The identity is a client's text, and the store accepts no keys that are empty or too long.
    found = reader.get(FILTERS, identity.encode()) if len(identity) == IDENTITY_LENGTH else None
    return None if found is None else _decode(found)


def _put(writer: Writer, identity: str, saved: SavedFilter) -> None:
    writer.put(FILTERS, identity.encode(), _encode(saved))
    writer.put(POLLS, _poll_key(saved.polled, identity), b"")


def _remove(writer: Writer, identity: str) -> bool:
    if (saved := _get(writer, identity)) is None:
        return False
    writer.delete(FILTERS, identity.encode())
    writer.delete(POLLS, _poll_key(saved.polled, identity))
    _count(writer, saved, -1)
    return True


def _count(writer: Writer, saved: SavedFilter, change: int) -> None:
    _add(writer, _client_key(saved.client), change)
    _add(writer, _PARAMETERS, change * saved.weight)
    if saved.owner is not None:
        _add(writer, _owner_key(saved.owner), change)


def _add(writer: Writer, key: bytes, change: int) -> None:
    if count := _counted(writer, key) + change:
        writer.put(COUNTS, key, count.to_bytes(8, "big"))
    else:
        writer.delete(COUNTS, key)


def _counted(writer: Writer, key: bytes) -> int:
    return int.from_bytes(writer.get(COUNTS, key) or b"", "big")


def _owner_key(owner: str) -> bytes:
    return b"k" + owner.encode()[:400]


def _client_key(client: str) -> bytes:
    return b"c" + client.encode()[:400]


def _poll_key(polled: int, identity: str) -> bytes:
    return polled.to_bytes(8, "big") + identity.encode()
