"""The benchmarks against real nodes, as short as they can be."""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import table
from bench.lib.load import Load
from bench.lib.markdown import table_text
from bench.lib.nodes import Node as Measured
from tests.cluster.redis_server import needs_redis
from tests.node_process import Node, started
from tests.vector_files import CHECKOUT

MAX_RUN = 600
"""A measurement that takes more seconds hangs."""
SHORT = ("--seconds", "0.05", "--repeats", "1", "--idle", "0")


@pytest.fixture(scope="module")
def demo() -> Iterator[Node]:
    with started("demo", "--listen", "127.0.0.1:0") as node:
        yield node


def place(node: Node) -> str:
    return f"{node.bare(node.socket_url)}@{node.process.pid}"


def run(script: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"bench.{script}", *arguments],
        capture_output=True,
        text=True,
        timeout=MAX_RUN,
        check=False,
        cwd=CHECKOUT,
        env={**os.environ, **environment},
    )


def test_a_node_is_named_by_its_address_its_process_and_a_name() -> None:
    assert Measured.parse("one=ws://host:1/ws/v3/key@22") == ("one", "ws://host:1/ws/v3/key", 22)
    assert Measured.parse("ws://user@host:1/") == ("user@host:1", "ws://user@host:1/", None)
    with pytest.raises(argparse.ArgumentTypeError):
        Measured.parse("http://host:1/")


def test_the_table_names_ratios_and_what_is_missing() -> None:
    nodes = [Measured("one", "ws://a/", 1), Measured("other", "ws://b/", 2)]
    loads = [Load(2000, 1, 2, 0.01, 46, 0, 0), Load(1000, 3, 4, 0.04, 46, 0, 0)]
    text = table_text(nodes, [("cheap", loads), ("dear", [loads[0], None])], [5.0, 20.0])
    assert text.splitlines()[-3:] == [
        "| cheap | 46 | 10, 2,000, 1.00/2.00 | 40, 1,000, 3.00/4.00 | 0.25 |",
        "| dear | 46 | 10, 2,000, 1.00/2.00 | - | - |",
        "| idle connection |  | 5.0 KiB | 20.0 KiB | 0.25 |",
    ]


def test_the_median_of_several_runs_says_how_far_they_lie_apart() -> None:
    runs = [Load(1000 / cpu, 1, 2, cpu / 1000, 46, 0, 0) for cpu in (7, 5, 30)]
    found = table.median(runs)
    assert found is not None
    assert (found.cpu, found.spread) == (0.007, (0.005, 0.03))
    assert "7 (5-30), 143" in table_text([Measured("wsnode", "ws://a/", 1)], [("small", [found])], [None])


@pytest.mark.nightly
def test_every_case_of_the_table_is_answered(demo: Node) -> None:
    ended = run("table", place(demo), *SHORT, "--patterns", "8x16", "--idle", "20")
    # The first error of each case is printed.
    (error,) = map(json.loads, ended.stderr.splitlines())
    assert (ended.returncode, error["error"]["message"]) == (0, "execution reverted")
    lines = measured(ended)
    assert len(lines) == 22
    assert "20 idle: " in ended.stdout
    assert ["eth_call that reverts" in line for line in lines if "errors" in line] == [True]


@pytest.mark.nightly
def test_the_limit_of_each_case_is_what_it_takes_to_send_a_reply(demo: Node, tmp_path: Path) -> None:
    table = tmp_path / "table.md"
    wanted = ("--only", "eth_chainId 8x16,hashes,10,000 logs", "--patterns", "8x16", "--limit")
    ended = run("table", place(demo), *SHORT, *wanted, "--markdown", str(table))
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = measured(ended)
    sizes = [line.split(" B")[0].split()[-1] for line in lines]
    # Each second line is the limit's, with replies of the node's size.
    assert len(lines) >= 4
    assert sizes[::2] == sizes[1::2]
    assert all("limit" in line for line in lines[1::2])
    assert "limit CPU us" in table.read_text()


@pytest.mark.slow
def test_two_nodes_are_compared(demo: Node) -> None:
    nodes = [f"{name}={place(demo)}" for name in ("one", "other")]
    ended = run("table", *nodes, *SHORT, "--only", "eth_chainId 1x1,rare", "--beside")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [" one: " in line for line in measured(ended)] == [False, True] * 3
    beside = [line for line in ended.stdout.splitlines() if "another client meanwhile: p50 " in line]
    assert [line.split()[0] for line in beside] == ["one", "other"] * 3


@pytest.mark.nightly
def test_without_a_compiler_python_asks(demo: Node, tmp_path: Path) -> None:
    nowhere = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    ended = run("table", place(demo), *SHORT, "--only", "eth_blockNumber 1x16,receipt", **nowhere)
    assert ended.returncode == 0, ended.stderr
    assert "no C compiler" in ended.stderr
    assert len(measured(ended)) == 3


def measured(ended: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines with figures."""
    return [line for line in ended.stdout.splitlines() if "/s p50" in line]


@pytest.mark.slow
def test_subscribers_of_a_development_chain_are_counted() -> None:
    with started("dev", "--listen", "127.0.0.1:0") as node:
        many = ("--heads", "5", "--repeats", "3")
        ended = run("fan_out", f"one={place(node)}", "--only", "newHeads", *many)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count(" each of 100 ") == 3
    assert " of 3: last_p50 " in ended.stdout
    assert "missing" not in ended.stdout


@pytest.mark.slow
def test_the_worst_searches_are_measured_on_chains_of_two_lengths() -> None:
    ended = run("log_growth", "--blocks", "20,40", "--only", "never in one log", "--repeats", "1")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()[3:]
    names = ["two busy topics, never in one log", "four busy topics, never in one log"]
    assert [line[:38].rstrip() for line in lines] == [
        *(name for name in names for _length in (20, 40)),
        "another client's calls meanwhile, on t",
        *names,
    ]
    # An empty result, with the client's id, is 41 bytes long.
    assert all(line.endswith(" 41") for line in lines[:4])


@pytest.mark.nightly
def test_long_messages_are_timed_and_what_others_wait_meanwhile(demo: Node) -> None:
    sizes = ("--rounds", "2", "--megabytes", "0.5", "--slots", "2000")
    done = run("long_messages", f"one={place(demo)}", f"other={place(demo)}", *sizes)
    assert done.returncode == 0, done.stderr
    waits = r"\d+\.\d ms; another client waits \d+\.\d ms \(p99\), \d+\.\d at the most\n"
    for kind in ("0.5 MB of data", "2000 overridden slots", "0.5 MB that are no JSON"):
        lines = rf"{kind}, 0\.\d MB\n  one: {waits}  other: {waits}one / other: a message "
        assert re.search(lines, done.stdout), done.stdout


@pytest.mark.slow
def test_bursts_of_transactions_are_mined_whole() -> None:
    with started("dev", "--listen", "127.0.0.1:0") as node:
        ended = run("sending", f"one={place(node)}", "--senders", "3", "--repeats", "1")
    assert (ended.returncode, ended.stderr) == (0, "")
    first, figures, second, others = ended.stdout.splitlines()
    assert (first, second) == tuple(
        f"48 transactions of 3 senders, connections: {connections}" for connections in (1, 3)
    )
    for line in (figures, others):
        assert re.fullmatch(r" +one taken +[\d,]+/s, mined +[\d,]+/s, +[\d.]+ us CPU each, \d+ blocks", line)


@needs_redis
@pytest.mark.slow
def test_subscribers_are_spread_over_replicas() -> None:
    few = ("--subscribers", "20", "--replicas", "2", "--workers", "2", "--blocks", "3")
    ended = run("cluster.spread", *few)
    assert ended.returncode == 0, ended.stderr
    _first, _heading, _rule, alone, many, ratios, _load = ended.stdout.splitlines()
    for name, row in (("one process", alone), ("2 replicas of 2 workers", many)):
        assert row.startswith(f"| {name} |")
        assert row.endswith("| 0 missing, 0 cut off |")
    assert all(float(each) > 0 for each in ratios.split(" | ")[1:5])


@pytest.mark.nightly
def test_an_attack_on_a_development_chain_leaves_a_line_of_a_table() -> None:
    with started("dev", "--listen", "127.0.0.1:0") as node:
        ended = run("hostile", f"one={place(node)}", "--only", "pings", "--seconds", "3")
        assert node.process.poll() is None
    assert (ended.returncode, ended.stderr) == (0, "")
    name, heading, line, _empty, *table = ended.stdout.splitlines()
    assert table[-1].startswith("| pings | ")
    columns = dict(zip(heading.replace("sent MB", "sent").split(), line.split()[1:], strict=True))
    assert (name, line.split()[0]) == ("one", "pings")
    assert 0 < float(columns["p50"]) <= float(columns["p99"]) <= float(columns["longest"])
    assert (columns["errors"], columns["open"]) == ("0", "10")
    assert 0 < float(columns["before"]) <= float(columns["peak"])
    assert float(columns["sent"]) > 0


@pytest.mark.slow
def test_only_nodes_of_this_machine_are_attacked() -> None:
    for url in ("ws://192.0.2.1:8545/", "ws://node.example/", "wss://127.0.0.1:8545/"):
        ended = run("hostile", f"other={url}")
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "other: only nodes of this machine are attacked" in ended.stderr


@pytest.mark.slow
def test_values_are_held_by_subscription_and_by_polling() -> None:
    with started("dev", "--listen", "127.0.0.1:0") as node:
        few = ("--values", "20", "--connections", "2", "--changed", "4", "--blocks", "2")
        ended = run("live_queries", f"one={place(node)}", *few)
        beside = run("live_queries.beside", f"one={place(node)}", *few, "--subscribers", "2", "--rounds", "2")
        market = run("live_queries", f"one={place(node)}", *few, "--market")
    assert (ended.returncode, beside.returncode) == (0, 0), ended.stderr + beside.stderr
    found = re.findall(r"^ +one (\w+) +-?[\d.]+ ms of CPU a block", market.stdout, re.MULTILINE)
    assert found == ["unwatched", "calls", "eth_call"], market.stdout + market.stderr
    ratios = re.findall(r"^ +one (\w+) +ratio of p50: median [\d.]+", beside.stdout, re.MULTILINE)
    assert ratios == ["heads", "logs"], beside.stdout
    ways = re.findall(r"^ +one (\w+) +-?[\d.]+ ms of CPU a block", ended.stdout, re.MULTILINE)
    assert ways == ["unwatched", "state", "calls", "eth_getBalance", "eth_call"], ended.stdout
