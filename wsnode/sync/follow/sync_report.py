"""How following goes, as clients, operators and metrics see it."""

from enum import Enum
from math import inf
from typing import Any, Final

from wsnode.sync.follow.upstream import Upstream


class SyncStage(Enum):
    """Where following stands."""

    CONNECTING = "connecting"
    CATCHING_UP = "catching up"
    LIVE = "live"
    STOPPED = "stopped"
    UNSTORED = "cannot store"
    UNSUPPORTED = "unsupported"


BRIEF_SECONDS: Final = 10.0


class SyncStageLog:
    """Stages that are worth a line: beside a fast chain following leaves the head again and again."""

    def __init__(self) -> None:
        self._live_said = -inf
        self._is_passed_over = False
        """Whether the last stage was not said, nor is its end if that is the head again."""

    def says(self, stage: SyncStage, now: float) -> bool:
        """Return whether a stage that begins at `now`, in seconds, is worth a line.

        Soon after a line about the head, being behind is not, nor being back; so the last line stays true.
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
    """Return an upstream as `wsnode_status` tells it, without anything of its URL that may be secret."""
    score = upstream.client.score
    return {
        "url": str(upstream),
        "state": upstream.standing.value,
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
