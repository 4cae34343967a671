"""Following of a journal: records are read as they arrive, and applied."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final

import trio

from wsnode.cluster.journal import Journal, JournalUnavailableError
from wsnode.cluster.records import (
    BLOCKS,
    BrokenLinkError,
    ChainMismatchError,
    ChainState,
    Record,
    RecordId,
    Rollback,
    UnreadableRecordError,
)
from wsnode.cluster.replica.apply import EthereumReplicaChain, GapError, ReplicaError
from wsnode.ethereum.live.sync_feed import SyncProgress
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.sync.follow.sync_report import SyncStage

MAX_LAG: Final = 2
LATE_SECONDS: Final = 5.0
"""Seconds by which a replica may be behind the journal's last record, however few the blocks."""


class ReplicaLag:
    """Measure of the blocks and seconds by which this node is behind the journal's head. A node once too far
    behind counts as live again only at the journal's head.
    """

    def __init__(self, head: Callable[[], int], clock: Callable[[], float], max_lag: int = MAX_LAG) -> None:
        self._head = head
        self._clock = clock
        self._max_lag = max_lag
        self.tip: int | None = None
        """Number of the journal's head, None before it is known."""
        self._since: float | None = None
        """Time, on the given clock in seconds, since which a record of the journal has not been applied; None
        if all are applied.
        """
        self._stage = SyncStage.CONNECTING
        self.is_stopped = False
        self.is_unstored = False

    def noted(self, tip: int) -> None:
        """Note the number of the journal's head; the records up to it are not applied yet."""
        self.tip = tip
        if self._since is None:
            self._since = self._clock()

    def repeated(self) -> None:
        """Note that all records of the journal are applied, at least one."""
        self._since = None
        if self.tip is None:
            self.tip = self._head()

    @property
    def lag(self) -> int | None:
        """Return the number of blocks by which the head is behind, None before the journal was reached."""
        if self.tip is None or self._since is None:
            return None if self.tip is None else 0
        return max(0, self.tip - self._head())

    @property
    def late(self) -> float:
        """Return the seconds for which records of the journal have waited to be applied, 0 if none waits."""
        return 0.0 if self._since is None else self._clock() - self._since

    def stage(self) -> SyncStage:
        """Return how far the journal is followed: connecting, catching up, live, stopped, cannot store."""
        if self.is_stopped:
            return SyncStage.STOPPED
        if self.is_unstored:
            return SyncStage.UNSTORED
        self._stage = self._next_stage()
        return self._stage

    def _next_stage(self) -> SyncStage:
        if self.lag is None:
            return SyncStage.CONNECTING
        if self._since is None:
            return SyncStage.LIVE
        is_near = self.lag <= self._max_lag and self.late <= LATE_SECONDS
        return SyncStage.LIVE if self._stage is SyncStage.LIVE and is_near else SyncStage.CATCHING_UP


READ_SECONDS: Final = 1.0
"""Seconds to wait for records; after these and the time for an answer, a silent server is noticed.

The writer, which renews its lease as often, notices it as soon: so both go on with the next server together.
"""
RECORDS_BACK: Final = 8
HELD_SECONDS: Final = 20.0
"""Seconds for which a higher branch is kept after the journal lost it, since its writer may have it too."""
HELD_PAUSE: Final = 0.2
FIRST_PAUSE: Final = 0.1
MAX_PAUSE: Final = 5.0
REFUSALS: Final = (ReplicaError, UnreadableRecordError, ChainMismatchError)
"""Errors that end following until an operator acts; an unreadable record only as long as it is there."""

OpenJournal = Callable[[], AbstractAsyncContextManager[Journal]]
Bridge = Callable[[GapError], Awaitable[bool]]
"""Function that fetches the blocks up to the journal's first from other nodes, and returns False if none has
them.
"""

logger = logging.getLogger("wsnode.replica")


async def no_bridge(_gap: GapError) -> bool:
    """Return False, since there are no other nodes to ask."""
    return False


class Replica:
    """Task that follows a journal: reads its records, and applies them to this node's chain; works while
    `run` is running.
    """

    def __init__(
        self,
        copy: EthereumReplicaChain,
        open_journal: OpenJournal,
        *,
        max_lag: int = MAX_LAG,
        bridge: Bridge = no_bridge,
        held_seconds: float = HELD_SECONDS,
    ) -> None:
        self._copy = copy
        self._open = open_journal
        self._bridge = bridge
        self._outage = StorageRetry(self._stored)
        self.replica_lag = ReplicaLag(lambda: copy.head.number, trio.current_time, max_lag)
        self.position: RecordId | None = None
        """Id of the last applied record."""
        self._latest: RecordId | None = None
        """Highest id of all applied records; the journal may have lost it since."""
        self._held_seconds = held_seconds
        self._held: float | None = None
        """Time since which a branch is kept against the journal, None if none is."""
        self._given_up: RecordId | None = None
        """Id of the record for which such a branch was given up."""
        self.is_reachable = False
        """True if the journal answered the last request."""
        self.repeated = self.refused = self.reorganisations = 0
        self.error: str | None = None
        """Reason why the journal cannot be followed now, None if it can."""
        self.on_stage: list[Callable[[], None]] = []
        """Called when following has come to another stage."""
        self.on_height: list[Callable[[], None]] = []
        """Called when the journal's head has another number."""
        self._height: int | None = None
        self._stage = SyncStage.CONNECTING
        self._starting = copy.head.number
        self._pause = FIRST_PAUSE
        self._scope = trio.CancelScope()

    @property
    def stage(self) -> SyncStage:
        return self.replica_lag.stage()

    @property
    def progress(self) -> SyncProgress | None:
        """Return the first, present and highest block of the way to the journal's head, None at its end."""
        tip, head = self.replica_lag.tip, self._copy.head.number
        if self.stage is not SyncStage.CATCHING_UP or tip is None or tip <= head:
            return None
        return SyncProgress(self._starting, head, tip)

    async def run(self) -> None:
        while True:
            with trio.CancelScope() as self._scope:
                try:
                    async with self._open() as journal:
                        await self._follow(journal)
                except JournalUnavailableError as error:
                    await self._wait_away(error)
                except UnreadableRecordError as error:
                    await self._wait_readable(error)
                except REFUSALS as error:
                    self._stop(error)
                    await trio.sleep_forever()

    def begin_again(self, open_journal: OpenJournal) -> None:
        """Follow this journal from now on, even after a record was refused."""
        self._open = open_journal
        self.replica_lag.is_stopped = False
        self._scope.cancel()
        self._see()

    async def _wait_away(self, error: JournalUnavailableError) -> None:
        if self.is_reachable or self.error is None:
            logger.warning("%s; stored blocks are served, and the journal is tried again", error)
        self.is_reachable, self.error = False, str(error)
        pause, self._pause = self._pause, min(2 * self._pause, MAX_PAUSE)
        await trio.sleep(pause)

    async def _wait_readable(self, error: UnreadableRecordError) -> None:
        """Stop at an unreadable record until the journal has it no more, as after XDEL; log it once."""
        if self.error != str(error):
            self._stop(error)
        self.is_reachable = False
        await trio.sleep(MAX_PAUSE)

    def _stop(self, error: Exception) -> None:
        self.refused += not isinstance(error, GapError)
        self.error = str(error)
        self.replica_lag.is_stopped = True
        logger.error("following stopped at %s: %s", self._copy, error)
        self._see()

    def _reached(self, journal: Journal, *, is_empty: bool) -> None:
        if not self.is_reachable and is_empty:
            logger.warning(
                "the journal at %s is empty: no node has published this chain there yet; check the --journal "
                "of the node that writes it",
                journal.place,
            )
        elif not self.is_reachable:
            begin = "from its first record on" if self.position is None else f"after record {self.position}"
            logger.info("the journal is followed %s, the head is %s", begin, self._copy)
        self.is_reachable, self.error, self._pause = True, None, FIRST_PAUSE
        self.replica_lag.is_stopped = False

    async def _follow(self, journal: Journal) -> None:
        """Apply records as they arrive, until one is refused or the journal cannot be read."""
        await self._align(journal)
        while True:
            try:
                await self._follow_on(journal)
            except BrokenLinkError:
                # The journal has lost records, or they were written anew. The writer usually publishes again
                # what this chain has beyond them.
                await self._align(journal)
            except GapError as gap:
                await self._close(journal, gap)

    async def _follow_on(self, journal: Journal) -> None:
        seconds = 0.0
        while True:
            records = await journal.read(self.position, seconds)
            self._reached(journal, is_empty=not records and self.position is None)
            if records:
                await self._note(journal, records)
                for group in _groups(records):
                    if self._is_contradicted(group):
                        await self._hold(journal, group)
                        break
                    self._held = None
                    await self._outage.until_stored(partial(self._repeat_or_look, journal, group))
                    self._see()
            # After a full answer another one follows, and while an answer was late more records may have
            # come. In both cases the journal is not read to its end.
            is_all = not records or (len(records) < RECORDS_BACK and self.replica_lag.late <= LATE_SECONDS)
            if is_all and self.position is not None:
                self.replica_lag.repeated()
            seconds = READ_SECONDS if is_all else 0.0
            self._see()

    async def _align(self, journal: Journal) -> ChainState | None:
        """Continue after the last record whose state this chain has; return that state, None if there is
        none.

        Without one, begin with the first record of the journal. If all later records were applied before and
        left again, the journal has lost how: its writer will publish that again, and nothing is taken back.
        """
        before: RecordId | None = None
        newest: Record | None = None
        oldest: Record | None = None
        is_old = True
        while records := await journal.read_back(before, RECORDS_BACK):
            newest = newest or records[0]
            for record in records:
                if (reached := self._reached_by(record)) is not None:
                    # If the chain reaches only the record's ancestor, it may still have the blocks that the
                    # record took off. The record is then repeated.
                    is_down = reached is record.ancestor
                    is_old = is_old and (not is_down or self._is_old(record))
                    self.position = newest.id if is_old else record.id
                    if is_down and not is_old:
                        self.position = record.previous
                    return reached
                # A patch or a change of the chain id below the newest record was repeated before a later
                # block was built on it, and has left the chain together with that block.
                is_below = record is not newest and not isinstance(record.change, (Rollback, *BLOCKS))
                is_old = is_old and (is_below or self._is_old(record))
            oldest, before = records[-1], records[-1].id
        if oldest is None or not self._copy.reaches(oldest.before):
            self.position = None if oldest is None else oldest.previous
            return None
        self.position = newest.id if is_old and newest is not None else oldest.previous
        return oldest.before

    def _reached_by(self, record: Record) -> ChainState | None:
        """Return the state after a record or the one of its ancestor, None if the chain can reach neither."""
        states = (record.after, record.ancestor)
        return next((state for state in states if state is not None and self._copy.reaches(state)), None)

    def _is_old(self, record: Record) -> bool:
        """Return True if a record was applied, and the chain has left its state since."""
        if self._latest is not None:
            return record.id <= self._latest
        return self._copy.has_left(
            (record.before if isinstance(record.change, Rollback) else record.after).head
        )

    def _is_contradicted(self, group: Sequence[Record]) -> bool:
        """Return True if a record leads away from a higher branch, and no record in the journal has left that
        branch.

        The journal was emptied, for example, and is written anew by a node without that branch.
        """
        last = group[-1]
        if not isinstance(last.change, BLOCKS) or last.id == self._given_up:
            return False
        first = group[0]
        if first.ancestor is not None and self._copy.reaches(first.before):
            return False
        is_lower = last.after.head.number < self._copy.head.number
        return is_lower and not self._copy.reaches(last.after)

    async def _hold(self, journal: Journal, group: Sequence[Record]) -> None:
        """Keep the branch until the journal's end is as high, or certain, or for `held_seconds`."""
        tip, now = await journal.tip() or group[-1], trio.current_time()
        if self._held is None:
            self._held = now
            logger.info(
                "the journal now ends at %s, on another branch; %s is kept for now",
                tip.after.head,
                self._copy,
            )
        is_lower = tip.after.head.number < self._copy.head.number
        if is_lower and not tip.is_latest and now - self._held < self._held_seconds:
            # The kept branch has at least all that the journal can be right about, so this replica counts as
            # caught up.
            self.replica_lag.repeated()
            await trio.sleep(HELD_PAUSE)
            return
        self._held = None
        # The journal's end may be on the kept branch by now.
        await self._align(journal)
        if self.position is None or self.position < group[-1].id:
            self._given_up = group[-1].id

    async def _close(self, journal: Journal, gap: GapError) -> None:
        """Go back to a state in the journal, or fetch the blocks between from other nodes.

        Raises:
            GapError: Neither is possible.
        """
        common = await self._align(journal)
        if common is not None:
            await self._outage.until_stored(partial(self._go_back, common))
        elif not await self._outage.until_stored(partial(self._bridge, gap)):
            raise gap

    async def _go_back(self, common: ChainState) -> None:
        async with self._copy.turn():
            await self._copy.go_back(common)

    async def _note(self, journal: Journal, records: Sequence[Record]) -> None:
        last: Record | None = records[-1]
        if len(records) >= RECORDS_BACK:
            last = await journal.tip() or last
        assert last is not None
        self.replica_lag.noted(last.after.head.number)
        self._see()

    async def _repeat_or_look(self, journal: Journal, group: Sequence[Record]) -> None:
        """Repeat records; while they cannot be stored, read first how far the journal is by now."""
        if self._outage.is_on:
            await self._look(journal)
        await self._repeat(group)

    async def _look(self, journal: Journal) -> None:
        # A failure to read the journal's end must not delay the retry. The next read reports the failure,
        # once these records are stored.
        try:
            last = await journal.tip()
        except (JournalUnavailableError, *REFUSALS) as error:
            self.is_reachable = not isinstance(error, JournalUnavailableError)
            return
        self.is_reachable = True
        if last is not None:
            self.replica_lag.noted(last.after.head.number)
            self._see()

    async def _repeat(self, group: Sequence[Record]) -> None:
        """Repeat records that belong together, and publish their changes as one."""
        async with self._copy.turn():
            for record in group:
                await self._copy.apply(record)
                self._done(record)

    def _done(self, record: Record) -> None:
        self.position = record.id
        self._latest = record.id if self._latest is None else max(self._latest, record.id)
        self.repeated += 1
        self.reorganisations += record.ancestor is not None

    def _stored(self) -> None:
        self.replica_lag.is_unstored = self._outage.is_on
        self._see()

    def _see(self) -> None:
        self._take_height(self.replica_lag.tip)
        before, self._stage = self._stage, self.stage
        if before is self._stage:
            return
        if self._stage is SyncStage.CATCHING_UP:
            self._starting = self._copy.head.number
        if self._stage in (SyncStage.CATCHING_UP, SyncStage.LIVE):
            logger.info("%s, the head is %s", self._stage.value, self._copy)
        for listener in self.on_stage:
            listener()

    def _take_height(self, height: int | None) -> None:
        if height != self._height:
            self._height = height
            for listener in self.on_height:
                listener()

    def not_ready_reason(self) -> str | None:
        """Return the reason why this node should not be asked now, None if it is at the journal's head."""
        stage = self.stage
        if stage is SyncStage.STOPPED:
            return f"following stopped: {self.error}"
        if stage is SyncStage.UNSTORED:
            return "blocks cannot be stored"
        if stage is SyncStage.CONNECTING:
            return "the journal is empty" if self.is_reachable else "the journal was not reached yet"
        if stage is SyncStage.CATCHING_UP:
            return f"{self.replica_lag.lag} blocks and {self.replica_lag.late:.1f} s behind the journal"
        return None


def _groups(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Yield records one by one; a rollback together with the record after it."""
    group: list[Record] = []
    for record in records:
        group.append(record)
        if not isinstance(record.change, Rollback):
            yield group
            group = []
    if group:
        yield group
