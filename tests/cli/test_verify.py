"""`wsnode verify` against a served chain, in processes of their own."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.node_process import Node, run
from tests.vector_files import require_vectors
from wsnode.verify.cases import read_cases

pytestmark = pytest.mark.slow

CHAIN = "eth_chainId"
UNKNOWN = ">> {}\n<< {}\n".format(
    '{"jsonrpc":"2.0","id":1,"method":"eth_never"}', '{"jsonrpc":"2.0","id":1,"result":null}'
)


@pytest.fixture(scope="module")
def cases() -> Path:
    return require_vectors("execution-apis/tests")


@pytest.fixture(scope="module", params=["served", pytest.param("served_by_workers", marks=pytest.mark.slow)])
def node(request: pytest.FixtureRequest) -> Node:
    node: Node = request.getfixturevalue(request.param)
    return node


@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_only_methods_that_the_node_does_not_have_fail(node: Node, cases: Path, scheme: str) -> None:
    url = node.bare(node.http_url if scheme == "http" else node.socket_url)
    ended = run("verify", url, str(cases))
    *lines, last = ended.stdout.splitlines()
    unknown = [line for line in lines if "over WebSocket and HTTP: the node has no method " in line]
    assert lines == unknown
    failed = {line.split()[1] for line in lines}
    assert last == f"{len(read_cases(cases)) - len(failed)} passed, {len(failed)} failed"
    assert (ended.returncode, ended.stderr) == (1 if failed else 0, "")


def test_a_case_of_an_unknown_method_fails_with_a_clear_line(node: Node, tmp_path: Path) -> None:
    (tmp_path / "never.io").write_text(UNKNOWN)
    ended = run("verify", node.bare(node.http_url), str(tmp_path))
    assert ended.returncode == 1
    assert ended.stdout.splitlines() == [
        "FAIL never over WebSocket and HTTP: the node has no method eth_never",
        "0 passed, 1 failed",
    ]


def test_the_keyed_addresses_are_derived(node: Node, cases: Path) -> None:
    for url in (node.socket_url, node.http_url):
        ended = run("verify", url, str(cases), "-k", CHAIN, "--messages")
        assert (ended.returncode, ended.stdout) == (0, "1 passed, 0 failed\n")


def test_a_node_that_is_not_there_fails_every_case(cases: Path) -> None:
    ended = run("verify", "http://127.0.0.1:1", str(cases), "-k", CHAIN)
    assert ended.returncode == 1
    assert ended.stdout.splitlines()[-1] == "0 passed, 1 failed"
    assert all(" no reply: " in line for line in ended.stdout.splitlines()[:-1])


def test_wrong_usage_and_wrong_files_have_their_exit_status(cases: Path, tmp_path: Path) -> None:
    assert run("verify", "node:8545", str(cases)).returncode == 2
    assert run("verify", "http://127.0.0.1:1", str(tmp_path)).returncode == 2
    assert run("verify", "http://127.0.0.1:1", str(tmp_path / "missing")).returncode == 2
    (tmp_path / "bad.io").write_text("hello\n")
    ended = run("verify", "http://127.0.0.1:1", str(tmp_path))
    assert (ended.returncode, ended.stdout) == (1, "")
    expected = "bad line 'hello': expected >> REQUEST, then << REPLY, or // COMMENT"
    assert ended.stderr == f"error: {tmp_path / 'bad.io'}: {expected}\n"


def test_results_are_written_for_other_programs(node: Node, tmp_path: Path) -> None:
    (tmp_path / "eth_never").mkdir()
    (tmp_path / "eth_never" / "never.io").write_text(UNKNOWN)
    xml = tmp_path / "junit.xml"
    ended = run("verify", node.bare(node.http_url), str(tmp_path), "--json", "--junit", str(xml))
    assert ended.returncode == 1
    told = json.loads(ended.stdout)
    assert (told["passed"], told["failed"]) == (0, 1)
    assert told["results"][0]["group"] == "eth_never"
    (case,) = ElementTree.parse(xml).iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("eth_never", "never")
