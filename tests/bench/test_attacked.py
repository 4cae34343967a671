"""Nodes under attack do not take the machine's memory, and what became of them stands in the table."""

import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.attacked.keeping import Kept, guarding
from bench.attacked.probe import Probe, Span
from bench.attacked.rows import Row, Seen, table_text
from bench.attacked.stalls import Stalls, covered, watching_cores
from bench.lib.attackers import Outcome
from bench.lib.attacks import Attack
from bench.lib.nodes import Node, peak_bytes
from tests.bench.test_bench import run

MEBIBYTE = 2**20
GROWS = "import sys; kept = bytearray(200 << 20); print('grown', flush=True); sys.stdin.read()"
WAITS = "import sys; sys.stdin.read()"
NOT_PERMITTED = 77
HOLDS_A_CORE = f"""
import os, sys, time
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO) + 1))
except PermissionError:
    sys.exit({NOT_PERMITTED})
end = time.process_time() + 0.2
while time.process_time() < end:
    pass
"""


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


@pytest.mark.parametrize(("stalled", "said"), [(float("nan"), ""), (3.9, ""), (12.34, " (stalled 12.3)")])
def test_the_table_says_what_became_of_each_node(stalled: float, said: str) -> None:
    probe = Probe()
    probe.waits, probe.errors = [0.001, 0.001, 0.004], 2
    seen = Seen(10.0, 2_000.4, 20.0, None, was_stopped=False, stalled=stalled)
    rows = [Row("pings", (probe, seen, Outcome(1.0, 0, 10))), Row("filters", None, "killed at 6 GiB")]
    heading = "p50/p99/longest ms, memory before and at most"
    text = table_text(["pings", "filters", "held calls"], {"one": rows, "other": rows[1:]})
    assert text.splitlines()[2:] == [
        f"| attack | one: {heading} | other: {heading} |",
        "| --- | --- | --- |",
        f"| pings | 1.0/4.0/4.0{said}, 2 errors, 10 to 2,000 MiB | killed at 6 GiB |",
        "| filters | killed at 6 GiB | - |",
        "| held calls | - | - |",
    ]


def test_a_node_that_grew_too_much_begins_anew_before_the_next_attack() -> None:
    calm = Seen(10.0, 200.0, 20.0, None, was_stopped=False, stalled=0.0)
    assert not Row("pings", (Probe(), calm, None)).is_worn
    assert Row("pings", (Probe(), calm._replace(was_stopped=True), None)).is_worn
    assert Row("pings", None, "killed at 6 GiB").is_worn


def test_the_longest_wait_is_where_stalls_are_looked_for() -> None:
    probe = Probe()
    probe.waits, probe.begins = [0.5, 2.0, 1.0], [10.0, 20.0, 30.0]
    assert probe.longest() == Span(20.0, 22.0)


@pytest.mark.parametrize(
    ("parts", "seconds"),
    [
        ([], 0.0),
        ([(1.0, 9.0)], 0.0),
        ([(9.0, 11.0), (19.0, 30.0)], 2.0),
        ([(12.0, 14.0), (11.0, 13.0), (11.5, 12.5)], 3.0),
        ([(0.0, 99.0), (12.0, 13.0)], 10.0),
    ],
)
def test_times_in_which_two_cores_stood_still_count_once(
    parts: list[tuple[float, float]], seconds: float
) -> None:
    assert covered(Span(10.0, 20.0), [Span(*part) for part in parts]) == seconds


def test_a_stall_is_unknown_before_cores_were_watched() -> None:
    assert math.isnan(Stalls().within(Span(0.0, 1.0)))


def test_a_core_stands_still_for_its_watcher_while_another_program_with_precedence_has_it() -> None:
    begin = time.perf_counter()
    with watching_cores() as stalls, program(HOLDS_A_CORE) as holder:
        if holder.wait() == NOT_PERMITTED:
            pytest.skip("this user may not give a process precedence")
    assert holder.returncode == 0
    assert stalls.within(Span(begin, time.perf_counter())) > 0.1


def test_connections_that_send_together_do_so_at_the_same_moments() -> None:
    assert [Attack(is_together=True).due_after(now, 3.0) for now in (9.0, 10.2, 11.9)] == [12.0] * 3
    assert Attack().due_after(10.25, 3.0) == 13.25


@pytest.mark.nightly  # Large texts reach the limit in time only where the attack has a core of its own.
def test_the_attack_after_one_that_killed_a_node_meets_a_new_one(tmp_path: Path) -> None:
    table = tmp_path / "table.md"
    alone = ("--geth", "no-geth", "--anvil", "no-anvil", "--markdown", str(table))
    attacks = ("--only", "large texts,connections", "--connections", "100", "--seconds", "2")
    ended = run("hostile", "--start", *alone, *attacks, "--memory-limit", "0.1")
    assert ended.returncode == 0, ended.stderr
    assert "| large texts | killed at 0.1 GiB |" in table.read_text()
    assert re.search(
        r"^\| connections \| \d+\.\d/\d+\.\d/\d+\.\d, \d+ to \d+ MiB \|$", table.read_text(), re.MULTILINE
    )
    assert ended.stdout.endswith(f"\n\n{table.read_text()}")
