"""Nodes of several processes, started by the real command line."""

import contextlib
import json
import os
import re
import select
import shlex
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import IO

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.node.workers.processes import (
    has_replaced,
    samples,
    samples_of,
    shares,
    skew,
    wait_for_samples,
    wait_until,
    workers_of,
)
from tests.node_process import COMMAND, PATIENCE, Node, post, run, started

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


@contextlib.contextmanager
def limited(folder: Path, data: Path, **limits: float) -> Iterator[Node]:
    """Serve with two workers and these limits."""
    file = folder / "wsnode.toml"
    lines = ['listen = "127.0.0.1:0"', "open = true", "workers = 2", "[networks.one]", f'data = "{data}"']
    file.write_text("\n".join([*lines, "[limits]", *(f"{name} = {each}" for name, each in limits.items())]))
    with started("serve", "--config", str(file)) as node:
        yield node


def ask(connection: ClientConnection) -> str:
    connection.send(BLOCK_NUMBER)
    return str(json.loads(connection.recv(PATIENCE))["result"])


def close_code(connection: ClientConnection) -> int | None:
    with pytest.raises(ConnectionClosed) as closed:
        connection.recv(PATIENCE)
    return None if closed.value.rcvd is None else closed.value.rcvd.code


def test_connections_are_shared_evenly_also_after_a_worker_was_killed(imported: Path) -> None:
    with node_of(imported, 4) as node, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connect(node.socket_url)) for _ in range(200)]
        before = shares(node)
        assert skew(before) <= 1.02
        victim = workers_of(node)[1]
        os.kill(victim, signal.SIGKILL)
        lost = 0
        for client in clients:
            try:
                assert ask(client) == "0x36"
            except ConnectionClosed:
                lost += 1
                assert ask(stack.enter_context(connect(node.socket_url, open_timeout=PATIENCE))) == "0x36"
                # The first comes back at once; for a new worker that is slow to start none would wait.
                wait_until(lambda: has_replaced(node, 4))
        assert lost == before[1]
        assert victim not in workers_of(node)
        assert skew(shares(node)) <= 1.05


def test_the_places_of_clients_that_left_are_given_again(imported: Path) -> None:
    with node_of(imported, 2) as node, contextlib.ExitStack() as stack:
        # It stays open: connections for each question would be given places too.
        asking = stack.enter_context(contextlib.closing(HTTPConnection(*address_of(node), timeout=PATIENCE)))
        assert connections_counted(page_on(asking)) == 1
        others = [stack.enter_context(connect(node.socket_url)) for _ in range(19)]
        for client in others[::2]:
            client.close()
        # The parent hears of it after the kernel.
        wait_until(lambda: connections_counted(page_on(asking)) == 10)
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
        assert node.process.wait(PATIENCE) == 0
        assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


@pytest.mark.parametrize("parent_first", [True, False])
def test_a_signal_to_all_processes_at_once_drains_them_as_one_to_the_parent(
    imported: Path, tmp_path: Path, *, parent_first: bool
) -> None:
    with limited(tmp_path, imported, drain_seconds=PATIENCE) as node:
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(connect(node.socket_url)) for _ in range(4)]
            # A call in flight keeps the workers draining.
            for client in clients:
                client.send(ENDLESS)
            wait_for_samples(node, {"wsnode_messages_total": 4})
            everybody = [node.process.pid, *workers_of(node)]
            for process in everybody if parent_first else reversed(everybody):
                os.kill(process, signal.SIGTERM)
            assert ["error" in json.loads(client.recv(PATIENCE)) for client in clients] == [True] * 4
            assert [close_code(client) for client in clients] == [1012] * 4
        assert node.process.wait(PATIENCE) == 0


def test_a_second_signal_ends_all_whatever_runs(imported: Path, tmp_path: Path) -> None:
    endless = {"call_seconds": 1000, "drain_seconds": 1000, "call_gas_blocks": 1_000_000}
    with limited(tmp_path, imported, **endless) as node:
        callers = [threading.Thread(target=call_and_forget, args=[node]) for _ in range(4)]
        for caller in callers:
            caller.start()
        wait_for_samples(node, {"wsnode_calls_in_flight": 4})
        node.process.send_signal(signal.SIGTERM)
        # Two signals at once would be one.
        wait_until(lambda: not accepts(node))
        node.process.send_signal(signal.SIGTERM)
        # The calls alone would keep it for a quarter of an hour.
        assert node.process.wait(PATIENCE) == 0
        for caller in callers:
            caller.join()


def accepts(node: Node) -> bool:
    """Return whether a node still takes connections."""
    try:
        with socket.create_connection(address_of(node)):
            return True
    except ConnectionRefusedError:
        return False


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
    # A line of the start names its worker by a field.
    assert "worker" not in log.read_text().replace(" worker=", "")


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
            clients = [stack.enter_context(connect(node.socket_url, open_timeout=PATIENCE)) for _ in range(4)]
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
            return [
                json.loads(client.recv(PATIENCE))["result"]["server"]["batch_items"] for client in clients
            ]

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


def test_a_worker_that_is_stuck_is_passed_by_and_then_replaced(imported: Path, tmp_path: Path) -> None:
    log, told = tmp_path / "log", ("--data", str(imported), "--listen", "127.0.0.1:0", "--open")
    with log.open("w") as stderr, started("serve", *told, "--workers", "2", stderr=stderr) as node:
        stuck, _other = workers_of(node)
        os.kill(stuck, signal.SIGSTOP)
        with contextlib.ExitStack() as stack:
            # It gets every other connection, and receives none; they are given to the other one.
            first = [stack.enter_context(socket.create_connection(address_of(node))) for _ in range(40)]
            answers_all(first)
            ready = {"wsnode_ready": 1.0}
            wait_for_samples(node, ready | {"wsnode_workers_silent": 1, "wsnode_workers_hung_total": 0})
            later = [stack.enter_context(socket.create_connection(address_of(node))) for _ in range(20)]
            answers_all(later)
            assert stuck in workers_of(node)
            wait_until(lambda: stuck not in workers_of(node) and has_replaced(node, 2))
            wait_for_samples(node, {"wsnode_workers_silent": 0, "wsnode_workers_hung_total": 1})
        assert "0x36" in post(node.bare(node.http_url), BLOCK_NUMBER)
    said = log.read_text()
    for line in (
        r"worker (\d) has not reported for 3 s: it gets no connections\n",
        r"worker (\d) has not reported for 30 s and is ended\n",
        r"Fatal Python error: Aborted\n",
        r'File ".*wsnode/node/workers/serving/worker.py", line \d+ in main\n',
        r"worker (\d) has ended \(-6\) and is replaced in 0.1 s\n",
    ):
        assert re.search(line, said), said


def test_connections_that_a_killed_worker_never_received_are_given_to_others(imported: Path) -> None:
    with node_of(imported, 2) as node:
        stuck, _other = workers_of(node)
        os.kill(stuck, signal.SIGSTOP)
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(socket.create_connection(address_of(node))) for _ in range(40)]
            os.kill(stuck, signal.SIGKILL)
            answers_all(clients)


def answers_all(clients: list[socket.socket]) -> None:
    """Send a request on each connection, and return once all are answered."""
    for client in clients:
        client.sendall(GET)
    wait_until(lambda: len(select.select(clients, [], [], 0)[0]) == len(clients))
    assert all(b"200 OK" in client.recv(4096) for client in clients)


def address_of(node: Node) -> tuple[str, int]:
    host, _colon, port = node.http_url.split("/v3/")[0].rpartition("/")[2].rpartition(":")
    return host, int(port)


def test_clients_without_a_file_wait_or_are_refused_and_are_not_counted_for_ever(
    imported: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with log.open("w") as stderr, node_with_files(64, imported, stderr) as node:
        with contextlib.ExitStack() as opened:
            clients = [opened.enter_context(socket.create_connection(address_of(node))) for _ in range(150)]
            answers = [answer_of(client) for client in clients]
        assert {answer[:12] for answer in answers} == {b"HTTP/1.1 200", b"HTTP/1.1 503"}
        wait_until(lambda: connections_counted(samples(node)) == 1)
    assert re.search(
        r"WARNING at most \d+ connections, not 20000: a process can have 64 open files", log.read_text()
    )
    assert "has ended" not in log.read_text()


@contextlib.contextmanager
def node_with_files(most: int, data: Path, stderr: IO[str]) -> Iterator[Node]:
    """Start a node of two workers whose processes may each have `most` open files."""
    told = ("serve", "--data", str(data), "--listen", "127.0.0.1:0", "--open", "--workers", "2")
    line = f"ulimit -n {most}; exec {shlex.join([*COMMAND, *told])}"
    with subprocess.Popen(["sh", "-c", line], stdout=subprocess.PIPE, stderr=stderr, text=True) as process:
        try:
            assert process.stdout is not None
            _ready, socket_url, http_url = process.stdout.readline().split()
            yield Node(process, socket_url, http_url)
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)


def answer_of(client: socket.socket) -> bytes:
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        client.sendall(GET)
    return client.recv(4096)


def connections_counted(page: dict[str, float]) -> float:
    """Return how many connections the parent counts, that of the question among them."""
    return sum(value for name, value in page.items() if name.startswith("wsnode_worker_connections{"))


def page_on(connection: HTTPConnection) -> dict[str, float]:
    """Return what the page of metrics says, over a connection that stays open."""
    connection.request("GET", "/metrics")
    return samples_of(connection.getresponse().read().decode())
