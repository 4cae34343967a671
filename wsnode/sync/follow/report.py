"""How following goes, as clients, operators and metrics see it."""

from enum import Enum
from typing import Any

from wsnode.sync.follow.upstream import Upstream


class Stage(Enum):
    """Where following stands."""

    CONNECTING = "connecting"
    CATCHING_UP = "catching up"
    LIVE = "live"
    STOPPED = "stopped"
    UNSTORED = "cannot store"


def described(upstream: Upstream) -> dict[str, Any]:
    """Return an upstream as `wsnode_status` tells it, without anything of its URL that may be secret."""
    score = upstream.client.score
    return {
        "url": str(upstream),
        "state": upstream.standing.value,
        **({"reason": upstream.why} if upstream.why else {}),
        "head": None if upstream.announced is None else upstream.announced.members(),
        "heads": "told" if upstream.is_told else "polled",
        "score": {
            "announceDelay": round(score.delay, 4),
            "readP95": round(score.p95, 4),
            "errorShare": round(score.errors, 4),
        },
        "reads": score.reads,
        "failures": score.failures,
        "callsPerSecond": round(upstream.client.budget.per_second, 1),
    }
