"""`bench.differential`: a node agrees with itself, and a liar is found out."""

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from tests.node_process import Node, post, started
from tests.vector_files import CHECKOUT


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


def differential(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.differential", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=CHECKOUT)


@pytest.mark.slow
def test_a_node_agrees_with_itself_over_both_transports(demo: Node) -> None:
    ended = differential(demo.bare(demo.socket_url), demo.bare(demo.http_url), "--calls", "350")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1].endswith(" 0 differences")


def test_a_difference_is_shown_with_its_place(demo: Node, liar: str) -> None:
    ended = differential(
        demo.bare(demo.http_url), liar, "--calls", "20", "--methods", "eth_getBalance,eth_chainId"
    )
    assert ended.returncode == 1
    assert "at $.result" in ended.stdout
    assert "eth_getBalance: " in ended.stdout
    assert "eth_chainId: " not in ended.stdout
