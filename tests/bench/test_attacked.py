"""Nodes under attack do not take the machine's memory, and what became of them stands in the table."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.attacked.keeping import Kept, guarding
from bench.attacked.rows import Row, Seen, table_text
from bench.lib.attackers import Outcome
from bench.lib.attacks import Attack
from bench.lib.nodes import Node, peak_bytes
from bench.lib.probe import Probe
from tests.bench.test_bench import run

MEBIBYTE = 2**20
GROWS = "import sys; kept = bytearray(200 << 20); print('grown', flush=True); sys.stdin.read()"
WAITS = "import sys; sys.stdin.read()"


@contextmanager
def program(text: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def node(text: str) -> Iterator[Node]:
    with program(text) as process:
        yield Node("one", "ws://127.0.0.1:9/", process.pid)


def test_a_process_is_killed_beyond_its_memory() -> None:
    with program(GROWS) as process, guarding(process.pid, 100 * MEBIBYTE) as guard:
        assert process.wait(60) == -signal.SIGKILL
    assert guard.has_killed


def test_a_process_within_its_memory_is_left_alone() -> None:
    with program(WAITS) as process:
        with guarding(process.pid, 1000 * MEBIBYTE) as guard:
            pass
        assert process.poll() is None
    assert not guard.has_killed


def test_a_node_that_was_killed_or_has_ended_begins_anew() -> None:
    with Kept("one", lambda: node(GROWS), 0.125) as kept:
        first = kept.node.process
        assert first is not None
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        assert kept.what_happened(ConnectionError("gone")) == "killed at 0.125 GiB"
        assert kept.begin_again()
        assert kept.node.process not in {None, first}
    with Kept("one", lambda: node("pass"), 1) as ended:
        assert ended.what_happened(ConnectionError("gone")) == "has ended or does not answer: gone"


def test_a_node_that_others_started_is_neither_killed_nor_begun() -> None:
    with program(WAITS) as process:
        with Kept.given(Node("one", "ws://127.0.0.1:9/", process.pid)) as kept:
            assert not kept.begin_again()
        assert process.poll() is None


def test_the_peak_of_a_process_that_has_ended_is_an_error() -> None:
    with program("pass") as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(ProcessLookupError, match=f"process {process.pid} has ended"):
            peak_bytes(process.pid)


def test_the_table_says_what_became_of_each_node() -> None:
    probe = Probe()
    probe.waits, probe.errors = [0.001, 0.001, 0.004], 2
    seen = Seen(10.0, 2_000.4, 20.0, None, was_stopped=False)
    rows = [Row("pings", (probe, seen, Outcome(1.0, 0, 10))), Row("filters", None, "killed at 6 GiB")]
    text = table_text(["pings", "filters", "held calls"], {"one": rows, "other": rows[1:]})
    assert text.splitlines()[2:] == [
        "| attack | one: p50/p99/longest ms, peak | other: p50/p99/longest ms, peak |",
        "| --- | --- | --- |",
        "| pings | 1.0/4.0/4.0, 2 errors, 2,000 MiB | killed at 6 GiB |",
        "| filters | killed at 6 GiB | - |",
        "| held calls | - | - |",
    ]


def test_a_node_that_grew_too_much_begins_anew_before_the_next_attack() -> None:
    calm = Seen(10.0, 200.0, 20.0, None, was_stopped=False)
    assert not Row("pings", (Probe(), calm, None)).is_worn
    assert Row("pings", (Probe(), calm._replace(was_stopped=True), None)).is_worn
    assert Row("pings", None, "killed at 6 GiB").is_worn


def test_connections_that_send_together_do_so_at_the_same_moments() -> None:
    assert [Attack(is_together=True).due_after(now, 3.0) for now in (9.0, 10.2, 11.9)] == [12.0] * 3
    assert Attack().due_after(10.25, 3.0) == 13.25


@pytest.mark.slow
def test_the_attack_after_one_that_killed_a_node_meets_a_new_one(tmp_path: Path) -> None:
    table = tmp_path / "table.md"
    alone = ("--geth", "no-geth", "--anvil", "no-anvil", "--markdown", str(table))
    attacks = ("--only", "large texts,connections", "--connections", "100", "--seconds", "2")
    ended = run("hostile", "--start", *alone, *attacks, "--memory-limit", "0.1")
    assert ended.returncode == 0, ended.stderr
    assert "| large texts | killed at 0.1 GiB |" in table.read_text()
    assert re.search(
        r"^\| connections \| \d+\.\d/\d+\.\d/\d+\.\d, \d+ MiB \|$", table.read_text(), re.MULTILINE
    )
    assert ended.stdout.endswith(f"\n\n{table.read_text()}")
