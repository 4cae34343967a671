"""State of a replica, for `wsnode_status` and `/metrics`."""

from typing import Any

from wsnode.cluster.membership import ClusterMembership
from wsnode.cluster.replica.following import Replica
from wsnode.server.shared import MetricValue
from wsnode.sync.follow.sync_report import SyncStage


def status_of(replica: Replica, place: str, presence: ClusterMembership) -> dict[str, Any]:
    """Return the members of `wsnode_status` about the journal at `place`."""
    return {
        "journal": place,
        "reachable": replica.is_reachable,
        "writer": presence.has_writer,
        "behind": round(replica.replica_lag.late, 3),
        "position": None if replica.position is None else str(replica.position),
        "records": replica.repeated,
        "refused": replica.refused,
        **({} if replica.error is None else {"error": replica.error}),
    }


def figures_of(replica: Replica, presence: ClusterMembership) -> list[MetricValue]:
    """Return the metrics of a chain's replica."""
    replica_lag, stage = replica.replica_lag, replica.stage

    def valued(name: str, value: float) -> MetricValue:
        return MetricValue(f"wsnode_replica_{name}", value)

    figures = [
        valued("live", stage is SyncStage.LIVE),
        valued("stopped", stage is SyncStage.STOPPED),
        valued("unstored", stage is SyncStage.UNSTORED),
        valued("journal_reachable", replica.is_reachable),
        valued("behind_seconds", replica_lag.late),
        valued("records_total", replica.repeated),
        valued("refused_total", replica.refused),
        valued("reorganisations_total", replica.reorganisations),
    ]
    if (has_writer := presence.has_writer) is not None:
        figures.append(valued("writer", has_writer))
    if replica_lag.tip is not None and replica_lag.lag is not None:
        figures.append(valued("tip", replica_lag.tip))
        figures.append(valued("lag_blocks", replica_lag.lag))
    return figures
