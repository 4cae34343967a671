"""What the workers of a real node count together."""

import json
import os
import shutil
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.node.workers.processes import has_replaced, wait_for_samples, wait_until, workers_of
from tests.node_process import PATIENCE, Node, run, started

pytestmark = pytest.mark.slow
CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
SUBSCRIBE = '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'
LIMITS = '{"jsonrpc":"2.0","id":1,"method":"rpc_limits","params":[]}'


@contextmanager
def keyed(imported: Path, folder: Path, *limits: str) -> Iterator[tuple[Node, str]]:
    """Start a node of two workers with one key; give the address of its WebSocket too."""
    data = folder / "data"
    shutil.copytree(imported, data)
    key = run("keys", "add", "bot", "--data", str(data), *limits).stdout.split()[-1]
    arguments = ("--data", str(data), "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
    with started("serve", *arguments, "--workers", "2") as node:
        yield node, node.socket_url.replace("<API_KEY>", key)


def reply(client: ClientConnection, text: str) -> dict[str, object]:
    client.send(text)
    found: dict[str, object] = json.loads(client.recv(PATIENCE))
    return found


def test_the_credits_of_a_key_are_for_all_workers(imported: Path, tmp_path: Path) -> None:
    limits = ("--requests-per-second", "0.001", "--burst", "50")
    with keyed(imported, tmp_path, *limits) as (_node, url), ExitStack() as stack:
        clients = [stack.enter_context(connect(url)) for _ in range(4)]
        replies = [reply(client, CALL) for _ in range(25) for client in clients]
        assert sum("result" in each for each in replies) == 50


def test_connections_and_subscriptions_of_a_key_are_counted_over_all_workers(
    imported: Path, tmp_path: Path
) -> None:
    limits = ("--connections", "4", "--subscriptions", "3")
    with keyed(imported, tmp_path, *limits) as (node, url), ExitStack() as stack:
        clients = [stack.enter_context(connect(url)) for _ in range(4)]
        with pytest.raises(InvalidStatus) as refused, connect(url):
            pass
        assert refused.value.response.status_code == 429
        replies = [reply(client, SUBSCRIBE) for client in clients]
        assert ["error" in each for each in replies] == [False, False, False, True]
        usage = json.loads(json.dumps(reply(clients[3], LIMITS)))["result"]["usage"]
        assert (usage["connections"], usage["subscriptions"]) == (4, 3)
        os.kill(workers_of(node)[0], signal.SIGKILL)
        left = [client for client in clients if is_open(client)]
        assert len(left) == 2

        def connections() -> int:
            found = json.loads(json.dumps(reply(left[0], LIMITS)))["result"]["usage"]["connections"]
            assert isinstance(found, int)
            return found

        wait_until(lambda: connections() == 2)
        for _ in range(2):
            stack.enter_context(connect(url, open_timeout=PATIENCE))
        assert connections() == 4


def is_open(client: ClientConnection) -> bool:
    try:
        return "result" in reply(client, CALL)
    except ConnectionClosed:
        return False


def test_metrics_are_the_sum_and_do_not_go_back(imported: Path) -> None:
    arguments = ("--data", str(imported), "--listen", "127.0.0.1:0", "--open", "--workers", "2")
    with started("serve", *arguments) as node, ExitStack() as stack:
        clients = [stack.enter_context(connect(node.socket_url)) for _ in range(6)]
        for client in clients * 5:
            assert "result" in reply(client, CALL)
        before = wait_for_samples(
            node, {"wsnode_messages_total": 30, "wsnode_websockets": 6, "wsnode_workers": 2}
        )
        assert before['wsnode_worker_connections{worker="1"}'] in (3, 4)
        os.kill(workers_of(node)[0], signal.SIGKILL)
        wait_until(lambda: has_replaced(node, 2))
        after = wait_for_samples(node, {"wsnode_messages_total": 30, "wsnode_websockets": 3})
        assert {
            name for name, value in before.items() if "_total" in name and after.get(name, 0) < value
        } == set()


def test_health_is_that_of_the_node(imported: Path) -> None:
    arguments = ("--data", str(imported), "--listen", "127.0.0.1:0", "--open", "--workers", "2")
    with started("serve", *arguments) as node:
        for page in ("healthz", "readyz", "healthz", "readyz"):
            with urllib.request.urlopen(node.bare(node.http_url) + page, timeout=PATIENCE) as found:
                assert found.status == 200


def test_limits_tell_what_a_worker_has_of_them(imported: Path) -> None:
    arguments = ("--data", str(imported), "--listen", "127.0.0.1:0", "--open", "--workers", "4")
    with started("serve", *arguments) as node, connect(node.socket_url) as client:
        found = json.loads(json.dumps(reply(client, LIMITS)))["result"]
        assert found["server"]["connections"] == 20_000
        assert found["workers"]["processes"] == 4
        assert found["workers"]["limits"]["connections"] == 5_000
        assert found["workers"]["limits"]["calls"] == 1024
        assert "batch_items" not in found["workers"]["limits"]


def test_any_worker_answers_a_poll_of_a_filter_also_after_its_maker_was_killed(
    imported: Path, tmp_path: Path
) -> None:
    shutil.copytree(imported, tmp_path / "data")
    arguments = ("--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--open", "--workers", "2")
    with (
        started("serve", *arguments) as node,
        connect(node.socket_url) as one,
        connect(node.socket_url) as two,
    ):
        made = reply(one, call("eth_newFilter", {"address": "0x" + "77" * 20}))["result"]
        assert reply(two, call("eth_getFilterChanges", made))["result"] == []
        assert reply(one, call("eth_getFilterChanges", made))["result"] == []
        for victim in workers_of(node):
            os.kill(victim, signal.SIGKILL)
            wait_until(partial(is_replaced, node, victim))
        with connect(node.socket_url, open_timeout=PATIENCE) as three:
            assert reply(three, call("eth_getFilterChanges", made))["result"] == []
            assert reply(three, call("eth_uninstallFilter", made))["result"] is True
            gone = reply(three, call("eth_getFilterChanges", made))["error"]
            assert gone == {"code": -32000, "message": "filter not found"}


def is_replaced(node: Node, worker: int) -> bool:
    living = workers_of(node)
    return worker not in living and len(living) == 2


def call(method: str, *params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
