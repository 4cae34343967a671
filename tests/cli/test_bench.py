"""`wsnode bench` against a served chain, in processes of their own."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node_process import COMMAND, PATIENCE, Node, run, started

pytestmark = pytest.mark.slow

SHORT = ("--seconds", "0.3", "--connections", "4", "--depth", "2")


@pytest.fixture(scope="module")
def node(imported: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node whose heavy calls end by their gas, however busy the machine is."""
    config = tmp_path_factory.mktemp("bench") / "wsnode.toml"
    config.write_text(
        f"listen = '127.0.0.1:0'\nopen = true\n[networks.one]\ndata = '{imported}'\n"
        f"[limits]\ncall_seconds = {PATIENCE}\n"
    )
    with started("serve", "--config", str(config)) as node:
        yield node


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


@pytest.mark.slow
def test_a_ramp_names_the_step_that_is_too_much(node: Node, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ramp = ("--ramp", "connections=1,4", "--p99-limit", "0.001", "--html", str(page))
    ended = run("bench", node.http_url, "--seconds", "0.3", *ramp)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "p99 over 0.001 ms: from 1 connection on" in ended.stdout
    assert "errors: in no step" in ended.stdout
    assert "By step" in page.read_text()


def test_intervals_have_what_the_nodes_process_takes(node: Node) -> None:
    watched = ("--intervals", "2", "--pid", str(node.process.pid))
    ended = run("bench", node.http_url, "--http", "--seconds", "1.2", "--json", *watched)
    assert (ended.returncode, ended.stderr) == (0, "")
    first, second = json.loads(ended.stdout)["nodes"][0]["intervals"]
    assert first["to"] == second["from"]
    assert second["memory_bytes"] > 1 << 20
    assert second["cpu_cores"] >= 0


@pytest.mark.parametrize(
    "options",
    [
        ("--ramp", "depth=1,2"),
        ("--ramp", "rate=1,2", "--intervals", "2"),
        ("--pid", "1", "--pid", "2"),
        ("--p99-limit", "nan"),
    ],
)
def test_wrong_options_are_refused_before_a_node_is_asked(options: tuple[str, ...]) -> None:
    assert run("bench", "ws://127.0.0.1:1", *options).returncode == 2


def test_an_absent_process_is_one_line() -> None:
    ended = run("bench", "ws://127.0.0.1:1", "--pid", str(2**22 + 1))
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert f"no process {2**22 + 1}" in ended.stderr


def test_too_few_open_files_are_one_line() -> None:
    command = f"ulimit -n 128; exec {' '.join(COMMAND)} bench ws://127.0.0.1:1 --connections 100"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == (
        "error: 100 connections need 164 open files and the limit is 128: raise it with `ulimit -n 164`\n"
    )


def test_the_help_names_each_kind() -> None:
    told = run("bench", "--help").stdout
    assert "wsnode bench [OPTIONS] URL" in told
    assert "--connections" in told
    for kind in ("mix", "lag", "storm", "replay"):
        assert re.search(rf"^  {kind} +", told, re.MULTILINE)
        assert run("bench", kind, "--help").returncode == 0


@pytest.mark.slow
def test_the_lag_of_a_development_node_is_measured_with_blocks_of_its_own(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    both = ("--subscribe", "newHeads", "--subscribe", "logs", "--logs", "7", "--subscribers", "5")
    with started("dev", "--quiet", "--listen", "127.0.0.1:0") as development:
        url = development.bare(development.http_url)
        ended = run("bench", "lag", url, *both, "--seconds", "0.5", "--json", "--html", str(page))
    assert (ended.returncode, ended.stderr) == (0, "")
    (found,) = json.loads(ended.stdout)["nodes"]
    assert found["made_by"] == "eth_sendTransaction"
    assert found["blocks"] > 0
    assert found["kinds"]["newHeads"]["heard"] == 5 * found["blocks"]
    assert found["kinds"]["logs"]["heard"] == 5 * 7 * found["blocks"]
    for kind in found["kinds"].values():
        assert (kind["missed"], kind["doubled"]) == (0, 0)
        assert kind["after_call"]["latency"]["p99"] >= 0
    assert "wsnode bench lag" in page.read_text()


@pytest.mark.slow
def test_a_served_chain_is_listened_to(node: Node) -> None:
    ended = run("bench", "lag", node.http_url, "--seconds", "0.1", "--subscribers", "2")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert re.search(r"^0 blocks in [\d.]+ s, made by others$", ended.stdout, re.MULTILINE)
    ended = run("bench", "lag", node.http_url, "--drive", "mine")
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: anvil_mine: ")


def test_a_storm_is_taken(node: Node) -> None:
    ended = run("bench", "storm", node.http_url, "--connections", "50", "--hold", "0.1")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "50 of 50 open and answered after " in ended.stdout
    assert "50 open after 0.1 s" in ended.stdout
    assert "failed" not in ended.stdout


@pytest.mark.slow
def test_a_file_is_replayed(node: Node, tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_text('{"method":"eth_chainId","params":[]}\nnonsense\n{"method":"eth_blockNumber"}\n')
    for more in ((), ("--http",)):
        ended = run("bench", "replay", node.http_url, str(file), *more)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert re.search(r"^eth_chainId +", ended.stdout, re.MULTILINE)
        assert "2 requests sent in " in ended.stdout
        assert "line 2: " in ended.stdout
    assert run("bench", "replay", node.http_url, str(tmp_path / "absent")).returncode == 2
    file.write_text("nonsense\n")
    ended = run("bench", "replay", node.http_url, str(file))
    assert ended.returncode == 1
    assert f"{file}: no request in 1 lines" in ended.stderr


@pytest.mark.parametrize("more", [(), ("--processes", "2")], ids=["alone", "two processes"])
def test_an_interruption_ends_the_run_and_its_results_are_printed(more: tuple[str, ...], node: Node) -> None:
    command = [*COMMAND, "bench", node.http_url, "--http", "--seconds", "600", "--intervals", "2", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("A  http://")
        process.send_signal(signal.SIGINT)
        lines, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (130, "")
    assert re.search(r"^all +", lines, re.MULTILINE)
    assert "intervals of time" in lines


@pytest.mark.slow
def test_a_node_that_stops_ends_the_run_with_its_results(imported: Path) -> None:
    with started("serve", "--data", str(imported), "--listen", "127.0.0.1:0", "--open") as stopping:
        command = [*COMMAND, "bench", stopping.http_url, "--seconds", "600"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("A  ws://")
            stopping.stop()
            lines, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert re.fullmatch(r"error: .+\n", errors)
    assert "Traceback" not in lines + errors
