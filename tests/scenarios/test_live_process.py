"""Subscribers of a whole process: one that stops reading harms no other, and a kill loses no log."""

import json
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.node_process import PATIENCE, Node, post, started, until
from wsnode.server.limits import Limits

pytestmark = pytest.mark.slow

DEV = ("dev", "--listen", "127.0.0.1:0")
EMITTER = "0x" + "e0" * 20
LOG = "6120005fa0"
"""PUSH2 0x2000, PUSH0, LOG0: a log of 8 KiB, which are 16 in JSON."""
LOGS_PER_CALL = 32
CALLS = 36
QUICK = 3


def call(node: Node, method: str, *params: Any) -> Any:
    reply = post(node.http_url, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    return json.loads(reply)["result"]


def prepare(node: Node, logs_per_call: int) -> dict[str, str]:
    """Put a contract on the chain and return a transaction that calls it."""
    call(node, "anvil_setCode", EMITTER, f"0x{LOG * logs_per_call}")
    call(node, "evm_mine")
    return {"from": call(node, "eth_accounts")[0], "to": EMITTER, "gas": hex(3_000_000)}


def subscribe(connection: ClientConnection, **options: Any) -> None:
    params = ["logs", {"address": EMITTER, **options}]
    connection.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": params}))
    assert "result" in json.loads(connection.recv(PATIENCE))


def told(connection: ClientConnection) -> Iterator[dict[str, Any]]:
    while True:
        message = json.loads(connection.recv(PATIENCE))
        if "method" in message:
            yield message["params"]


def place_of(log: dict[str, Any]) -> tuple[str, int]:
    assert not log["removed"]
    return log["blockHash"], int(log["logIndex"], 16)


def places(connection: ClientConnection, count: int) -> list[tuple[str, int]]:
    """Return a number of logs, with no notice of missed ones."""
    messages = told(connection)
    return [place_of(next(messages)["result"]) for _ in range(count)]


def outbox_bytes(node: Node) -> float:
    with urllib.request.urlopen(node.bare(node.http_url) + "metrics", timeout=PATIENCE) as reply:
        lines = reply.read().decode().splitlines()
    (line,) = [line for line in lines if line.startswith("wsnode_outbox_bytes ")]
    return float(line.split()[1])


def open_client(node: Node) -> ClientConnection:
    # The zeros of these logs would be nothing compressed. Who stops reading sees no answer to a ping either.
    return connect(node.socket_url, max_size=None, compression=None, ping_interval=None)


def test_one_who_stops_reading_keeps_nobody_else_waiting_and_loses_nothing() -> None:
    budget = Limits().outbox_bytes
    # Nor does it answer the node's pings, which are no part of this.
    with started(*DEV, "--limit", "ping_seconds=3600") as node, ExitStack() as stack:
        transaction = prepare(node, LOGS_PER_CALL)
        clients = [stack.enter_context(open_client(node)) for _ in range(QUICK + 1)]
        for client in clients:
            subscribe(client, cursors=True)
        stalled, *quick = clients
        expected: list[tuple[str, int]] = []
        waiting = 0.0
        for _ in range(CALLS):
            call(node, "eth_sendTransaction", transaction)
            first, *others = [places(client, LOGS_PER_CALL) for client in quick]
            assert others == [first] * len(others)
            expected += first
            waiting = max(waiting, outbox_bytes(node))
        # Notices are sent whether there is room or not.
        assert budget / 2 < waiting < budget + 4096
        messages = told(stalled)
        seen: list[tuple[str, int]] = []
        while "error" not in (params := next(messages)):
            seen.append(place_of(params["result"]))
        assert params["error"]["code"] == -32005
        assert seen == expected[: len(seen)]
        # Both ways on: as the node goes on by itself, and from the cursor elsewhere.
        elsewhere = stack.enter_context(open_client(node))
        subscribe(elsewhere, cursor=params["error"]["data"]["cursor"])
        rest = expected[len(seen) :]
        assert places(elsewhere, len(rest)) == rest
        assert [place_of(next(messages)["result"]) for _ in rest] == rest
        until("nothing waits", lambda: outbox_bytes(node) == 0)


def test_a_killed_node_goes_on_for_its_subscriber(tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []
    cursor = None
    for sent in range(3):
        with started(*DEV, "--data", str(tmp_path)) as node:
            transaction = prepare(node, 2)
            with connect(node.socket_url) as traffic, connect(node.socket_url) as client:
                whole = {"fromBlock": "0x0", "cursors": True}
                subscribe(client, **(whole if cursor is None else {"cursor": cursor}))
                for number in range(60):
                    request = {"id": number, "method": "eth_sendTransaction", "params": [transaction]}
                    traffic.send(json.dumps({"jsonrpc": "2.0", **request}))
                messages = told(client)
                for count in range(1000):
                    if count == 20 + sent:
                        node.process.send_signal(signal.SIGKILL)
                    with suppress(ConnectionClosed):
                        params = next(messages)
                        cursor = params["cursor"]
                        seen.append(place_of(params["result"]))
                        continue
                    break
    with started(*DEV, "--data", str(tmp_path)) as node:
        logs = [place_of(log) for log in call(node, "eth_getLogs", {"fromBlock": "0x0", "address": EMITTER})]
        assert seen == logs[: len(seen)]
        assert len(seen) > 60
        with connect(node.socket_url) as client:
            subscribe(client, cursor=cursor)
            assert places(client, len(logs) - len(seen)) == logs[len(seen) :]
