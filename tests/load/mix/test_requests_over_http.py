"""The same requests over HTTP: against known delays, an independent tool, and from several processes."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.load.mix.delaying import PERCENTILES
from tests.vector_files import CHECKOUT
from wsnode.load.measured import Measurement
from wsnode.load.mix.processes import runners, shared_out
from wsnode.load.mix.requests import Request
from wsnode.load.mix.window import LoadSettings, run_window

pytestmark = pytest.mark.slow

AB = shutil.which("ab")
"""ApacheBench. wrk will not do: it adds latencies that it has not seen (`stats_correct`)."""
BODY = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
REQUESTS = [Request("eth_chainId", [])] * 64
TOLERANCE = 0.1
FACTOR = 10
"""With it the tolerance is 40 ms at the least: a busy machine has added 26 ms."""
ROUNDS = 12


@contextmanager
def delaying(factor: int) -> Iterator[str]:
    """Run a node of known delays, and return its address."""
    command = [sys.executable, "-m", "tests.load.mix.delaying", str(factor)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v3/key"
        process.terminate()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Return the address of a node of known delays."""
    with delaying(1) as address:
        yield address


def measured(url: str, seconds: float, processes: int = 1, connections: int = 16) -> Measurement:
    with runners(processes) as run:
        return run(url, REQUESTS, LoadSettings(connections=connections, depth=1, seconds=seconds), 0.5)


def test_replies_over_http_are_counted(url: str) -> None:
    found = run_window(url, REQUESTS, LoadSettings(connections=4, depth=1, seconds=2))
    assert found.replies > 4
    assert not found.errors
    assert found.all_latencies.percentile(0) >= 40
    assert len(found.busy) == 1


def test_at_a_rate_requests_wait_for_their_connection(url: str) -> None:
    found = run_window(url, REQUESTS, LoadSettings(connections=1, depth=1, seconds=2, rate=100))
    # One connection answers some twelve a second: the latency counts from when a request was due.
    assert found.all_latencies.percentile(0.99) > 150
    assert found.unanswered > 10
    assert len(found.lateness) > 2


def test_connections_and_rate_are_shared_out_whole() -> None:
    pattern = LoadSettings(connections=10, rate=100.0)
    shares = list(shared_out(pattern, 3))
    assert [first for first, _ in shares] == [0, 3, 6]
    assert sum(share.connections for _, share in shares) == 10
    assert sum(share.rate or 0 for _, share in shares) == pytest.approx(100)


def test_several_processes_measure_together(url: str) -> None:
    found = measured(url, processes=2, seconds=2.0)
    assert len(found.busy) == 2
    assert found.replies > 16
    assert not found.is_client_the_limit or found.machine > 0


def test_a_node_that_is_not_there_is_told_by_whichever_process_finds_out() -> None:
    with pytest.raises(ConnectionError, match="refused"):
        measured("http://127.0.0.1:1/", processes=2, seconds=1.0)


@pytest.mark.nightly
@pytest.mark.skipif(AB is None, reason="no `ab` on the path")
def test_percentiles_agree_with_an_independent_tool(tmp_path: Path) -> None:
    (tmp_path / "body").write_text(BODY)
    known = [exact * FACTOR for exact in PERCENTILES.values()]
    with delaying(FACTOR) as url:
        require_found(known, lambda: percentiles_of_ab(url, tmp_path / "body"))
        require_found(known, lambda: percentiles_of_ours(url))


def require_found(known: list[float], find: Callable[[], list[float]]) -> None:
    """Require one round that finds what is known: load adds to some rounds, a wrong count to each."""
    rounds = list[list[float]]()
    while not rounds or rounds[-1] != pytest.approx(known, rel=TOLERANCE):
        assert len(rounds) < ROUNDS, f"{known} were found as {rounds}"
        rounds.append(find())


def percentiles_of_ab(url: str, body: Path) -> list[float]:
    assert AB is not None
    flags = ["-k", "-q", "-c", "64", "-n", "640", "-p", str(body), "-T", "application/json"]
    told = subprocess.run([AB, *flags, url], capture_output=True, text=True, check=True).stdout
    found = {int(part) / 100: float(time) for part, time in re.findall(r"^ +(\d\d)% +(\d+)$", told, re.M)}
    return [found[part] for part in PERCENTILES]


def percentiles_of_ours(url: str) -> list[float]:
    latencies = measured(url, 9.0, connections=64).all_latencies
    return [latencies.percentile(part) for part in PERCENTILES]
