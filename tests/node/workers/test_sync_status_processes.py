"""Workers beside a process that follows: what a client sees of that process, and of its end."""

import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.node.workers.processes import wait_for_samples, wait_until, workers_of
from tests.node.workers.test_worker_process_group_pools import result, signed
from tests.node_process import PATIENCE, Node, run, started

pytestmark = pytest.mark.slow


@contextmanager
def pair(folder: Path, *options: str) -> Iterator[tuple[Node, Node]]:
    """Start a development chain of ours, and a node of two workers that follows it and has its head."""
    data = ("--data", str(folder / "dev"), "--listen", "127.0.0.1:0", "--quiet")
    with started("dev", *data, *options) as upstream, following(folder, upstream) as node:
        wait_until(lambda: readiness(node) == 200)
        yield upstream, node


@contextmanager
def following(folder: Path, upstream: Node) -> Iterator[Node]:
    ours = ("--data", str(folder / "ours"), "--genesis", str(folder / "dev" / "eth" / "genesis.json"))
    listening = ("--listen", "127.0.0.1:0", "--open", "--workers", "2")
    with (
        (folder / "log").open("a") as log,
        started("follow", *ours, "--upstream", upstream.socket_url, *listening, stderr=log) as node,
    ):
        yield node


def readiness(node: Node) -> int:
    try:
        with urllib.request.urlopen(node.bare(node.http_url) + "readyz", timeout=PATIENCE) as page:
            status: int = page.status
            return status
    except urllib.error.HTTPError as error:
        return error.code


def follower_of(node: Node) -> int:
    """Return the process that follows: the parent starts it before the workers."""
    return workers_of(node)[0]


def answer(client: ClientConnection, method: str, *params: object) -> Any:
    client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    return json.loads(client.recv(PATIENCE))


def come(client: ClientConnection, method: str, *params: object) -> Any:
    """Return a call's result, once it has one: on a busy machine a block may take more than one wait."""
    answers: list[Any] = []

    def has_result() -> bool:
        answers.append(answer(client, method, *params))
        return "result" in answers[-1]

    wait_until(has_result)
    return answers[-1]["result"]


def notification(client: ClientConnection) -> object:
    return json.loads(client.recv(PATIENCE))["params"]["result"]


def test_subscribers_of_all_workers_are_told_each_block_also_after_the_follower_was_killed(
    tmp_path: Path,
) -> None:
    with (
        pair(tmp_path) as (upstream, node),
        connect(upstream.socket_url) as maker,
        connect(node.socket_url) as one,
        connect(node.socket_url) as two,
    ):
        for client in (one, two):
            result(client, "eth_subscribe", "newHeads")
        for number in range(1, 4):
            result(maker, "evm_mine")
            assert [notification(client)["number"] for client in (one, two)] == [hex(number)] * 2  # type: ignore[index]
        victim = follower_of(node)
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: victim not in workers_of(node) and readiness(node) == 200)
        for number in range(4, 7):
            result(maker, "evm_mine")
            assert [notification(client)["number"] for client in (one, two)] == [hex(number)] * 2  # type: ignore[index]
        assert result(two, "net_peerCount") == "0x1"
        wait_until(lambda: result(two, "wsnode_status").get("state") == "live")  # type: ignore[attr-defined]


def test_a_transaction_is_pending_on_all_connections_whoever_has_it_first(tmp_path: Path) -> None:
    with (
        pair(tmp_path, "--block-time", "3600") as (upstream, node),
        connect(upstream.socket_url) as elsewhere,
        connect(node.socket_url) as one,
        connect(node.socket_url) as two,
    ):
        for client in (one, two):
            result(client, "eth_subscribe", "newPendingTransactions")
        with connect(node.socket_url) as sender:
            ours = result(sender, "eth_sendRawTransaction", signed(0))
        assert [notification(client) for client in (one, two)] == [ours] * 2
        assert result(elsewhere, "eth_getTransactionByHash", ours) is not None
        # Each is sent once: the message after it is that of the next transaction.
        for nonce in (1, 2):
            theirs = result(elsewhere, "eth_sendRawTransaction", signed(nonce))
            assert [notification(client) for client in (one, two)] == [theirs] * 2


def test_all_processes_are_replaced_and_go_on_following(tmp_path: Path) -> None:
    with (
        pair(tmp_path) as (upstream, node),
        connect(upstream.socket_url) as maker,
    ):
        before = set(workers_of(node))
        node.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: not before & set(workers_of(node)) and len(workers_of(node)) == 3)
        wait_until(lambda: readiness(node) == 200)
        with connect(node.socket_url) as client:
            result(client, "eth_subscribe", "newHeads")
            result(maker, "evm_mine")
            assert notification(client)["number"] == "0x1"  # type: ignore[index]
    ended = [line for line in (tmp_path / "log").read_text().splitlines() if "has ended" in line]
    assert ended
    assert not [line for line in ended if "WARNING" in line]


def test_what_one_process_answers_is_refused_with_workers(tmp_path: Path) -> None:
    light = ("--light", "--chain", "sepolia", "--upstream", "ws://127.0.0.1:1", "--workers", "2")
    ended = run("follow", "--data", str(tmp_path), *light)
    assert ended.returncode == 1
    assert "one process serves a light folder; set workers to 1" in ended.stderr
    driven = run("serve", "--data", str(tmp_path), "--engine", "127.0.0.1:0", "--workers", "2")
    assert "one process builds payloads" in driven.stderr


def test_workers_wait_for_blocks_that_the_process_that_follows_brings(tmp_path: Path) -> None:
    with (
        pair(tmp_path) as (upstream, node),
        connect(upstream.socket_url) as maker,
        connect(node.socket_url) as client,
    ):
        for number in range(1, 4):
            result(maker, "evm_mine")
            come(client, "wsnode_minBlock", str(number))
        follower = follower_of(node)
        os.kill(follower, signal.SIGSTOP)
        try:
            result(maker, "evm_mine")
            # What is known of others is what was said last: there is no block 4 anywhere.
            assert result(client, "eth_getBlockByNumber", "0x4", False) is None
            client.send(json.dumps({"jsonrpc": "2.0", "id": 9, "method": "wsnode_minBlock", "params": ["4"]}))
        finally:
            os.kill(follower, signal.SIGCONT)
        waited = json.loads(client.recv(PATIENCE))
        # The wait has an end, which the process that follows may sleep through.
        head = waited["result"] if "result" in waited else come(client, "wsnode_minBlock", "4")
        assert head["number"] == "0x4"
        with connect(upstream.socket_url) as heads:
            result(heads, "eth_subscribe", "newHeads")
            for _ in range(5):
                result(maker, "evm_mine")
                head = notification(heads)
                assert isinstance(head, dict)
                come(client, "wsnode_minBlock", f"{int(head['number'], 16)}:{head['hash']}")
                block = result(client, "eth_getBlockByHash", head["hash"], False)
                assert isinstance(block, dict)
                assert block["number"] == head["number"]


def test_a_process_that_follows_and_hangs_is_replaced(tmp_path: Path) -> None:
    with (
        pair(tmp_path) as (upstream, node),
        connect(upstream.socket_url) as maker,
        connect(node.socket_url) as client,
    ):
        stuck = follower_of(node)
        os.kill(stuck, signal.SIGSTOP)
        wait_until(lambda: readiness(node) == 503)
        request = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [signed(0)]}
        client.send(json.dumps(request))
        refused = json.loads(client.recv(PATIENCE))["error"]
        assert "the process that follows does not answer" in refused["message"]
        wait_until(lambda: stuck not in workers_of(node) and readiness(node) == 200)
        result(client, "eth_subscribe", "newHeads")
        result(maker, "evm_mine")
        assert notification(client)["number"] == "0x1"  # type: ignore[index]
        wait_for_samples(node, {"wsnode_workers_hung_total": 1})
    said = (tmp_path / "log").read_text()
    assert "the process that follows has not reported for 3 s: it is not asked" in said
    assert "the process that follows has not reported for 30 s and is ended" in said
