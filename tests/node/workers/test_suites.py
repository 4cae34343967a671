"""Tests of one process, run again with two: what a client sees is the same."""

import os
import subprocess
import sys

import pytest

from tests.node_process import WORKERS, with_workers
from tests.vector_files import CHECKOUT

SUITES = (
    "tests/conformance/test_over_sockets.py",
    "tests/scenarios/test_live_import.py",
    "tests/starknet/live/test_processes.py",
    "tests/cli/test_verify.py",
    # What upstreams may do is the same with one process and with several.
    "tests/scenarios/test_following.py -k not(liar)",
    # What a replica repeats at any moment of its life is the same too.
    "tests/cluster/replica/test_processes.py -k not(any_moment)",
)


@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES)
def test_tests_of_one_process_pass_with_two_workers(suite: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "slow or not slow", *suite.split()]
    environment = {**os.environ, WORKERS: "2"}
    ended = subprocess.run(
        command, capture_output=True, text=True, cwd=CHECKOUT, env=environment, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stdout[-4000:]


def test_only_commands_that_serve_a_folder_get_workers() -> None:
    assert with_workers(("serve", "--data", "x"), "2") == ["serve", "--data", "x", "--workers", "2"]
    for each in ("follow", "replica"):
        assert with_workers((each,), "2") == [each, "--workers", "2"]
    for others in (
        ("dev",),
        ("follow", "--light"),
        ("serve", "--workers", "3"),
        ("serve", "--engine", "x"),
        ("serve", "--config", "y"),
    ):
        assert with_workers(others, "2") == others
    assert with_workers(("serve",), None) == ("serve",)
