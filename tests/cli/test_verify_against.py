"""`wsnode verify --against`: a node agrees with itself, and a liar is found out."""

import json
import re
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from xml.etree import ElementTree

import pytest

from tests.node_process import Node, post, run, started

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo() -> Iterator[Node]:
    # A block between two answers is a difference that is none.
    with started("demo", "--listen", "127.0.0.1:0", "--block-time", "100000", "--quiet") as node:
        yield node


@pytest.fixture
def liar(demo: Node) -> Iterator[str]:
    """Return the address of what repeats a node's answers, but not its balances."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            reply = post(demo.bare(demo.http_url), text)
            if "eth_getBalance" in text and "result" in reply:
                reply = json.dumps({"jsonrpc": "2.0", "id": 1, "result": "0x1"})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(reply.encode())

        def log_message(self, format: str, *args: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def against(first: str, second: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run("verify", first, "--against", second, *arguments)


def test_a_node_agrees_with_itself_over_both_transports(demo: Node) -> None:
    ended = against(demo.bare(demo.socket_url), demo.bare(demo.http_url), "--calls", "350", "--messages")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert re.search(r"^\d+ questions of \d+ methods$", ended.stdout, re.M)
    assert ended.stdout.splitlines()[-1].endswith(" passed, 0 failed")


def test_a_difference_is_shown_with_its_place(demo: Node, liar: str, tmp_path: Path) -> None:
    methods = ("--methods", "eth_getBalance,eth_chainId", "--junit", str(tmp_path / "junit.xml"))
    ended = against(demo.bare(demo.http_url), liar, "--calls", "20", *methods)
    assert ended.returncode == 1
    *lines, _count, last = ended.stdout.splitlines()
    assert all(line.startswith("FAIL eth_getBalance ") for line in lines)
    assert " at $.result: " in lines[0]
    assert last == "1 passed, 1 failed"
    cases = {case.get("name"): case for case in ElementTree.parse(tmp_path / "junit.xml").iter("testcase")}
    assert cases["eth_chainId"].find("failure") is None
    failure = cases["eth_getBalance"].find("failure")
    assert failure is not None
    assert " at $.result: " in str(failure.get("message"))


def test_what_an_expression_passes_over_is_no_difference(demo: Node, liar: str) -> None:
    flags = ("--calls", "10", "--methods", "eth_getBalance", "--except", "result")
    ended = against(demo.bare(demo.http_url), liar, *flags, "--json")
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["passed"], told["failed"]) == (0, 1, 0)
    (result,) = told["results"]
    assert (result["name"], result["group"], result["asked"]) == ("eth_getBalance", "against", 10)


def test_wrong_usage_and_other_chains_have_their_exit_status(demo: Node, served: Node) -> None:
    url = demo.bare(demo.http_url)
    assert run("verify", url).returncode == 2
    assert run("verify", url, "--against", url, "--methods", "eth_never").returncode == 2
    assert run("verify", url, "--against", "nowhere").returncode == 2
    ended = against(url, served.bare(served.http_url))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: the nodes have different chains: block 0 is 0x")
    ended = against(url, "http://127.0.0.1:1/")
    assert (ended.returncode, len(ended.stderr.splitlines())) == (1, 1)
