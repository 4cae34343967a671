"""What docs/workers.md promises of several processes, at the sizes of a test."""

from pathlib import Path

import pytest

from bench.workers.kills import kills
from bench.workers.placement import placement
from bench.workers.rate import rate
from bench.workers.speed import notices, throughput

pytestmark = pytest.mark.slow
POLL_MILLISECONDS = 200


def test_connections_are_shared_evenly_and_again_after_a_kill(imported: Path) -> None:
    found = placement(imported)
    assert found.before <= 1.02
    assert found.lost == 50
    assert found.after <= 1.05


def test_clients_with_cursors_miss_nothing_when_workers_are_killed(tmp_path: Path) -> None:
    found = kills(tmp_path, count=8, clients=6, workers=3)
    assert found.exact == found.clients
    assert found.reconnections > 0
    assert found.stale == 0


def test_all_workers_admit_what_a_key_may_call_and_no_more(imported: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "eth").symlink_to(imported / "eth")
    found = rate(data, seconds=10, per_second=100, workers=2, victims=1)
    assert found.admitted == pytest.approx(100 * found.seconds, rel=0.02, abs=2)
    assert found.refused > 0


def test_a_block_reaches_subscribers_of_a_worker_sooner_than_by_looking_now_and_then(tmp_path: Path) -> None:
    delays = notices(tmp_path, blocks=30)
    assert len(delays) >= 25
    # By looking every 200 ms the mean would be 100 ms, on an idle machine too.
    assert delays[len(delays) // 2] < POLL_MILLISECONDS / 8


def test_a_call_of_a_worker_takes_no_more_computing_than_one_of_a_lone_process(imported: Path) -> None:
    one, two = (throughput(imported, workers, "eth_chainId", (16, 1), 2.0) for workers in (1, 2))
    # 1.1 is what an idle machine shows; other jobs make turns shorter and each call dearer.
    assert two.cpu < 1.5 * one.cpu
