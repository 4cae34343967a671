"""Status of following, for clients, operators and metrics."""

from enum import Enum
from math import inf
from typing import Any, Final

from wsnode.ethereum.head import Head
from wsnode.sync.follow.upstream import Upstream


class SyncStage(Enum):
    """Stage of following."""

    CONNECTING = "connecting"
    CATCHING_UP = "catching up"
    LIVE = "live"
    STOPPED = "stopped"
    UNSTORED = "cannot store"
    UNSUPPORTED = "unsupported"


BRIEF_SECONDS: Final = 10.0
ELSEWHERE: Final = "elsewhere"
"""State of a followed upstream with a head that is not on the proved chain."""
KEPT_FIRSTS: Final = 256


class HeadAnnouncements:
    """Record of the last 256 heads announced by upstreams, each with the time of its first announcement."""

    def __init__(self) -> None:
        self._firsts: dict[Head, float] = {}

    def add(self, upstream: Upstream, head: Head, now: float) -> None:
        """Note an announced head; its delay after the first announcement counts in the upstream's score."""
        upstream.client.score.announced(now - self._firsts.setdefault(head, now))
        while len(self._firsts) > KEPT_FIRSTS:
            del self._firsts[next(iter(self._firsts))]

    def seconds_behind(self, number: int, now: float) -> float:
        """Return the seconds since a block above `number` was first announced, 0 if none was."""
        above = [first for head, first in self._firsts.items() if head.number > number]
        return now - min(above) if above else 0.0


class SyncStageLog:
    """Filter of the stages of following that are logged: on a fast chain, a node leaves the head and returns
    to it again and again.
    """

    def __init__(self) -> None:
        self._live_said = -inf
        self._is_passed_over = False
        """True if the last stage was not logged; its end is not either, if that is the head again."""

    def says(self, stage: SyncStage, now: float) -> bool:
        """Return True if a stage that begins at `now`, in seconds, is to be logged.

        Within `BRIEF_SECONDS` of a line about the head, falling behind and being back are not logged, so the
        last line stays true.
        """
        if stage is SyncStage.CATCHING_UP:
            self._is_passed_over = now - self._live_said < BRIEF_SECONDS
            return not self._is_passed_over
        was_passed_over, self._is_passed_over = self._is_passed_over, False
        if stage is not SyncStage.LIVE:
            self._live_said = -inf
            return True
        if was_passed_over:
            return False
        self._live_said = now
        return True


def described(upstream: Upstream) -> dict[str, Any]:
    """Return an upstream as a member of `wsnode_status`, without the secret parts of its URL."""
    score = upstream.client.score
    return {
        "url": str(upstream),
        "state": ELSEWHERE if upstream.is_elsewhere else upstream.standing.value,
        **({"reason": upstream.why} if upstream.why else {}),
        "head": None if upstream.announced is None else upstream.announced.members(),
        "heads": "told" if upstream.announces_heads else "polled",
        "score": {
            "announceDelay": round(score.delay, 4),
            "readP95": round(score.p95, 4),
            "errorShare": round(score.errors, 4),
        },
        "reads": score.reads,
        "failures": score.failures,
        "callsPerSecond": round(upstream.client.budget.per_second, 1),
    }
