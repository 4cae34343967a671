"""How far a replica is behind its journal, and whether clients should come to it."""

from collections.abc import Callable
from typing import Final

from wsnode.sync.follow.sync_report import SyncStage

MAX_LAG: Final = 2
LATE_SECONDS: Final = 5.0
"""How long a replica may be behind the journal's last record, however few the blocks."""


class ReplicaLag:
    """Compares the head with the journal's; once behind, a replica has to come up to it to be live again."""

    def __init__(self, head: Callable[[], int], clock: Callable[[], float], max_lag: int = MAX_LAG) -> None:
        """`head` returns the number of the head, `clock` seconds."""
        self._head = head
        self._clock = clock
        self._max_lag = max_lag
        self.tip: int | None = None
        """The number of the journal's head, None before that is known."""
        self._since: float | None = None
        """Since when something in the journal is not repeated; None if nothing is."""
        self._stage = SyncStage.CONNECTING
        self.is_stopped = False
        self.is_unstored = False

    def noted(self, tip: int) -> None:
        """Take note of the journal's head; what leads to it is not repeated yet."""
        self.tip = tip
        if self._since is None:
            self._since = self._clock()

    def repeated(self) -> None:
        """Take note that all is repeated that the journal has told, which is something."""
        self._since = None
        if self.tip is None:
            self.tip = self._head()

    @property
    def lag(self) -> int | None:
        """Return how many blocks the head is behind, None before the journal was reached."""
        if self.tip is None or self._since is None:
            return None if self.tip is None else 0
        return max(0, self.tip - self._head())

    @property
    def late(self) -> float:
        """Return the seconds for which the journal has had records that are not repeated yet."""
        return 0.0 if self._since is None else self._clock() - self._since

    def stage(self) -> SyncStage:
        """Return where following stands now."""
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
