"""Percentiles of requests at a rate, against delays that are known.

No request of such a run waits for the reply to another. So a node that stands still for a time must show in
the percentiles as that time, whatever it does in the rest of the run.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.load.mix.delaying import PERCENTILES
from tests.load.mix.delaying_socket import STALLED_AT
from tests.load.mix.test_requests_over_http import FACTOR, REQUESTS, require_found
from tests.vector_files import CHECKOUT
from wsnode.load.mix.window import WARM_UP, LoadSettings, run_window

SECONDS = 10.0
STALL = 4.0
RATE = 200.0
PARTS = (0.7, 0.8, 0.9)


@contextmanager
def node(factor: int, stall: float) -> Iterator[str]:
    """Run a node of known delays, and return its address."""
    command = [sys.executable, "-m", "tests.load.mix.delaying_socket", str(factor), str(stall)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT) as process:
        assert process.stdout is not None
        yield f"ws://127.0.0.1:{int(process.stdout.readline())}"
        process.terminate()


@pytest.mark.nightly
def test_percentiles_are_those_of_the_delays() -> None:
    pattern = LoadSettings(connections=8, seconds=SECONDS, rate=100.0)
    with node(FACTOR, 0) as url:

        def found() -> list[float]:
            latencies = run_window(url, REQUESTS * 64, pattern).all_latencies
            return [latencies.percentile(part) for part in PERCENTILES]

        require_found([exact * FACTOR for exact in PERCENTILES.values()], found)


@pytest.mark.nightly
def test_a_node_that_stands_still_shows_in_the_percentiles() -> None:
    """Of the requests in `SECONDS` those in `STALL` wait, the first for all of it, the last for nothing."""
    pattern = LoadSettings(connections=8, seconds=SECONDS, rate=RATE)
    assert STALLED_AT / RATE > WARM_UP * SECONDS
    counted = SECONDS * (1 - WARM_UP)
    known = [1e3 * (STALL - (1 - part) * counted) for part in PARTS]

    def found() -> list[float]:
        with node(0, STALL) as url:
            latencies = run_window(url, REQUESTS * 64, pattern).all_latencies
        return [latencies.percentile(part) for part in PARTS]

    require_found(known, found)
