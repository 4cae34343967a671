"""The task that has the other nodes of a journal know what the pool of its writer has."""

import logging
from collections.abc import Callable
from typing import Final

import trio

from wsnode.cluster.journal import JournalUnavailableError, Lease, LeaseLostError
from wsnode.cluster.pool.content_sync import PoolDiff, PoolJournalDiff
from wsnode.cluster.pool.pool_changes import PoolChange, RecordedChange
from wsnode.cluster.pool.stream import OpenStream, PoolStream, StreamMovedError, StreamState
from wsnode.cluster.records import RecordId
from wsnode.ethereum.pool.pool import TransactionPool

LEASE_LOOK_SECONDS: Final = 0.2
"""How soon a process that got the lease begins to say what its pool has."""
LOOK_SECONDS: Final = 1.0
"""Between two looks whether Redis still has what was said."""
PAUSE_SECONDS: Final = 0.01
"""After a change, so that those of a burst are said together."""
AWAY_SECONDS: Final = 0.5

logger = logging.getLogger("wsnode.journal")


class PoolPublisher:
    """Says what a pool has, whenever this process writes the journal; `run` has to be running."""

    def __init__(
        self,
        pool: TransactionPool,
        lease: Callable[[], Lease | None],
        open_stream: OpenStream,
    ) -> None:
        """`lease` returns that of this process, None while it has none."""
        self._pool = pool
        self._lease = lease
        self._open = open_stream
        self._changed = trio.Event()
        self._is_away = False
        self._last = RecordId(0, 0)
        """The last id that was used."""
        self._kept = StreamState(None)
        self._listing = PoolJournalDiff(pool)
        self._is_whole = False
        self.changes = 0
        """Changes that were said so far."""
        pool.on_version.append(lambda: self._changed.set())
        pool.on_dropped.append(lambda hashes: self._listing.drop(hashes))

    @property
    def listed(self) -> int:
        """Return how many transactions the others know of."""
        return self._kept.count

    @property
    def left_out(self) -> int:
        """Return how many of the pool's they do not: impersonated ones, and those beyond the bounds."""
        return self._listing.left_out

    async def run(self) -> None:
        """Publish for ever; while the journal is away the pool goes on, and is said anew afterwards."""
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
        """Publish as long as the lease lasts.

        Raises:
            JournalUnavailableError: Redis cannot be reached.
        """
        if lease.epoch != self._last.epoch:
            # What this process dropped while another one wrote says nothing to others.
            self._listing = PoolJournalDiff(self._pool)
        self._begin_anew()
        while self._lease() == lease:
            try:
                await self._publish_once(stream, lease)
            except StreamMovedError as error:
                logger.debug("%s: it is said anew what is pending", error)
                self._begin_anew()
            except LeaseLostError:
                # The publisher of blocks is about to notice as well.
                await trio.sleep(LEASE_LOOK_SECONDS)
                return

    async def _publish_once(self, stream: PoolStream, lease: Lease) -> None:
        """Say what has changed, and return once there is more to be said, or something to be looked at.

        Raises:
            LeaseLostError, StreamMovedError, JournalUnavailableError: As `PoolStream.append`.
        """
        changed = self._changed = trio.Event()
        await self._publish_changes(stream, lease)
        self._note_there()
        with trio.move_on_after(LOOK_SECONDS):
            await changed.wait()
        await self._look(stream, lease, is_changed=changed.is_set())

    def _begin_anew(self) -> None:
        self._listing.begin_anew()
        self._kept, self._is_whole = StreamState(None), False

    async def _publish_changes(self, stream: PoolStream, lease: Lease) -> None:
        """Have the contents become what the pool has, as far as there is room.

        Raises:
            LeaseLostError, StreamMovedError, JournalUnavailableError: As `PoolStream.append`.
        """
        while not (batch := self._listing.next_batch()).is_empty or not self._is_whole:
            # The contents are whole once nothing is left to be added to them.
            is_whole = self._is_whole or batch.is_empty
            is_said = not batch.is_silent or self._kept.tip is None or is_whole != self._is_whole
            said = self._said(lease, batch, is_whole=is_whole) if is_said else None
            added = {entry.hash: entry.transaction.encoded for entry in batch.added}
            await stream.append(lease, self._kept, said, added, [*batch.dropped, *batch.gone])
            self._listing.note(batch)
            self._kept = StreamState(self._kept.tip if said is None else said.id, len(self._listing))
            self._is_whole = is_whole
            self.changes += is_said

    def _said(self, lease: Lease, batch: PoolDiff, *, is_whole: bool) -> RecordedChange:
        # Also an id under which it is not known whether something was said is not used again.
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
        """See whether Redis has what was said, or let more changes come together.

        Raises:
            LeaseLostError, StreamMovedError, JournalUnavailableError: As `PoolStream.append`.
        """
        if is_changed:
            await trio.sleep(PAUSE_SECONDS)
        else:
            await stream.append(lease, self._kept, None, {}, [])

    def _note_there(self) -> None:
        if self._is_away:
            self._is_away = False
            logger.info("other nodes are told of pending transactions again")

    def _note_away(self, error: JournalUnavailableError) -> None:
        if not self._is_away:
            self._is_away = True
            logger.warning("other nodes are not told of pending transactions for now: %s", error)
