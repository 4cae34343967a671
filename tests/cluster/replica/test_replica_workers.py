"""`wsnode replica --workers 2`: what holds for one process that repeats a journal holds for all of a node."""

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect

from tests.cluster.redis_server import RedisServer, needs_redis
from tests.cluster.replica.test_replica_processes import (
    Asked,
    come_together,
    filled,
    is_behind,
    kept,
    leader,
    replica,
    replica_command,
    sent_into_a_block,
    status_of,
    taken,
    until,
)
from tests.node.workers.processes import command_of, samples, workers_of
from tests.node.workers.test_sync_status_processes import answer, come, follower_of, notification
from tests.node.workers.test_worker_process_group_pools import result
from tests.node_process import COMMAND, PATIENCE, Node, kept_address, run, started
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.primitives.values import BlockNumber, Hash32

pytestmark = [needs_redis, pytest.mark.slow]

WORKERS = ("--workers", "2")
MODULE = "wsnode.node.workers.serving.worker"
CLIENTS = 6
KILLS = 4
REORGS = 30


@contextmanager
def workers(redis: RedisServer, folder: Path, listen: str = "127.0.0.1:0") -> Iterator[Asked]:
    with replica(redis, folder, "replica", listen, *WORKERS) as copy:
        yield copy


class Client:
    """Takes logs by its cursor, on one connection after another, until it has those that there are."""

    def __init__(self, place: Asked) -> None:
        self._url = place.node.socket_url
        self.logs: list[Any] = []
        self.wanted: list[Any] | None = None
        self.connections = 0
        self.has_come = threading.Event()
        self.is_given_up = False
        self._options: dict[str, Any] = {"fromBlock": "earliest", "cursors": True}

    def run(self) -> None:
        while not self._is_done():
            # The node closes with 1012, or its process dies.
            with suppress(OSError, WebSocketException):
                self._listen()

    def _is_done(self) -> bool:
        return self.is_given_up or (self.wanted is not None and kept(self.logs) == self.wanted)

    def _listen(self) -> None:
        with connect(self._url, max_size=None) as connection:
            self.connections += 1
            params = ["logs", self._options]
            connection.send(
                json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": params})
            )
            while not self._is_done():
                with suppress(TimeoutError):
                    self._take(json.loads(connection.recv(1)))

    def _take(self, message: Any) -> None:
        if is_behind(message):
            # A worker that had no turn for seconds: the client comes again.
            raise ConnectionAbortedError
        assert "error" not in message, message
        if "params" in message:
            self.logs.append(message["params"]["result"])
            self._options = {"cursor": message["params"]["cursor"]}
        else:
            self.has_come.set()


def give_up(clients: list[Client]) -> None:
    """Have threads end, also those of a test that fails."""
    for client in clients:
        client.is_given_up = True


def test_clients_with_cursors_have_each_log_once_whichever_process_is_killed(
    redis: RedisServer, tmp_path: Path
) -> None:
    chance = random.Random(7)
    with ExitStack() as opened:
        writer = opened.enter_context(leader(redis, tmp_path))
        copy = opened.enter_context(workers(redis, tmp_path))
        threads = opened.enter_context(ThreadPoolExecutor())
        writer.work(0)
        come_together(writer, copy)
        clients = [Client(copy) for _ in range(CLIENTS)]
        runs = [threads.submit(client.run) for client in clients]
        opened.callback(give_up, clients)
        for kill in range(KILLS):
            assert all(client.has_come.wait(PATIENCE) for client in clients)
            processes = workers_of(copy.node)
            victim = chance.choice(processes[1:]) if kill % 2 else processes[0]
            os.kill(victim, signal.SIGKILL)
            writer("anvil_reorg", 2, [])
            writer.work(kill)
            until(lambda gone=victim: gone not in workers_of(copy.node))  # type: ignore[misc]
            come_together(writer, copy)
        wanted = writer("eth_getLogs", {"fromBlock": "earliest"})
        for client in clients:
            client.wanted = wanted
        for each in runs:
            each.result(PATIENCE)
        assert any(log["removed"] for client in clients for log in client.logs)
        # Those of the killed workers came back; the others kept their connections.
        assert sum(client.connections for client in clients) > CLIENTS
        assert copy("eth_getLogs", {"fromBlock": "earliest"}) == wanted
        assert status_of(copy)["replica"]["refused"] == 0
        until(lambda: samples(copy.node).get("wsnode_workers_ended_total", 0) >= KILLS)
    assert run("doctor", "--data", str(tmp_path / "replica")).returncode == 0


def test_what_a_replica_tells_of_itself_is_told_once_on_every_connection(
    redis: RedisServer, tmp_path: Path
) -> None:
    with leader(redis, tmp_path) as writer, workers(redis, tmp_path) as copy:
        writer.work(1)
        come_together(writer, copy)
        head = int(writer.stand[0], 16)
        with connect(copy.node.socket_url) as one, connect(copy.node.socket_url) as two:
            for client in (one, two):
                until(lambda client=client: is_told(client))  # type: ignore[misc]
                until(lambda client=client: result(client, "eth_syncing") is False)  # type: ignore[misc]

        def are_alike() -> bool:
            records = status_of(copy)["replica"]["records"]
            wanted = {"live": 1, "writer": 1, "tip": head, "records_total": records}
            named = {f'wsnode_replica_{name}{{network="replica"}}': value for name, value in wanted.items()}
            return named.items() <= samples(copy.node).items()

        # A process that has no turn for half a second reports later; a record is counted once it is stored.
        until(are_alike)
        redis.kill()
        until(lambda: not status_of(copy)["replica"]["reachable"])
        assert copy.stand == writer.stand
        until(lambda: copy.is_ready)


def is_told(client: ClientConnection) -> bool:
    """Return whether a connection says that the replica is live, and that its chain has a writer."""
    status: Any = result(client, "wsnode_status")
    standing = (status["mode"], status.get("state"), status.get("lag"))
    return standing == ("replica", "live", 0) and status["replica"]["writer"] is True


def test_a_block_that_the_writer_has_is_waited_for_by_every_worker_and_not_for_ever(
    redis: RedisServer, tmp_path: Path
) -> None:
    with ExitStack() as opened:
        writer = opened.enter_context(leader(redis, tmp_path))
        copy = opened.enter_context(workers(redis, tmp_path))
        clients = [opened.enter_context(connect(copy.node.socket_url)) for _ in range(2)]
        for number in range(1, 4):
            writer("evm_mine")
            for client in clients:
                come(client, "wsnode_minBlock", str(number))
                assert result(client, "eth_getBlockByNumber", hex(number), False) is not None
        process = follower_of(copy.node)
        os.kill(process, signal.SIGSTOP)
        try:
            writer("evm_mine")
            mined = writer("eth_getBlockByNumber", "0x4", False)["hash"]
            position = Position.after(Head(BlockNumber(4), Hash32(bytes.fromhex(mined[2:]))))
            subscription = ("eth_subscribe", "newHeads", {"cursor": str(position)})
            behind = [answer(client, *subscription)["error"] for client in clients]
        finally:
            os.kill(process, signal.SIGCONT)
        assert [(error["code"], error["data"]["behind"]) for error in behind] == [(-32001, True)] * 2
        for client in clients:
            come(client, *subscription)
        writer("evm_mine")
        head = writer("eth_getBlockByNumber", "0x5", False)["hash"]
        assert [notification(client)["hash"] for client in clients] == [head] * 2  # type: ignore[index]


def test_what_is_sent_to_one_worker_is_pending_on_all_until_no_block_can_hold_it(
    redis: RedisServer, tmp_path: Path
) -> None:
    with ExitStack() as opened:
        here, there = (opened.enter_context(kept_address()) for _ in range(2))
        writer = opened.enter_context(leader(redis, tmp_path, listen=here))
        writer("evm_setAutomine", False)
        copy = opened.enter_context(workers(redis, tmp_path, there))
        until(lambda: copy("net_peerCount") == "0x2")
        one, two = (opened.enter_context(connect(copy.node.socket_url)) for _ in range(2))
        for client in (one, two):
            result(client, "eth_subscribe", "newPendingTransactions")
        sent = taken(copy, writer("eth_signTransaction", filled(writer)))
        assert [notification(client) for client in (one, two)] == [sent] * 2
        assert writer("eth_getTransactionByHash", sent) is not None
        # Nothing but the id of the chain changes, without a block.
        writer("anvil_setChainId", 4242)
        for client in (one, two):
            until(lambda client=client: result(client, "eth_getTransactionByHash", sent) is None)  # type: ignore[misc]


def test_all_processes_are_replaced_and_a_filter_goes_on(redis: RedisServer, tmp_path: Path) -> None:
    with leader(redis, tmp_path) as writer, workers(redis, tmp_path) as copy:
        writer("evm_mine")
        come_together(writer, copy)
        filtered = answered(copy, "eth_newBlockFilter")
        before = set(workers_of(copy.node))
        with connect(copy.node.socket_url) as client:
            copy.node.process.send_signal(signal.SIGUSR1)
            with pytest.raises(ConnectionClosed) as closed:
                client.recv(PATIENCE)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012
        until(lambda: not before & set(workers_of(copy.node)) and len(workers_of(copy.node)) == 3)
        writer("evm_mine")
        come_together(writer, copy)
        assert answered(copy, "eth_getFilterChanges", filtered) == [
            writer("eth_getBlockByNumber", "0x2", False)["hash"]
        ]
        assert copy.node.stop() == 0


def answered(copy: Asked, method: str, *params: Any) -> Any:
    """Return a result, once a worker reaches the filters and has the block at which they stand."""
    answers: list[Any] = []

    def has_result() -> bool:
        answers.append(copy.answer(method, *params))
        return bool(answers[-1].get("result"))

    until(has_result)
    return answers[-1]["result"]


@pytest.mark.parametrize("moment", [0.4, 1.2], ids=lambda moment: f"after {moment} s")
def test_a_replica_whose_process_that_repeats_is_killed_while_it_starts_goes_on(
    redis: RedisServer, tmp_path: Path, moment: float
) -> None:
    with leader(redis, tmp_path) as writer:
        writer.work(1)
        # Once on a new folder, and once on the one that the first start has left.
        for _ in range(2):
            with killed_in_its_start(replica_command(redis, tmp_path, "copy"), moment) as copy:
                come_together(writer, copy)
            writer.work(2)
    assert run("doctor", "--data", str(tmp_path / "copy")).returncode == 0


@contextmanager
def killed_in_its_start(command: Sequence[str], moment: float) -> Iterator[Asked]:
    """Kill the first process that a node starts, some seconds later, and give the node once it is ready."""
    process = subprocess.Popen([*COMMAND, *command, *WORKERS], stdout=subprocess.PIPE, text=True)
    try:
        until(lambda: bool(replaced(process)))
        time.sleep(moment)
        os.kill(replaced(process)[0], signal.SIGKILL)
        assert process.stdout is not None
        line = next((line for line in process.stdout if line.startswith("ready ")), "")
        assert line, "the node ended before it was ready"
        yield Asked(Node(process, *line.split()[1:]))
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def replaced(process: subprocess.Popen[str]) -> list[int]:
    """Return the processes that a node replaces, the oldest first: while it starts, it may run others too."""
    children = workers_of(Node(process, "", ""))
    return [child for child in children if MODULE in command_of(child)]


def test_a_follower_with_workers_leads_also_after_its_process_that_follows_was_killed(
    redis: RedisServer, tmp_path: Path
) -> None:
    genesis = ("--genesis", str(tmp_path / "leader/eth/genesis.json"))
    with ExitStack() as opened:
        here, there = (opened.enter_context(kept_address()) for _ in range(2))
        dev = ("--data", str(tmp_path / "leader"), "--listen", "127.0.0.1:0", "--quiet")
        source = Asked(opened.enter_context(started("dev", *dev)))
        data = ("--data", str(tmp_path / "follower"), *genesis, "--upstream", source.node.socket_url)
        journal = ("--journal", redis.url, "--listen", here, "--open", *WORKERS)
        first = Asked(opened.enter_context(started("follow", *data, *journal)))
        copy = Asked(
            opened.enter_context(started(*replica_command(redis, tmp_path, "copy", there), *WORKERS))
        )
        source("evm_mine")
        come_together(source, copy)
        lease = 'wsnode_journal_lease{network="follower"}'
        # It hears later than the replica that its block is in the journal.
        until(lambda: (leads := status_of(first)["journal"])["leading"] and leads["lag"] == 0)
        until(lambda: samples(first.node).get(lease) == 1)
        status = status_of(first)["journal"]
        os.kill(follower_of(first.node), signal.SIGKILL)
        source("evm_mine")
        come_together(source, copy)
        assert status_of(first)["journal"]["epoch"] > status["epoch"]
        sent_into_a_block(copy, source)


class HeadWatcher:
    """Asks one connection for the head without a pause, and keeps each number and hash that it has seen."""

    def __init__(self, client: ClientConnection) -> None:
        self._client = client
        self.seen: set[tuple[str, str]] = set()
        self.over = threading.Event()

    def run(self) -> None:
        while True:
            block: Any = result(self._client, "eth_getBlockByNumber", "latest", False)
            self.seen.add((block["number"], block["hash"]))
            if self.over.is_set():
                return


def test_no_worker_sees_the_ancestor_of_a_reorganisation(redis: RedisServer, tmp_path: Path) -> None:
    with ExitStack() as opened:
        writer = opened.enter_context(leader(redis, tmp_path))
        copy = opened.enter_context(workers(redis, tmp_path))
        writer("anvil_mine", "0x5")
        come_together(writer, copy)
        clients = [opened.enter_context(connect(copy.node.socket_url)) for _ in range(2)]
        heads = {writer.stand[:2]}
        threads = opened.enter_context(ThreadPoolExecutor())
        watchers = [HeadWatcher(client) for client in clients]
        runs = [threads.submit(watcher.run) for watcher in watchers]
        for watcher in watchers:
            opened.callback(watcher.over.set)
        for number in range(REORGS):
            writer("anvil_reorg", 1 + number % 4, [])
            heads.add(writer.stand[:2])
        come_together(writer, copy)
        for watcher, run_of in zip(watchers, runs, strict=True):
            watcher.over.set()
            run_of.result(PATIENCE)
            assert watcher.seen <= heads
        assert status_of(copy)["replica"]["refused"] == 0
