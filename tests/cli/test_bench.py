"""`wsnode bench` against a served chain, in processes of their own."""

import json
import re
from pathlib import Path

import pytest

from tests.node_process import Node, run

SHORT = ("--seconds", "0.3", "--connections", "4", "--depth", "2")


@pytest.fixture(scope="module")
def node(served: Node) -> Node:
    return served


def test_a_node_is_measured_in_three_sections(node: Node) -> None:
    ended = run("bench", node.http_url, *SHORT)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert re.search(r"^all +[\d,]+( +\d+\.\d{3}){4} +0$", ended.stdout, re.MULTILINE)
    assert re.search(r"^same connection \(16 of 16 in ", ended.stdout, re.MULTILINE)
    assert re.search(r"^meanwhile \(", ended.stdout, re.MULTILINE)
    assert "heavy calls: -32000 out of gas" in ended.stdout
    assert "first error" not in ended.stdout


@pytest.mark.slow
def test_two_nodes_are_compared(node: Node) -> None:
    ended = run(
        "bench", node.socket_url, "--against", node.bare(node.socket_url), "--mix", "eth_chainId", *SHORT
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(re.findall(r"^  A / B +", ended.stdout, re.MULTILINE)) == 2 + 3 + 2


@pytest.mark.slow
def test_a_rate_is_kept(node: Node) -> None:
    ended = run("bench", node.bare(node.socket_url), "--rate", "200", *SHORT)
    (rate,) = re.findall(r"^all +(\d+)", ended.stdout, re.MULTILINE)
    assert 0 < int(rate) <= 250


def test_wrong_usage_and_an_absent_node_have_their_exit_status() -> None:
    assert run("bench", "node:8545").returncode == 2
    assert run("bench", "ws://127.0.0.1:1", "--mix", "eth_never").returncode == 2
    ended = run("bench", "ws://user:secret@127.0.0.1:1/ws/v3/secret")
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line == "error: ws://127.0.0.1:1: Connection refused"


@pytest.mark.slow
def test_a_measurement_over_http_is_told_as_json_and_as_a_page(node: Node, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ended = run("bench", node.http_url, *SHORT, "--http", "--processes", "2", "--json", "--html", str(page))
    assert (ended.returncode, ended.stderr) == (0, "")
    told = json.loads(ended.stdout)
    assert told["nodes"][0]["mix"]["replies"] > 0
    assert told["load"]["processes"] == 2
    assert "head_of_line" not in told["nodes"][0]
    assert page.read_text().startswith("<!doctype html>")
