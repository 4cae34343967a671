"""Nodes of several processes, started by the real command line."""

import contextlib
import json
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.node.workers.processes import has_replaced, shares, skew, wait_until, workers_of
from tests.node_process import Node, post, run, started

pytestmark = pytest.mark.slow
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
BLOCK_NUMBER = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
ENDLESS = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "eth_call",
        "params": [{"to": "0x" + "77" * 20}, "latest", {"0x" + "77" * 20: {"code": "0x5b600056"}}],
    }
)


@contextlib.contextmanager
def node_of(data: Path, workers: int, *options: str) -> Iterator[Node]:
    arguments = ("serve", "--data", str(data), "--listen", "127.0.0.1:0", "--open")
    with started(*arguments, "--workers", str(workers), *options) as node:
        yield node


def ask(connection: ClientConnection) -> str:
    connection.send(BLOCK_NUMBER)
    return str(json.loads(connection.recv(30))["result"])


def close_code(connection: ClientConnection) -> int | None:
    with pytest.raises(ConnectionClosed) as closed:
        connection.recv(60)
    return None if closed.value.rcvd is None else closed.value.rcvd.code


def test_connections_are_shared_evenly_also_after_a_worker_was_killed(imported: Path) -> None:
    with node_of(imported, 4) as node, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connect(node.socket_url)) for _ in range(200)]
        assert skew(shares(node)) <= 1.02
        victim = workers_of(node)[1]
        os.kill(victim, signal.SIGKILL)
        lost = 0
        for client in clients:
            try:
                assert ask(client) == "0x36"
            except ConnectionClosed:
                lost += 1
                assert ask(stack.enter_context(connect(node.socket_url, open_timeout=60))) == "0x36"
                # The first comes back at once; for a new worker that is slow to start none would wait.
                wait_until(lambda: has_replaced(node, 4))
        assert lost == 50
        assert victim not in workers_of(node)
        assert skew(shares(node)) <= 1.05


def test_the_places_of_clients_that_left_are_given_again(imported: Path) -> None:
    with node_of(imported, 2) as node, contextlib.ExitStack() as stack:
        first = [stack.enter_context(connect(node.socket_url)) for _ in range(20)]
        for client in first[::2]:
            client.close()
        wait_until(lambda: sum(shares(node)) == 10)
        assert sorted(shares(node)) == [0, 10]
        for _ in range(10):
            stack.enter_context(connect(node.socket_url))
        assert shares(node) == [10, 10]


def test_the_end_of_the_node_closes_every_client_with_1012(imported: Path) -> None:
    with node_of(imported, 2) as node:
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(connect(node.socket_url)) for _ in range(4)]
            assert [ask(client) for client in clients] == ["0x36"] * 4
            workers = workers_of(node)
            node.process.send_signal(signal.SIGTERM)
            assert [close_code(client) for client in clients] == [1012] * 4
        assert node.process.wait(60) == 0
        assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


@pytest.mark.parametrize("parent_first", [True, False])
def test_a_signal_to_all_processes_at_once_drains_them_as_one_to_the_parent(
    imported: Path, *, parent_first: bool
) -> None:
    with node_of(imported, 2) as node:
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(connect(node.socket_url)) for _ in range(4)]
            # A call in flight keeps the workers draining.
            for client in clients:
                client.send(ENDLESS)
            wait_until(lambda: sum(shares(node)) == 4)
            everybody = [node.process.pid, *workers_of(node)]
            for process in everybody if parent_first else reversed(everybody):
                os.kill(process, signal.SIGTERM)
            assert ["error" in json.loads(client.recv(60)) for client in clients] == [True] * 4
            assert [close_code(client) for client in clients] == [1012] * 4
        assert node.process.wait(60) == 0


def test_a_second_signal_ends_all_whatever_runs(imported: Path) -> None:
    with node_of(imported, 2) as node:
        callers = [threading.Thread(target=call_and_forget, args=[node]) for _ in range(4)]
        for caller in callers:
            caller.start()
        wait_until(lambda: sum(shares(node)) == 4)
        node.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        began = time.monotonic()
        node.process.send_signal(signal.SIGTERM)
        assert node.process.wait(60) == 0
        # The calls alone would keep it for five seconds.
        assert time.monotonic() - began < 4
        for caller in callers:
            caller.join()


def call_and_forget(node: Node) -> None:
    with contextlib.suppress(OSError, json.JSONDecodeError):
        post(node.bare(node.http_url), ENDLESS)


def test_workers_are_replaced_one_by_one_while_clients_call(imported: Path) -> None:
    with node_of(imported, 2) as node, connect(node.socket_url) as stays:
        before = workers_of(node)
        failures, stop = list[str](), threading.Event()

        def call() -> None:
            while not stop.is_set():
                try:
                    if "0x36" not in (reply := post(node.bare(node.http_url), BLOCK_NUMBER)):
                        failures.append(reply)
                except OSError as error:
                    failures.append(repr(error))

        caller = threading.Thread(target=call)
        caller.start()
        try:
            node.process.send_signal(signal.SIGUSR1)
            assert close_code(stays) == 1012
            wait_until(lambda: len(workers_of(node)) == 2 and not set(before) & set(workers_of(node)))
        finally:
            stop.set()
            caller.join()
        assert failures == []


def test_a_node_that_ends_replaces_no_more_workers(imported: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    options = ("--data", str(imported), "--listen", "127.0.0.1:0", "--open", "--workers", "3")
    with log.open("w") as stderr, started("serve", *options, stderr=stderr) as node:
        node.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: len(workers_of(node)) == 4)
        assert node.stop() == 0
    assert "worker" not in log.read_text()


def test_workers_of_a_killed_parent_say_goodbye_and_end(imported: Path) -> None:
    with node_of(imported, 2) as node, connect(node.socket_url) as client:
        workers = workers_of(node)
        node.process.kill()
        assert close_code(client) == 1012
        wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def test_a_worker_that_is_told_to_end_is_replaced(imported: Path) -> None:
    with node_of(imported, 2) as node:
        one, other = workers_of(node)
        os.kill(one, signal.SIGTERM)
        wait_until(lambda: one not in workers_of(node) and len(workers_of(node)) == 2)
        assert other in workers_of(node)
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(connect(node.socket_url, open_timeout=60)) for _ in range(4)]
            assert [ask(client) for client in clients] == ["0x36"] * 4


def test_all_workers_take_over_what_is_read_again(imported: Path, tmp_path: Path) -> None:
    file, limits = tmp_path / "wsnode.toml", '{"jsonrpc":"2.0","id":1,"method":"rpc_limits","params":[]}'
    settings = 'listen = "127.0.0.1:0"\nopen = true\nworkers = 2\n[networks.one]\ndata = "{}"\n[limits]\n{}\n'
    file.write_text(settings.format(imported, "batch_items = 10"))
    with started("serve", "--config", str(file)) as node, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connect(node.socket_url)) for _ in range(2)]

        def items() -> list[int]:
            for client in clients:
                client.send(limits)
            return [json.loads(client.recv(30))["result"]["server"]["batch_items"] for client in clients]

        assert items() == [10, 10]
        file.write_text(settings.format(imported, "batch_items = 20"))
        node.process.send_signal(signal.SIGHUP)
        wait_until(lambda: items() == [20, 20])


def test_a_folder_without_a_chain_is_one_line(tmp_path: Path) -> None:
    ended = run("serve", "--data", str(tmp_path), "--listen", "127.0.0.1:0", "--workers", "3")
    assert ended.returncode == 1
    assert ended.stderr == f"error: {tmp_path} holds no chain: `wsnode import` makes one\n"


@pytest.mark.parametrize("command", ["dev", "demo"])
def test_the_process_that_writes_a_chain_is_one(command: str) -> None:
    ended = run(command, "--workers", "2")
    assert ended.returncode == 2
    assert "--workers: the process that writes a chain is one" in ended.stderr


def test_clients_of_other_workers_do_not_notice_one_that_is_stuck(imported: Path) -> None:
    with node_of(imported, 2) as node:
        stuck, _other = workers_of(node)
        os.kill(stuck, signal.SIGSTOP)
        try:
            with contextlib.ExitStack() as stack:
                # The stuck one gets every other connection, until its socket is full; only the others answer.
                clients = [stack.enter_context(socket.create_connection(address_of(node))) for _ in range(40)]
                for client in clients:
                    client.sendall(GET)
                served = select.select(clients, [], [], 5)[0]
                wait_until(lambda: len(select.select(clients, [], [], 0)[0]) == 20)
                assert served
                os.kill(stuck, signal.SIGKILL)
                # Those that it never received are given to others.
                wait_until(lambda: len(select.select(clients, [], [], 0)[0]) == 40)
                assert all(b"200 OK" in client.recv(4096) for client in clients)
                assert stuck not in workers_of(node)
            assert "0x36" in post(node.bare(node.http_url), BLOCK_NUMBER)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(stuck, signal.SIGCONT)


def address_of(node: Node) -> tuple[str, int]:
    host, _colon, port = node.http_url.split("/v3/")[0].rpartition("/")[2].rpartition(":")
    return host, int(port)
