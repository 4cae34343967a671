"""A transaction that one worker has taken is in the pools of all."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from eth_account import Account
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.node.workers.processes import shares, wait_until, workers_of
from tests.node_process import PATIENCE, Node, post, started
from wsnode.demo.accounts import ACCOUNTS

pytestmark = pytest.mark.slow
GWEI = 10**9


@contextmanager
def node_of(folder: Path) -> Iterator[Node]:
    """Serve a new development chain with two workers; nobody makes its blocks."""
    data = str(folder / "data")
    with started("dev", "--data", data, "--listen", "127.0.0.1:0"):
        pass
    with started("serve", "--data", data, "--listen", "127.0.0.1:0", "--open", "--workers", "2") as node:
        yield node


def signed(nonce: int) -> str:
    transaction = {
        "chainId": 31337,
        "nonce": nonce,
        "to": "0x" + "77" * 20,
        "value": 1,
        "gas": 21_000,
        "maxFeePerGas": 100 * GWEI,
        "maxPriorityFeePerGas": GWEI,
    }
    raw: bytes = Account.sign_transaction(transaction, ACCOUNTS[0].secret).raw_transaction
    return "0x" + raw.hex()


def result(client: ClientConnection, method: str, *params: object) -> object:
    client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    found = json.loads(client.recv(PATIENCE))
    assert "result" in found, found
    return found["result"]


def test_a_sender_finds_its_transaction_on_every_connection(tmp_path: Path) -> None:
    with node_of(tmp_path) as node, connect(node.socket_url) as one, connect(node.socket_url) as two:
        subscription = result(two, "eth_subscribe", "newPendingTransactions")
        for nonce in range(20):
            sent = result(one, "eth_sendRawTransaction", signed(nonce))
            told = json.loads(two.recv(PATIENCE))["params"]
            assert told == {"subscription": subscription, "result": sent}
            assert result(two, "eth_getTransactionByHash", sent) is not None
            assert result(two, "eth_getTransactionCount", f"0x{ACCOUNTS[0].address.hex()}", "pending") == hex(
                nonce + 1
            )
        assert (
            result(one, "txpool_status")
            == result(two, "txpool_status")
            == {"pending": "0x14", "queued": "0x0"}
        )


def test_a_worker_that_is_replaced_gets_what_the_others_have(tmp_path: Path) -> None:
    with node_of(tmp_path) as node:
        for nonce in range(3):
            body = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [signed(nonce)]}
            assert "result" in json.loads(post(node.bare(node.http_url), json.dumps(body)))
        for victim in workers_of(node):
            os.kill(victim, signal.SIGKILL)
            wait_until(partial(is_replaced, node, victim))
        with connect(node.socket_url) as one, connect(node.socket_url) as two:
            for client in (one, two):
                assert result(client, "txpool_status") == {"pending": "0x3", "queued": "0x0"}


def is_replaced(node: Node, victim: int) -> bool:
    """Return whether both workers serve, and know what was sent."""
    if victim in workers_of(node) or len(workers_of(node)) != 2:
        return False
    try:
        with (
            connect(node.socket_url, open_timeout=PATIENCE) as one,
            connect(node.socket_url, open_timeout=PATIENCE) as two,
        ):
            found = [result(client, "txpool_status") for client in (one, two)]
            # While one is being started, the other is given the connections of both.
            are_both = shares(node) == [1, 1]
    except (OSError, ConnectionClosed):
        return False
    return are_both and found == [{"pending": "0x3", "queued": "0x0"}] * 2
