"""`wsnode status`, as an operator reads it."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import DEVNULL
from threading import Thread
from typing import Any

import pytest

from tests.node_process import run, started
from wsnode.cli.status.command import MAX_BYTES
from wsnode.cli.status.report import lines_of

PLACE = "redis://one:6379?network=alpha"
AWAY = f"the journal at {PLACE} cannot be reached: Connection refused"


@pytest.mark.parametrize(
    ("replica", "line"),
    [
        ({"reachable": True, "position": "17-42"}, f"journal: {PLACE}, followed up to record 17-42"),
        (
            {"reachable": True, "position": "17-42", "writer": False},
            f"journal: {PLACE}, followed up to record 17-42, and no process writes it now",
        ),
        ({"reachable": True, "position": None}, f"journal: {PLACE}, followed up to record none"),
        ({"reachable": False, "position": None}, f"journal: {PLACE} was not reached yet"),
        ({"reachable": False, "position": "17-42", "error": AWAY}, f"journal: {AWAY}"),
    ],
)
def test_a_replica_says_how_it_stands_to_its_journal(replica: dict[str, Any], line: str) -> None:
    status: dict[str, Any] = {
        "mode": "replica",
        "state": "live",
        "head": {"number": "0x10", "hash": "0xab"},
        "lag": 0,
        "upstreams": [],
        "replica": {"journal": PLACE, "writer": True, **replica},
    }
    assert lines_of(status) == ["replica, live: head 16 0xab, 0 blocks behind", line]


def test_a_node_that_is_not_there_is_one_line() -> None:
    ended = run("status", "http://127.0.0.1:1")
    assert (ended.returncode, ended.stderr.splitlines()) == (
        1,
        ["error: the node cannot be asked: http://127.0.0.1:1: Connection refused"],
    )


VERSION = "Geth/v1.17.10-stable/linux-amd64/go1.25.1"


class AnotherNode(BaseHTTPRequestHandler):
    """Answers with geth's words, or as a service that is no node."""

    is_node = True

    def do_POST(self) -> None:
        """Answer a call."""
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = {"result": VERSION}
        message = f"the method {told['method']} does not exist/is not available"
        unknown = {"error": {"code": -32601, "message": message}}
        answer = {"jsonrpc": "2.0", "id": told["id"]}
        answer |= known if told["method"] == "web3_clientVersion" else unknown
        body = json.dumps(answer if self.is_node else [1, 2]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_parts: object) -> None:
        """Say nothing."""


class NoNode(AnotherNode):
    """Answers with a list of numbers."""

    is_node = False


def answering(answer: bytes) -> type[BaseHTTPRequestHandler]:
    """Return a service that answers with these bytes, and ends the connection."""

    class Answering(AnotherNode):
        def do_POST(self) -> None:
            """Answer a call."""
            # What is unread when a socket is closed resets the connection, and the answer may be lost.
            self.rfile.read(int(self.headers["Content-Length"]))
            self.wfile.write(answer)
            self.close_connection = True

    return Answering


HEAD = b"HTTP/1.1 200 OK\r\n"
REDIRECT = b"HTTP/1.1 302 Found\r\nLocation: %b\r\n\r\n"
NOT_ASKED = "the node cannot be asked: "
TOO_LONG = b'"' + b"a" * (MAX_BYTES - 1) + b'"'


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        pytest.param(
            answering(b"garbage\r\n\r\n"),
            f"{NOT_ASKED}no HTTP reply: BadStatusLine('garbage\\r\\n')",
            id="no-http",
        ),
        pytest.param(
            answering(HEAD + b"X: " + b"a" * 100_000),
            f"{NOT_ASKED}no HTTP reply: LineTooLong('got more than 65536 bytes when reading header line')",
            id="long-head",
        ),
        pytest.param(
            answering(HEAD + b"X: a\r\n" * 300 + b"\r\n"),
            f"{NOT_ASKED}no HTTP reply: HTTPException('got more than 100 headers')",
            id="many-headers",
        ),
        pytest.param(
            answering(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
            f"{NOT_ASKED}no HTTP reply: IncompleteRead(0 bytes read)",
            id="bad-chunk",
        ),
        pytest.param(
            answering(HEAD + b"\r\n" + TOO_LONG[:MAX_BYTES]),
            "the answer is not JSON-RPC, so the URL is not a node's",
            id="at-bound",
        ),
        pytest.param(
            answering(HEAD + b"\r\n" + TOO_LONG),
            f"{NOT_ASKED}a reply has more than {MAX_BYTES} bytes",
            id="beyond-bound",
        ),
        pytest.param(
            answering(REDIRECT % b"http://[::1/"), "the node answers with HTTP 302", id="bad-redirect"
        ),
        pytest.param(
            answering(REDIRECT % b"http://127.0.0.1:1/"), "the node answers with HTTP 302", id="redirect"
        ),
        pytest.param(AnotherNode, f"the node is not wsnode but {VERSION}", id="another-node"),
        pytest.param(NoNode, "the answer is not JSON-RPC, so the URL is not a node's", id="no-node"),
    ],
)
def test_what_is_no_wsnode_is_one_line(kind: type[BaseHTTPRequestHandler], words: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        ended = run("status", f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert (ended.returncode, ended.stderr.splitlines()) == (1, [f"error: {words}"])


@pytest.mark.slow
def test_a_wrong_key_is_told_with_the_nodes_words(tmp_path: Path) -> None:
    with started("demo", "--data", str(tmp_path), "--listen", "127.0.0.1:0", "--quiet") as node:
        node.stop()
    with started("serve", "--data", str(tmp_path), "--listen", "127.0.0.1:0", stderr=DEVNULL) as node:
        ended = run("status", node.http_url.replace("<API_KEY>", "wrong"))
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: the node answers with HTTP 401: invalid API key; ")
