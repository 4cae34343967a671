"""Task that publishes the pool of a journal's writer to the other nodes."""

import logging
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

import msgspec
import trio

from wsnode.cluster.journal import JournalUnavailableError, Lease, LeaseLostError
from wsnode.cluster.pool.stream import (
    ADDED_AT_ONCE,
    ADDED_BYTES_AT_ONCE,
    DROPPED_AT_ONCE,
    MAX_BYTES,
    MAX_TRANSACTION_BYTES,
    MAX_TRANSACTIONS,
    OpenStream,
    PoolChange,
    PoolStream,
    PoolStreamChangedError,
    PublishedState,
    RecordedChange,
)
from wsnode.cluster.records import RecordId
from wsnode.ethereum.pool.entry import PoolEntry
from wsnode.ethereum.pool.pool import TransactionPool


class PoolDiff(msgspec.Struct, frozen=True):
    """Changes of the pool to publish next, as many as fit into one record."""

    added: list[PoolEntry]
    """Added transactions, in the order in which they came."""
    dropped: list[bytes]
    """Hashes of transactions that readers are to drop too."""
    gone: list[bytes]
    """Hashes of transactions that leave the readers' pools by a block."""

    @property
    def is_silent(self) -> bool:
        """Return True if nothing was added or dropped; readers see which transactions a block has."""
        return not self.added and not self.dropped

    @property
    def is_empty(self) -> bool:
        return self.is_silent and not self.gone


class PoolJournalDiff:
    """Difference between the transactions published in Redis so far and the pool's present ones."""

    def __init__(
        self,
        pool: TransactionPool,
        *,
        most: int = MAX_TRANSACTIONS,
        most_bytes: int = MAX_BYTES,
    ) -> None:
        self._pool = pool
        self._most, self._most_bytes = most, most_bytes
        self._listed: dict[bytes, PoolEntry] = {}
        self._bytes = 0
        self._dropped: dict[bytes, None] = {}
        """Hashes that the pool has dropped, to be published."""
        self.left_out = 0
        """Number of the pool's transactions that are not listed: impersonated ones, and those beyond the
        bounds.
        """

    def __len__(self) -> int:
        return len(self._listed)

    def drop(self, hashes: Sequence[bytes]) -> None:
        """Note hashes that the pool has dropped; beyond the bound the first ones are forgotten."""
        self._dropped |= dict.fromkeys(hashes)
        while len(self._dropped) > self._most:
            del self._dropped[next(iter(self._dropped))]

    def begin_anew(self) -> None:
        """Forget the listed transactions; dropped ones are still to be published."""
        self._listed, self._bytes = {}, 0

    def next_batch(self) -> PoolDiff:
        """Return the next part of the changes, which may be empty."""
        entries = self._pool.entries
        # The pool may have admitted a dropped transaction again.
        self._dropped = {name: None for name in self._dropped if name not in entries}
        left = self._listed.keys() - entries.keys()
        dropped = list(islice(self._dropped, DROPPED_AT_ONCE))
        gone = list(islice((name for name in left if name not in self._dropped), DROPPED_AT_ONCE))
        missing = sorted(
            filter(_can_be_listed, map(entries.__getitem__, entries.keys() - self._listed.keys())),
            key=lambda entry: entry.arrival,
        )
        leaving = [self._listed[name] for name in (*dropped, *gone) if name in self._listed]
        added = self._fitting(missing, len(leaving), sum(map(_size, leaving)))
        self.left_out = len(entries) - (len(self._listed) - len(left)) - len(added)
        return PoolDiff(added, dropped, gone)

    def note(self, batch: PoolDiff) -> None:
        """Note that a part is published."""
        for name in (*batch.dropped, *batch.gone):
            self._dropped.pop(name, None)
            if (entry := self._listed.pop(name, None)) is not None:
                self._bytes -= _size(entry)
        for entry in batch.added:
            self._listed[entry.hash] = entry
            self._bytes += _size(entry)

    def _fitting(self, missing: list[PoolEntry], leaving: int, leaving_bytes: int) -> list[PoolEntry]:
        added, size = list[PoolEntry](), 0
        room = self._most - len(self._listed) + leaving
        room_bytes = self._most_bytes - self._bytes + leaving_bytes
        for entry in missing[: min(ADDED_AT_ONCE, room)]:
            if size >= ADDED_BYTES_AT_ONCE or size + _size(entry) > room_bytes:
                break
            added.append(entry)
            size += _size(entry)
        return added


def _can_be_listed(entry: PoolEntry) -> bool:
    # No other node could check an impersonated sender.
    return not entry.transaction.is_impersonated and _size(entry) <= MAX_TRANSACTION_BYTES


def _size(entry: PoolEntry) -> int:
    return len(entry.transaction.encoded)


LEASE_LOOK_SECONDS: Final = 0.2
"""Seconds after which a process with a new lease begins to publish its pool."""
LOOK_SECONDS: Final = 1.0
"""Seconds between two checks that Redis still has the published changes."""
PAUSE_SECONDS: Final = 0.01
"""Seconds of pause after a change, so that the changes of a burst are published together."""
AWAY_SECONDS: Final = 0.5

logger = logging.getLogger("wsnode.journal")


class PoolPublisher:
    """Task that publishes the pool's changes to Redis while this process has the lease to write the journal;
    works while `run` is running.
    """

    def __init__(
        self,
        pool: TransactionPool,
        lease: Callable[[], Lease | None],
        open_stream: OpenStream,
    ) -> None:
        self._pool = pool
        self._lease = lease
        self._open = open_stream
        self._changed = trio.Event()
        self._is_away = False
        self._last = RecordId(0, 0)
        """Last id that was used."""
        self._kept = PublishedState(None)
        self._listing = PoolJournalDiff(pool)
        self._is_whole = False
        self.changes = 0
        """Number of changes that were published so far."""
        pool.on_version.append(lambda: self._changed.set())
        pool.on_dropped.append(lambda hashes: self._listing.drop(hashes))

    @property
    def listed(self) -> int:
        return self._kept.count

    @property
    def left_out(self) -> int:
        return self._listing.left_out

    async def run(self) -> None:
        """Publish for ever; after an outage of the journal the whole pool is published anew."""
        while True:
            if (lease := self._lease()) is None:
                await trio.sleep(LEASE_LOOK_SECONDS)
                continue
            try:
                async with self._open() as stream:
                    await self._publish(stream, lease)
            except JournalUnavailableError as error:
                self._note_away(error)
                await trio.sleep(AWAY_SECONDS)

    async def _publish(self, stream: PoolStream, lease: Lease) -> None:
        """Publish as long as the lease lasts."""
        if lease.epoch != self._last.epoch:
            # Transactions that this process dropped while another process was the writer do not concern
            # readers, so the new listing begins without them.
            self._listing = PoolJournalDiff(self._pool)
        self._begin_anew()
        while self._lease() == lease:
            try:
                await self._publish_once(stream, lease)
            except PoolStreamChangedError as error:
                logger.debug("%s: all pending transactions are published again", error)
                self._begin_anew()
            except LeaseLostError:
                # The publisher of blocks will notice the lost lease too; until then `_lease` may still return
                # it.
                await trio.sleep(LEASE_LOOK_SECONDS)
                return

    async def _publish_once(self, stream: PoolStream, lease: Lease) -> None:
        """Publish the changes; return after the next change of the pool, or after `LOOK_SECONDS`."""
        changed = self._changed = trio.Event()
        await self._publish_changes(stream, lease)
        self._note_there()
        with trio.move_on_after(LOOK_SECONDS):
            await changed.wait()
        await self._look(stream, lease, is_changed=changed.is_set())

    def _begin_anew(self) -> None:
        self._listing.begin_anew()
        self._kept, self._is_whole = PublishedState(None), False

    async def _publish_changes(self, stream: PoolStream, lease: Lease) -> None:
        """Bring the contents in the journal to those of the pool, within the bounds."""
        while not (batch := self._listing.next_batch()).is_empty or not self._is_whole:
            # The contents are whole once nothing is left to be added to them.
            is_whole = self._is_whole or batch.is_empty
            is_said = not batch.is_silent or self._kept.tip is None or is_whole != self._is_whole
            said = self._said(lease, batch, is_whole=is_whole) if is_said else None
            added = {entry.hash: entry.transaction.encoded for entry in batch.added}
            await stream.append(lease, self._kept, said, added, [*batch.dropped, *batch.gone])
            self._listing.note(batch)
            self._kept = PublishedState(self._kept.tip if said is None else said.id, len(self._listing))
            self._is_whole = is_whole
            self.changes += is_said

    def _said(self, lease: Lease, batch: PoolDiff, *, is_whole: bool) -> RecordedChange:
        # Each id is used once only, even if an append failed and it is unknown whether Redis stored the
        # change.
        self._last = max(self._last, RecordId(lease.epoch, 0))
        self._last = RecordId(self._last.epoch, self._last.sequence + 1)
        tip = self._kept.tip
        change = PoolChange(
            None if tip is None else str(tip),
            is_whole,
            [entry.transaction.encoded for entry in batch.added],
            batch.dropped,
        )
        return RecordedChange(self._last, change)

    async def _look(self, stream: PoolStream, lease: Lease, *, is_changed: bool) -> None:
        """Check that Redis has the published changes; after a change of the pool, pause to collect more."""
        if is_changed:
            await trio.sleep(PAUSE_SECONDS)
        else:
            await stream.append(lease, self._kept, None, {}, [])

    def _note_there(self) -> None:
        if self._is_away:
            self._is_away = False
            logger.info("pending transactions are published again, since the journal is reachable")

    def _note_away(self, error: JournalUnavailableError) -> None:
        if not self._is_away:
            self._is_away = True
            logger.warning("pending transactions are not published in the journal for now: %s", error)
