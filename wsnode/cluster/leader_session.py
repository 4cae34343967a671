"""Session of one writer with the lease of a journal: it appends the steps from the journal's end to the
store.

The store is the only queue: nothing else is kept of the steps that a journal lacks.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, Self

import msgspec
import trio

from wsnode.cluster.journal import (
    Journal,
    JournalUnavailableError,
    Lease,
    TipMovedError,
    UnrelatedJournalError,
)
from wsnode.cluster.journal_diff import EthereumSource, JournalStep, first_standing, next_steps
from wsnode.cluster.records import (
    BLOCKS,
    ChainMismatchError,
    ChainState,
    Record,
    RecordId,
    UnreadableRecordError,
)
from wsnode.ethereum.head import Head

RENEWAL_SECONDS: Final = 1.0
TIMEOUT_SECONDS: Final = 4.0
"""Seconds without a renewal after which the writer stops: the lease lasts a second longer."""
BEGINNING_BLOCKS: Final = 10_000
"""Blocks below the head at which an empty journal begins."""
RECORDS_BACK: Final = 8


class StaleLeaderError(Exception):
    """Error of a process with the lease, but without the journal's last block: its older head would only roll
    readers back. `head` is its chain's head, `tip` the journal's.
    """

    def __init__(self, head: Head, tip: Head) -> None:
        super().__init__(
            f"the head is block {head}, and the journal is at block {tip}, which is unknown here"
        )
        self.head, self.tip = head, tip


class LeaderReport(msgspec.Struct):
    """Progress of the process in writing a journal, for metrics and `wsnode_status`: counts since its start,
    and the last record.
    """

    is_leading: bool = False
    epoch: int = 0
    published: RecordId | None = None
    """Id of the last record."""
    head: Head | None = None
    """Head that readers of the journal have after the last record."""
    records: int = 0
    failures: int = 0
    error: str | None = None
    """Reason why nothing can be published now, None if it can."""


class PublishedChain:
    """Chain that a process publishes, with the data common to its successive leases: the process's name and
    its report.
    """

    def __init__(self, source: EthereumSource, holder: str) -> None:
        self.source = source
        self.holder = holder
        self.report = LeaderReport()


class LeaderSession:
    """Session of a journal's writer, from getting the lease to losing it: the lease, and the last record as
    this process wrote it.
    """

    def __init__(
        self, published: PublishedChain, journal: Journal, lease: Lease, tip: Record | None, began: float
    ) -> None:
        self.lease = lease
        self._published = published
        self._journal = journal
        self._tip = tip
        self._sequence = 0
        self._known: Head | None = None
        """Block to continue from where the journal's head is unknown here."""
        self._renewed = began

    @classmethod
    async def begin(cls, published: PublishedChain, journal: Journal) -> Self:
        """Begin a session in a new epoch, and return it.

        Raises:
            LeaseHeldError: Another process has the lease.
            StaleLeaderError, UnrelatedJournalError: The journal does not end with a block that is known here.
            LeaseLostError, JournalUnavailableError, UnreadableRecordError, ChainMismatchError: See `Journal`.
        """
        began = trio.current_time()
        lease = await journal.claim(published.holder, published.report.epoch)
        published.report.epoch = lease.epoch
        try:
            await journal.keep_genesis(lease, published.source.genesis)
            session = cls(published, journal, lease, await journal.tip(), began)
            await session._find_known()
        except (StaleLeaderError, UnrelatedJournalError, UnreadableRecordError, ChainMismatchError):
            # Another process may be able to continue the journal, so this one gives up the lease.
            await journal.release(lease)
            raise
        session._note()
        return session

    @property
    def next_renewal(self) -> float:
        """Return the time at which the lease is to be renewed, on trio's clock in seconds."""
        return self._renewed + RENEWAL_SECONDS

    async def append_steps(self) -> int | None:
        """Append the steps from the journal's end to the store's head.

        Return the version of the store if the journal had them all already, None after appending: the chain
        may have changed meanwhile, and if a change of several steps has begun, the store is not read before
        that change ends.

        Raises:
            TipMovedError: The journal has lost records, or another process has written some.
            LeaseLostError, RecordTooLargeError, JournalUnavailableError: As `Journal.append`.
            StoreError, StateError, CorruptRowError: The chain cannot be read.
        """
        source = self._published.source
        # Nothing is awaited between the caller's check that no change is in progress and this snapshot.
        with source.chain.snapshot() as view:
            before = (
                first_standing(view, source.origin, BEGINNING_BLOCKS)
                if self._tip is None
                else self._tip.after
            )
            work = partial(next_steps, view, source.origin, before, self._known)
            steps: list[JournalStep] = await trio.to_thread.run_sync(work)
            version = view.version
        for step in steps:
            await self.renew()
            before = await self._append(before, step)
        return None if steps else version

    async def _append(self, before: ChainState, step: JournalStep) -> ChainState:
        record = Record(
            self._published.source.first_hash,
            RecordId(self.lease.epoch, self._sequence + 1),
            self._last_id,
            before,
            step.after,
            step.change,
            step.is_latest,
        )
        with self._in_time():
            await self._journal.append(self.lease, record)
        self._tip, self._known, self._sequence = record, None, record.id.sequence
        self._published.report.records += 1
        self._note()
        return record.after

    async def renew(self) -> None:
        """Renew the lease if that is due.

        Raises:
            TipMovedError: The journal has lost records.
            LeaseLostError, JournalUnavailableError: As `Journal.renew`.
        """
        now = trio.current_time()
        if now < self.next_renewal:
            return
        with self._in_time():
            found = await self._journal.renew(self.lease)
        self._renewed = now
        if found != self._last_id:
            raise TipMovedError(self._last_id, found)

    @property
    def _last_id(self) -> RecordId | None:
        return None if self._tip is None else self._tip.id

    def _note(self) -> None:
        report = self._published.report
        report.published = self._last_id
        report.head = None if self._tip is None else self._tip.after.head

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Cancel a request to the journal before the lease may have expired.

        Raises:
            JournalUnavailableError: The request took longer.
        """
        # A process that was suspended for longer than the lease may still send one request, since the journal
        # itself checks the lease.
        deadline = max(self._renewed + TIMEOUT_SECONDS, trio.current_time() + RENEWAL_SECONDS)
        try:
            with trio.fail_at(deadline):
                yield
        except trio.TooSlowError:
            raise JournalUnavailableError(self._journal.place, "the lease was not renewed in time") from None

    async def _find_known(self) -> None:
        """Set the block to continue from, or raise StaleLeaderError or UnrelatedJournalError without one."""
        source = self._published.source
        if self._tip is None or source.knows(self._tip.after.head):
            return
        head, is_sole = source.chain.head, source.is_sole
        if not is_sole and head.number < self._tip.after.head.number:
            raise StaleLeaderError(head, self._tip.after.head)
        self._known = await self._known_ancestor(self._tip)
        if self._known is None and not is_sole:
            raise UnrelatedJournalError(self._tip.after.head)
        self._known = self._known or source.first_block()

    async def _known_ancestor(self, tip: Record) -> Head | None:
        """Return the last ancestor of the journal's head that is known here, by its records; None if none
        is.
        """
        ancestor, last = tip.after.head, None
        while records := await self._journal.read_back(last, RECORDS_BACK):
            for record in records:
                if isinstance(record.change, BLOCKS) and record.after.head == ancestor:
                    ancestor = (record.ancestor or record.before).head
                    if self._published.source.knows(ancestor):
                        return ancestor
            last = records[-1].id
        return None
