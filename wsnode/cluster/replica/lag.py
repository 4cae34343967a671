"""Lag of a replica behind its journal, and whether clients should come to it."""

from collections.abc import Callable
from typing import Final

from wsnode.sync.follow.sync_report import SyncStage

MAX_LAG: Final = 2
LATE_SECONDS: Final = 5.0
"""Seconds by which a replica may be behind the journal's last record, however few the blocks."""


class ReplicaLag:
    """Lag of the head behind the journal's; a replica that fell behind is live again only at the journal's
    head.
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
