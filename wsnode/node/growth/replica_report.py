"""How a replica stands, for `wsnode_status` and `/metrics`."""

from typing import Any

from wsnode.cluster.presence import Presence
from wsnode.cluster.replica.following import Replica
from wsnode.server.shared import Figure
from wsnode.sync.follow.report import Stage


def status_of(replica: Replica, place: str, presence: Presence) -> dict[str, Any]:
    """Return what `wsnode_status` says of the journal at a place."""
    return {
        "journal": place,
        "reachable": replica.is_reachable,
        "writer": presence.has_writer,
        "behind": round(replica.gauge.late, 3),
        "position": None if replica.position is None else str(replica.position),
        "records": replica.repeated,
        "refused": replica.refused,
        **({} if replica.error is None else {"error": replica.error}),
    }


def figures_of(replica: Replica, presence: Presence, family: str) -> list[Figure]:
    """Return the numbers of a chain's replica."""
    gauge, stage, labels = replica.gauge, replica.stage, {"family": family}

    def gauged(name: str, meaning: str, value: float) -> Figure:
        return Figure(f"wsnode_replica_{name}", meaning, value, labels)

    def counted(name: str, meaning: str, value: int) -> Figure:
        return Figure(f"wsnode_replica_{name}", meaning, value, labels, is_counter=True)

    figures = [
        gauged("live", "Whether the head is the journal's", stage is Stage.LIVE),
        gauged("stopped", "Whether following stopped", stage is Stage.STOPPED),
        gauged("unstored", "Whether blocks cannot be stored now", stage is Stage.UNSTORED),
        gauged("journal_reachable", "Whether the journal answers", replica.is_reachable),
        gauged("behind_seconds", "How long records have waited to be repeated", gauge.late),
        counted("records", "Records repeated", replica.repeated),
        counted("refused", "Records refused", replica.refused),
        counted("reorganisations", "Changes that took blocks off the chain", replica.reorganisations),
    ]
    if (has_writer := presence.has_writer) is not None:
        figures.append(gauged("writer", "Whether a process writes the journal", has_writer))
    if gauge.tip is not None and gauge.lag is not None:
        figures.append(gauged("tip", "Number of the journal's head", gauge.tip))
        figures.append(gauged("lag_blocks", "Blocks not repeated yet", gauge.lag))
    return figures
