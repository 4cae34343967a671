"""A whole cluster under faults of a seed: clients get what docs/reference/cluster.md promises.

    WSNODE_FAULTS_SEED=1 WSNODE_FAULTS_SECONDS=180 WSNODE_FAULTS_REDIS=sentinel WSNODE_FAULTS_WRITER=dev \\
        pytest -m soak -n 0 -s tests/cluster/faults/test_faults.py

-s shows the faults while they happen. `WSNODE_FAULTS_REDIS` is `sentinel` or `cluster`. The chain is
published by the node that makes it, if `WSNODE_FAULTS_WRITER` is `dev`, or by turns by two that follow it
(`follow`).
"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.cluster.faults.cluster import Cluster
from tests.cluster.faults.histories import violations
from tests.cluster.faults.run import Outcome, Plan, endure, rage, restart_all
from tests.cluster.redis_server import needs_redis
from tests.deploy.test_haproxy import needs_haproxy

pytestmark = [needs_redis, needs_haproxy]

SEED = int(os.environ.get("WSNODE_FAULTS_SEED", "1"))
SECONDS = float(os.environ.get("WSNODE_FAULTS_SECONDS", "180"))
TOPOLOGY = os.environ.get("WSNODE_FAULTS_REDIS", "sentinel")
WRITER = os.environ.get("WSNODE_FAULTS_WRITER", "dev")
SHORT_SECONDS = 45.0


def endured(folder: Path, plan: Plan, ordeal: Callable[[Cluster, Plan, float], None] = rage) -> Outcome:
    """Return the outcome of a run without violations; the history of one that has some stays."""
    outcome = endure(folder, plan, ordeal)
    (folder / "history.json").write_bytes(msgspec.json.encode(outcome.history))
    print(plan, outcome.figures)
    assert violations(outcome.history) == []
    return outcome


@pytest.mark.nightly
def test_clients_of_a_cluster_are_told_all_once_through_a_minute_of_faults(tmp_path: Path) -> None:
    outcome = endured(tmp_path, Plan(1, SHORT_SECONDS, "sentinel", "dev", workers=2))
    assert outcome.figures["acknowledged"] > 0
    assert outcome.figures["clients"]["resumptions"] > 0


@pytest.mark.nightly
def test_a_node_that_stands_by_takes_the_lease_whatever_happens_to_the_other(tmp_path: Path) -> None:
    outcome = endured(tmp_path, Plan(1, SHORT_SECONDS, "sentinel", "follow", workers=2))
    assert outcome.figures["takeovers"] > 0


@pytest.mark.soak
def test_clients_of_a_cluster_are_told_all_once_through_faults_of_a_seed(tmp_path: Path) -> None:
    endured(tmp_path, Plan(SEED, SECONDS, TOPOLOGY, WRITER, workers=2))


@pytest.mark.nightly
def test_a_rolling_restart_of_every_program_loses_nothing(tmp_path: Path) -> None:
    outcome = endured(tmp_path, Plan(1, 0, "sentinel", "follow", workers=2), restart_all)
    assert outcome.figures["clients"]["resumptions"] > 0


@pytest.mark.soak
def test_a_rolling_restart_loses_nothing_of_three_hundred_clients(tmp_path: Path) -> None:
    endured(tmp_path, Plan(SEED, 0, "sentinel", "follow", workers=2, groups=17), restart_all)
