"""Chains whose fork an old genesis does not schedule, followed by whole processes: said, and continued."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.ethereum.development.playground import ETHER, Playground, playground
from tests.node_process import Node, import_chain, started, until
from tests.scenarios.test_following import head, plain, readiness, result, status, websocket
from tests.vector_files import require_vectors
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import contracts_of, development_genesis
from wsnode.demo.run import begin
from wsnode.ethereum.networks.table import find_network

pytestmark = pytest.mark.slow

LAST_BEFORE = 9
"""Last block of the vectors before Amsterdam."""
SENTENCE = (
    "block 10 has header members of Amsterdam, which the genesis does not schedule by then. The head stays "
    "at the block before that fork; follow on with a genesis whose config.amsterdamTime is right"
)
SEPOLIA = find_network("sepolia")


def without_amsterdam(genesis: bytes) -> bytes:
    """Return a genesis as it was before the time of Amsterdam was known."""
    told = json.loads(genesis)
    del told["config"]["amsterdamTime"]
    told["config"].get("blobSchedule", {}).pop("amsterdam", None)
    return json.dumps(told).encode()


@pytest.mark.parametrize("is_light", [False, True], ids=["full", "light"])
def test_an_old_genesis_is_named_and_a_newer_one_continues_in_the_same_folder(
    tmp_path: Path, *, is_light: bool
) -> None:
    vectors = require_vectors("amsterdam")
    genesis, old = vectors / "genesis.json", tmp_path / "old.json"
    old.write_bytes(without_amsterdam(genesis.read_bytes()))
    assert import_chain(tmp_path / "theirs", genesis, [vectors / "chain.rlp.gz"]).returncode == 0
    serve = ("serve", "--data", str(tmp_path / "theirs"), "--listen", "127.0.0.1:0", "--open")
    with started(*serve) as source:
        first = result(plain(source), "eth_getBlockByNumber", "0x5", False)["hash"]
        options = ("--light", "--checkpoint", first) if is_light else ()
        follow = ("follow", "--data", str(tmp_path / "ours"), "--upstream", websocket(plain(source)))
        shared = (*follow, *options, "--listen", "127.0.0.1:0", "--open")
        log = tmp_path / "log"
        with log.open("w") as errors, started(*shared, "--genesis", str(old), stderr=errors) as node:
            until("the sentence", lambda: SENTENCE in readiness(node)[1])
            assert readiness(node)[0] == 503
            assert head(plain(node))[0] == LAST_BEFORE
            block = result(plain(node), "eth_getBlockByNumber", hex(LAST_BEFORE), True)
            assert block == result(plain(source), "eth_getBlockByNumber", hex(LAST_BEFORE), True)
            (upstream,) = status(node)["upstreams"]
            assert (upstream["state"], upstream["reason"]) == ("followed", SENTENCE)
        assert [SENTENCE in line for line in log.read_text().splitlines()].count(True) == 1
        with started(*shared, "--genesis", str(genesis)) as node:
            until("the head", lambda: head(plain(node)) == head(plain(source)))
            until("ready", lambda: readiness(node)[0] == 200)


def test_a_change_below_the_head_is_refused_with_the_fork_and_both_times(tmp_path: Path) -> None:
    vectors = require_vectors("amsterdam")
    genesis = vectors / "genesis.json"
    assert import_chain(tmp_path / "ours", genesis, [vectors / "chain.rlp.gz"]).returncode == 0
    (tmp_path / "old.json").write_bytes(without_amsterdam(genesis.read_bytes()))
    ended = import_chain(tmp_path / "ours", tmp_path / "old.json", [vectors / "chain.rlp.gz"])
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    time = json.loads(genesis.read_bytes())["config"]["amsterdamTime"]
    assert "amsterdamTime" in line
    assert str(time) in line


class Sepolia:
    """A chain of a few blocks around Sepolia's fork, in this process, that says that it is Sepolia."""

    def __init__(self, chain: Playground) -> None:
        self.chain = chain
        self.lock = threading.Lock()
        self.time = SEPOLIA.config["amsterdamTime"] - 12 * 8

    def grow(self, blocks: int) -> None:
        with self.lock:
            for _ in range(blocks):
                self.time += 12
                self.chain("evm_setNextBlockTimestamp", self.time)
                self.chain.send(gas="0x50000")

    def answer(self, call: dict[str, Any]) -> dict[str, Any]:
        method, params = call["method"], call.get("params", [])
        if method == "eth_getBlockByNumber" and params[0] == "0x0":
            members = {"number": "0x0", "hash": SEPOLIA.genesis_hash, "parentHash": "0x" + "00" * 32}
            return {"jsonrpc": "2.0", "id": call["id"], "result": members}
        return {**self.chain.raw(method, params), "id": call["id"]}

    def head(self) -> tuple[int, str]:
        with self.lock:
            block = self.chain.block()
            return int(block["number"], 16), block["hash"]


@contextmanager
def sepolia(folder: Path) -> Iterator[tuple[Sepolia, str]]:
    """Serve blocks that are none of Sepolia's, by its rules, at a URL."""
    time = SEPOLIA.config["amsterdamTime"] - 12 * 10
    text = development_genesis(
        [account.address for account in ACCOUNTS],
        1000 * ETHER,
        time,
        chain_id=SEPOLIA.config["chainId"],
        accounts=contracts_of("amsterdam"),
    )
    genesis = json.loads(text)
    forks = {name: SEPOLIA.config[name] for name in ("bpo1Time", "bpo2Time", "amsterdamTime", "blobSchedule")}
    genesis["config"] |= forks
    begin(folder, json.dumps(genesis).encode(), durable=False)
    with playground(folder) as chain:
        source = Sepolia(chain)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with source.lock:
                    calls = [source.answer(call) for call in (asked if isinstance(asked, list) else [asked])]
                body = msgspec.json.encode(calls if isinstance(asked, list) else calls[0])
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        with HTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                yield source, f"http://127.0.0.1:{server.server_address[1]}"
            finally:
                server.shutdown()
                thread.join()


@contextmanager
def earlier(*arguments: str) -> Iterator[Node]:
    """Start a command of the earlier version whose tree `WSNODE_EARLIER` names."""
    tree = os.environ["WSNODE_EARLIER"]
    environment = {**os.environ, "PYTHONPATH": tree}
    command = [sys.executable, "-m", "wsnode", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=tree) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith("ready "))
        _ready, socket_url, http_url = line.split()
        try:
            yield Node(process, socket_url, http_url)
        finally:
            process.terminate()


def test_a_light_folder_of_sepolia_that_is_older_than_its_fork_continues(tmp_path: Path) -> None:
    """With `WSNODE_EARLIER` that version makes the folder, else this one with the genesis of then."""
    old = tmp_path / "old.json"
    old.write_bytes(without_amsterdam(SEPOLIA.genesis))
    with sepolia(tmp_path / "theirs") as (source, url):
        source.grow(4)
        checkpoint = source.chain.block(2)["hash"]
        follow = ("follow", "--light", "--data", str(tmp_path / "ours"), "--upstream", url, "--agree", "1")
        shared = (*follow, "--checkpoint", checkpoint, "--listen", "127.0.0.1:0", "--open")
        chain = ("--chain", "sepolia")
        is_earlier = "WSNODE_EARLIER" in os.environ
        begun = earlier(*shared, *chain) if is_earlier else started(*shared, "--genesis", str(old))
        with begun as node:
            until("the head", lambda: head(plain(node)) == source.head())
            before = result(plain(node), "eth_getBlockByNumber", "latest", True)
        source.grow(8)
        with started(*shared, *chain) as node:
            until("the head", lambda: head(plain(node)) == source.head())
            assert result(plain(node), "eth_getBlockByNumber", before["number"], True) == before
            last = result(plain(node), "eth_getBlockByNumber", "latest", True)
            assert last["slotNumber"]
            config = result(plain(node), "eth_config")
            assert config["current"]["activationTime"] == SEPOLIA.config["amsterdamTime"]
            address = f"0x{ACCOUNTS[0].address.hex()}"
            with source.lock:
                balance = source.chain("eth_getBalance", address, "latest")
            assert result(plain(node), "eth_getBalance", address, "latest") == balance
