"""What docs/reference/workers.md promises of several processes, at the sizes of a test."""

import os
import re
from pathlib import Path

import pytest

from bench.workers.capacity import Costs, lines, measured
from bench.workers.kills import kills
from bench.workers.placement import placement
from bench.workers.rate import rate
from bench.workers.speed import notices, speed_of
from bench.workers.throughput import compare

pytestmark = pytest.mark.slow


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
    found = rate(data, seconds=10, per_second=50, workers=2, victims=1)
    # Less is admitted only where the clients, without a core of their own, ask for less. In the beginning ten
    # calls may be saved up, and the replies to four clients be on their way.
    assert 0 < found.admitted <= 1.02 * 50 * found.seconds + 14
    assert found.refused > 0


def test_each_block_reaches_the_subscribers_of_a_worker(tmp_path: Path) -> None:
    assert len(notices(tmp_path, blocks=30)) >= 30


def test_a_call_is_measured_with_one_process_and_with_two(imported: Path) -> None:
    found = [speed_of(imported, workers, "eth_chainId", (16, 1), 1.0) for workers in (1, 2)]
    assert all(speed.rate > 0 and speed.cpu > 0 for speed in found)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
def test_a_node_is_measured_on_one_core_and_on_two(
    imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compare(imported, tmp_path, tmp_path, (), seconds=0.3, repeats=1, cases=("eth_blockNumber",))
    told = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in told] == [
        "wsnode eth_blockNumber 8x16",
        "wsnode eth_blockNumber 64x1",
    ]
    assert all(len(re.findall(r"([\d.]+) us", line)) == 4 for line in told)
    assert all(float(cpu) > 0 for line in told for cpu in re.findall(r"([\d.]+) us", line))


def test_what_a_larger_machine_would_do_follows_from_costs_that_are_measured_here(
    imported: Path, tmp_path: Path
) -> None:
    cases = {"eth_chainId": (16, 1)}
    costs = measured(tmp_path, imported, seconds=1.0, cases=cases, arrivals=50, blocks=5)
    assert all(min(calls) > 0 for calls in costs.calls.values())
    assert costs.arrival > 0
    assert costs.connection > 0


def test_a_model_of_a_larger_machine_gives_each_core_but_one_a_worker() -> None:
    calls = {"free to share": (10.0, 10.0), "dear to share": (10.0, 11.0)}
    costs = Costs(calls, parent=20, arrival=150, connection=10_240, block=0, notification=10)
    found = [line for line in lines(costs, machines=(5, 9)) if "cores: " in line]
    assert found == [
        "5 cores: free to share 400,000 to 400,000/s; dear to share 330,579 to 363,636/s",
        "9 cores: free to share 800,000 to 800,000/s; dear to share 601,052 to 727,273/s",
        "  5 cores: 0.25 s until all have a head; 3.8 s until all have come back",
        "  9 cores: 0.12 s until all have a head; 2.0 s until all have come back",
    ]
