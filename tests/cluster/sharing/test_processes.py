"""Replicas with one key: what they admit together, while one is killed, and while Redis is away."""

import json
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.cluster.redis_server import RedisServer, needs_redis
from tests.node_process import PATIENCE, Node, post, run, started, until

pytestmark = [needs_redis, pytest.mark.slow]

CALL: Final = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
PER_SECOND: Final = 200
BURST: Final = 600
"""So many that no credits are lost while clients have no turn for some seconds."""
SECONDS: Final = 20
CREDITS: Final = 20


@contextmanager
def written(redis: RedisServer, folder: Path) -> Iterator[Path]:
    """Run the writer of a journal; give the genesis file of its chain."""
    told = ("--listen", "127.0.0.1:0", "--quiet", "--data", str(folder / "writer"), "--journal", redis.url)
    with started("dev", *told):
        yield folder / "writer/eth/genesis.json"


def new_key(folder: Path, name: str, *limits: str) -> str:
    return run("keys", "add", name, "--data", str(folder), *limits).stdout.split()[-1]


@contextmanager
def replica(redis: RedisServer, genesis: Path, keys: Path, folder: Path, *more: str) -> Iterator[Node]:
    """Run a replica with the keys of a folder; its log is beside its chain."""
    folder.mkdir()
    shutil.copy(keys / "keys.json", folder / "keys.json")
    told = ("--data", str(folder), "--genesis", str(genesis), "--journal", redis.url)
    with (
        (folder / "log").open("w") as log,
        started("replica", *told, "--listen", "127.0.0.1:0", *more, stderr=log) as node,
    ):
        yield node


def time_at(redis: RedisServer) -> float:
    _count, _size, seconds, _size, microseconds, _end = redis.ask("TIME").split(b"\r\n")
    return int(seconds) + int(microseconds) / 1e6


def count_at(redis: RedisServer) -> str:
    (name,) = (key for key in redis.ask("KEYS *").decode().split() if key.endswith(":quota"))
    return name


def is_admitted(url: str) -> bool:
    return "result" in json.loads(post(url, json.dumps(CALL)))


class Client:
    """Calls as fast as it can, until it is stopped and refused, or its node is gone."""

    def __init__(self, url: str, is_over: threading.Event) -> None:
        self._url = url
        self._is_over = is_over
        self.admitted = 0
        self.is_refused = False
        """Whether a call was refused so far: all that was saved up is spent."""

    def run(self) -> None:
        batch, has_all = json.dumps([CALL] * 10), False
        try:
            with connect(self._url) as connection:
                while not has_all:
                    is_last = self._is_over.is_set()
                    connection.send(batch)
                    admitted = sum("result" in each for each in json.loads(connection.recv(PATIENCE)))
                    self.admitted += admitted
                    self.is_refused |= admitted < 10
                    has_all = is_last and admitted < 10
        except ConnectionClosed:
            return


def begin_counting(redis: RedisServer, node: Node, key: str) -> None:
    """Return once a node has said in Redis what it spent."""

    def counts() -> bool:
        # What it spends before it can reach the others is its own affair.
        is_admitted(node.http_url.replace("<API_KEY>", key))
        return b":quota" in redis.ask("KEYS *")

    until("the node counts with the others", counts)
    redis.ask(f"DEL {count_at(redis)}")


def test_three_replicas_admit_the_rate_of_one_though_one_is_killed(
    redis: RedisServer, tmp_path: Path
) -> None:
    limits = ("--requests-per-second", str(PER_SECOND), "--burst", str(BURST))
    key = new_key(tmp_path / "keys", "bot", *limits)
    with written(redis, tmp_path) as genesis, ExitStack() as stack:
        copies = [
            stack.enter_context(replica(redis, genesis, tmp_path / "keys", tmp_path / name))
            for name in ("one", "two", "three")
        ]
        for copy in copies:
            begin_counting(redis, copy, key)
        is_over = threading.Event()
        clients = [Client(copy.socket_url.replace("<API_KEY>", key), is_over) for copy in copies]
        threads = [threading.Thread(target=client.run) for client in clients]
        began = time_at(redis)
        for thread in threads:
            thread.start()
        until("what was saved up is spent", lambda: all(client.is_refused for client in clients))
        spent_at = time_at(redis)
        is_over.wait(SECONDS / 3)
        assert copies[0].stop(signal.SIGKILL) == -signal.SIGKILL
        is_over.wait(SECONDS * 2 / 3)
        least = PER_SECOND * (time_at(redis) - spent_at)
        is_over.set()
        for thread in threads:
            thread.join()
        most = PER_SECOND * (time_at(redis) - began)
        admitted = sum(client.admitted for client in clients)
        # What was saved up, and what came back since it was spent. Each machine may spend what is saved up
        # before it hears of the others.
        assert BURST + 0.98 * least <= admitted <= 1.02 * most + BURST * len(copies), (admitted, least, most)
        assert all(client.admitted for client in clients), [each.admitted for each in clients]


def spend(url: str) -> int:
    """Return how many calls are admitted until one is refused."""
    return next(count for count in range(1000) if not is_admitted(url))


def test_without_redis_each_machine_counts_alone_and_with_it_they_agree_again(
    redis: RedisServer, tmp_path: Path
) -> None:
    # Of these credits none comes back while the test runs.
    limits = ("--requests-per-second", "0.00001", "--burst", str(CREDITS))
    keys = [new_key(tmp_path / "keys", name, *limits) for name in ("first", "second", "third")]
    with (
        written(redis, tmp_path) as genesis,
        replica(redis, genesis, tmp_path / "keys", tmp_path / "one") as one,
        replica(redis, genesis, tmp_path / "keys", tmp_path / "two", "--workers", "2") as two,
    ):

        def ask(node: Node, number: int) -> str:
            return node.http_url.replace("<API_KEY>", keys[number])

        assert spend(ask(one, 0)) == CREDITS
        until("the other machine refuses", lambda: not is_admitted(ask(two, 0)))
        redis.kill()
        for name in ("one", "two"):
            until("it is said", partial(has_said, tmp_path / name / "log", "by this machine alone"))
        assert spend(ask(one, 1)) == spend(ask(two, 1)) == CREDITS
        assert is_admitted(ask(one, 2))
        assert not is_admitted(ask(one, 0))
        redis.start()
        for name in ("one", "two"):
            until("it is said", partial(has_said, tmp_path / name / "log", "with the other nodes again"))
        for node in (one, two):
            assert spend(ask(node, 0)) == spend(ask(node, 1)) == 0
        assert spend(ask(one, 2)) == CREDITS - 1
        until("the other machine refuses", lambda: not is_admitted(ask(two, 2)))
        assert all(key.encode() not in redis.ask(f"ZRANGE {count_at(redis)} 0 -1") for key in keys)


def has_said(log: Path, text: str) -> bool:
    """Return whether that is what a node said last of how it counts."""
    said = [line for line in log.read_text().splitlines() if "the rates of keys are counted" in line]
    return bool(said) and text in said[-1]
