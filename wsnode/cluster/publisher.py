"""Task that publishes a chain in one leader session after another, whatever ended the last one."""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol

import trio

from wsnode.cluster.journal import (
    Journal,
    JournalUnavailableError,
    Lease,
    LeaseHeldError,
    LeaseLostError,
    TipMovedError,
    UnrelatedJournalError,
)
from wsnode.cluster.journal_diff import EthereumSource
from wsnode.cluster.leader_session import (
    LeaderReport,
    LeaderSession,
    PublishedChain,
    StaleLeaderError,
)
from wsnode.cluster.membership import process_name
from wsnode.cluster.records import ChainMismatchError, RecordTooLargeError, UnreadableRecordError
from wsnode.ethereum.codec.rows import CorruptRowError
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.branches import UnknownPositionError
from wsnode.ethereum.state import StateError
from wsnode.ethereum.storage.errors import StoreError

RETRY_SECONDS: Final = 1.0
QUIET_SECONDS: Final = 60.0
"""Seconds between two log lines of one kind while nothing can be published."""
RELEASE_SECONDS: Final = 1.0
FAILURES: Final = (
    StaleLeaderError,
    CorruptRowError,
    JournalUnavailableError,
    LeaseLostError,
    ChainMismatchError,
    RecordTooLargeError,
    StateError,
    StoreError,
    TipMovedError,
    UnknownPositionError,
    UnreadableRecordError,
    UnrelatedJournalError,
)
"""Errors that keep a writer from publishing for a while, but never from serving."""

logger = logging.getLogger("wsnode.journal")


class ChangeWatcher(Protocol):
    """Source of signals that a chain may have changed, implemented by `Hub` and `StorePoll`; the publisher
    waits for them.
    """

    is_held: bool
    """True while a change of several steps is in progress, to be published as one."""

    @property
    def next_look(self) -> trio.Event:
        """Return an event that is set once the chain may have changed."""


OpenJournal = Callable[[], AbstractAsyncContextManager[Journal]]


class JournalPublisher:
    """Task that publishes one chain's changes to one journal while this process has the journal's lease."""

    def __init__(self, source: EthereumSource, changes: ChangeWatcher, open_journal: OpenJournal) -> None:
        self._source = source
        self.name = process_name()
        self._published = PublishedChain(source, self.name)
        self._changes = changes
        self._open = open_journal
        self._said: tuple[type[Exception], float] | None = None
        self._version = -1
        """Version of the store that has been published."""
        self._advanced = trio.Event()

    @property
    def report(self) -> LeaderReport:
        return self._published.report

    @property
    def head(self) -> Head:
        return self._source.chain.head

    @property
    def lag(self) -> int | None:
        """Return the least number of blocks by which the journal is behind, None until its head is known."""
        head = self.report.head
        return None if head is None else max(0, self._source.chain.head.number - head.number)

    def status(self) -> dict[str, Any]:
        """Return the journal's members of `wsnode_status`."""
        report = self.report
        return {
            "leading": report.is_leading,
            "epoch": report.epoch,
            "published": None if report.published is None else str(report.published),
            "lag": self.lag,
            **({} if report.error is None else {"error": report.error}),
        }

    async def run(self) -> None:
        """Publish for ever; failures are logged, and tried again."""
        while True:
            try:
                async with self._open() as journal:
                    await self._lead(journal)
            except LeaseHeldError as error:
                self._wait(error, logging.INFO)
            except FAILURES as error:
                self.report.failures += 1
                self._wait(error, logging.WARNING)
            await trio.sleep(RETRY_SECONDS)

    async def finish(self, seconds: float) -> bool:
        """Wait up to `seconds` for the journal; return True if all stored blocks are published."""
        with trio.move_on_after(seconds):
            while not self._is_current():
                await self._advanced.wait()
        return self._is_current()

    def _is_current(self) -> bool:
        return self._version == self._source.chain.version

    async def _lead(self, journal: Journal) -> None:
        session = await LeaderSession.begin(self._published, journal)
        self.report.is_leading, self.report.error, self._said = True, None, None
        logger.info(
            "%s: blocks are published in epoch %d, after record %s",
            journal.place,
            session.lease.epoch,
            self.report.published or "none",
        )
        try:
            await self._publish(session)
        except trio.Cancelled:
            await self._release(session.lease)
            raise
        finally:
            self.report.is_leading = False

    async def _publish(self, session: LeaderSession) -> None:
        while True:
            change = self._changes.next_look
            while not self._changes.is_held:
                if (version := await session.append_steps()) is not None:
                    self._version = version
                    advanced, self._advanced = self._advanced, trio.Event()
                    advanced.set()
                    break
            while not change.is_set():
                with trio.move_on_at(session.next_renewal):
                    await change.wait()
                await session.renew()

    async def _release(self, lease: Lease) -> None:
        """Give up the lease over a new connection, since the present ones are being closed."""
        with trio.move_on_after(RELEASE_SECONDS, shield=True):
            try:
                async with self._open() as journal:
                    await journal.release(lease)
            except JournalUnavailableError as error:
                # A lease that is not released expires by itself.
                logger.debug("%s", error)

    def _wait(self, error: Exception, level: int) -> None:
        self.report.error = str(error)
        now = trio.current_time()
        if self._said is None or self._said[0] is not type(error) or now >= self._said[1] + QUIET_SECONDS:
            self._said = type(error), now
            logger.log(level, "no blocks are published: %s", error)
