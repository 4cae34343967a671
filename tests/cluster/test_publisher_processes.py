"""`wsnode dev --journal`: whatever is done to it or to its Redis, a reader comes to stand as it does."""

import json
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import msgspec
import pytest
import trio

from tests.cluster.reading import Reading
from tests.cluster.redis_server import RedisServer, needs_redis
from tests.node_process import PATIENCE, Node, post, run, started, until
from tests.vector_files import require_vectors
from wsnode.cluster.records import BlockRecord, PatchRecord, ReorgRecord, Rollback

pytestmark = needs_redis
STRANGER = "0x" + "aa" * 20
RECIPIENT = "0x" + "bb" * 20


class Asked:
    """A node by its methods."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def __call__(self, method: str, *params: Any) -> Any:
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        reply = msgspec.json.decode(post(self.node.http_url, text))
        assert "error" not in reply, reply
        return reply["result"]

    @property
    def head(self) -> tuple[int, str]:
        block = self("eth_getBlockByNumber", "latest", False)
        return int(block["number"], 16), block["hash"]

    def work(self) -> None:
        """Have blocks with transactions, a reorganisation, a patch, another fee."""
        sender = self("eth_accounts")[0]
        for _ in range(3):
            self("eth_sendTransaction", {"from": sender, "to": RECIPIENT, "value": "0x1"})
        self("anvil_setBalance", STRANGER, "0x5")
        self("hardhat_setNextBlockBaseFeePerGas", "0x77359400")
        self("evm_mine")
        self("anvil_reorg", 2, [])
        self("anvil_setBalance", STRANGER, "0x6")


@contextmanager
def development(redis: RedisServer, folder: Path) -> Iterator[Asked]:
    with started(
        *("dev", "--listen", "127.0.0.1:0", "--quiet", "--data", str(folder), "--journal", redis.url)
    ) as node:
        yield Asked(node)


def read(redis: RedisServer, folder: Path) -> AbstractContextManager[Reading]:
    """Return a reader of the journal of the node in a folder, with a chain beside it."""
    genesis = (folder / "node" / "eth" / "genesis.json").read_bytes()
    return Reading.of(redis.url, folder / "copy", genesis)


def follow(reading: Reading, node: Asked) -> None:
    """Read until the reader stands where the node does; its balances are the node's."""
    number, block_hash = node.head
    trio.run(reading.follow, number, block_hash, int(node("eth_getBalance", STRANGER, "latest"), 16))


@pytest.mark.slow
def test_a_reader_makes_every_change_of_a_development_chain_again(redis: RedisServer, tmp_path: Path) -> None:
    with ExitStack() as opened, development(redis, tmp_path / "node") as node:
        reading = opened.enter_context(read(redis, tmp_path))
        node.work()
        kept = node("evm_snapshot")
        node("anvil_setBalance", STRANGER, "0x7")
        node("evm_mine")
        follow(reading, node)
        assert node("evm_revert", kept)
        node("anvil_setChainId", 99)
        node("evm_mine")
        follow(reading, node)
        node("anvil_reset")
        node("anvil_setBalance", STRANGER, "0x9")
        node("evm_mine")
        follow(reading, node)
        changes = {type(record.change) for record in reading.records}
        assert {BlockRecord, ReorgRecord, Rollback, PatchRecord} < changes
        assert reading.breaks == 0


@pytest.mark.slow
def test_a_redis_that_dies_and_forgets_is_told_again(redis: RedisServer, tmp_path: Path) -> None:
    with ExitStack() as opened, development(redis, tmp_path / "node") as node:
        reading = opened.enter_context(read(redis, tmp_path))
        node.work()
        follow(reading, node)
        for harm in ("kill", "FLUSHALL", "kill and work"):
            if "kill" in harm:
                redis.kill()
            if "work" in harm:
                node.work()
            if "kill" in harm:
                redis.start()
            else:
                redis.ask(harm)
            node.work()
            follow(reading, node)
        assert reading.breaks > 0
        # It hears later than the reader that a record is in the journal.
        until("all is published", lambda: node("wsnode_status")["journal"]["lag"] == 0)


@pytest.mark.slow
def test_a_node_that_was_killed_goes_on_where_its_journal_ends(redis: RedisServer, tmp_path: Path) -> None:
    with ExitStack() as opened:
        with development(redis, tmp_path / "node") as node:
            reading = opened.enter_context(read(redis, tmp_path))
            node.work()
            follow(reading, node)
            redis.signal(signal.SIGSTOP)
            node.work()
            node.node.stop(signal.SIGKILL)
            redis.signal(signal.SIGCONT)
        with development(redis, tmp_path / "node") as node:
            node.work()
            follow(reading, node)
            assert len({record.id for record in reading.records}) == len(reading.records)
            assert reading.breaks == 0
    # A node that ends by itself gives its lease back, so that the next one need not wait for its end.
    assert redis.ask("KEYS *:lease") == b"*0\r\n"


@pytest.mark.slow
def test_a_node_that_was_stopped_beyond_its_lease_takes_another_one(
    redis: RedisServer, tmp_path: Path
) -> None:
    with ExitStack() as opened, development(redis, tmp_path / "node") as node:
        reading = opened.enter_context(read(redis, tmp_path))
        for _ in range(2):
            node.work()
            follow(reading, node)
            node.node.process.send_signal(signal.SIGSTOP)
            until("the lease has expired", lambda: redis.ask("KEYS *:lease") == b"*0\r\n")
            node.node.process.send_signal(signal.SIGCONT)
            node("evm_mine")
            follow(reading, node)
        # One that has no turn for some seconds loses its lease as well.
        assert len({record.id.epoch for record in reading.records}) >= 3
        assert reading.breaks == 0


@pytest.mark.slow
def test_a_follower_that_was_stopped_is_replaced_by_another_one(redis: RedisServer, tmp_path: Path) -> None:
    upstream = ("dev", "--listen", "127.0.0.1:0", "--quiet", "--block-time", "0.3")
    with ExitStack() as opened:
        chain = Asked(opened.enter_context(started(*upstream, "--data", str(tmp_path / "node"))))
        followers = [
            Asked(opened.enter_context(following(redis, tmp_path, name, chain.node))) for name in ("a", "b")
        ]
        reading = opened.enter_context(read(redis, tmp_path))
        for _ in range(2):
            until("a leader has published", lambda: any(map(has_published, followers)))
            leader = until_one_leads(redis, followers)
            leader.node.process.send_signal(signal.SIGSTOP)
            until_one_leads(redis, [each for each in followers if each is not leader])
            chain("anvil_reorg", 2, [])
            leader.node.process.send_signal(signal.SIGCONT)
        chain("evm_setIntervalMining", 0)
        # After a block that may be under way.
        chain("evm_mine")
        number, block_hash = chain.head
        trio.run(reading.follow, number, block_hash)
        ids = [record.id for record in reading.records]
        assert ids == sorted(set(ids))
        assert len({each.epoch for each in ids}) >= 3
        assert reading.breaks == 0


@contextmanager
def following(redis: RedisServer, folder: Path, name: str, upstream: Node) -> Iterator[Node]:
    genesis = str(folder / "node" / "eth" / "genesis.json")
    told = (
        "--data",
        str(folder / name),
        "--genesis",
        genesis,
        "--upstream",
        upstream.bare(upstream.http_url),
    )
    with started("follow", *told, "--listen", "127.0.0.1:0", "--open", "--journal", redis.url) as node:
        yield node


def has_published(node: Asked) -> bool:
    """Return whether it leads, and has published a record in its epoch."""
    journal = node("wsnode_status")["journal"]
    return journal["leading"] and str(journal["published"]).startswith(f"{journal['epoch']}-")


def until_one_leads(redis: RedisServer, nodes: Sequence[Asked]) -> Asked:
    """Return the one of these nodes that has the lease, once one does."""
    end = monotonic() + PATIENCE
    while monotonic() < end:
        key = redis.ask("KEYS *:lease").decode().split("\r\n")[-2]
        holder = redis.ask(f"GET {key}").decode()
        for node in nodes:
            if f":{node.node.process.pid}:" in holder:
                return node
        sleep(0.05)
    raise AssertionError("no node writes the journal")


@pytest.mark.slow
def test_an_import_publishes_what_it_stores(redis: RedisServer, tmp_path: Path) -> None:
    done, genesis = imported(tmp_path / "data", redis.url)
    assert done.returncode == 0, done.stderr
    _head, number, block_hash = done.stdout.split()[-3:]
    with Reading.of(redis.url, tmp_path / "copy", genesis.read_bytes()) as reading:
        trio.run(reading.follow, int(number), block_hash)
    assert "journal" not in done.stderr


@pytest.mark.slow
def test_an_import_without_its_journal_says_so_and_is_done(tmp_path: Path) -> None:
    done, _genesis = imported(tmp_path / "data", f"unix://:SECRET@/{tmp_path}/nothing")
    assert done.returncode == 0
    assert done.stdout.startswith("head ")
    assert "the journal is at no block" in done.stderr
    assert "SECRET" not in done.stderr


def imported(data: Path, url: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Return a finished import with a journal, and the genesis file of its chain."""
    vectors = require_vectors("execution-apis")
    genesis, chain = vectors / "genesis.json", vectors / "chain.rlp"
    told = ("--data", str(data), "--genesis", str(genesis), "--journal", url, str(chain))
    return run("import", "eth", *told), genesis


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (
            ("dev", "--fork", "http://h", "--journal", "redis://h"),
            "a forked chain cannot be published",
        ),
        (("dev", "--journal", "http://:SECRET@h"), "a journal's URL begins with"),
        (("serve", "--data", "x", "--journal", "redis://h"), "goes with --engine"),
        (("serve", "--config", "x", "--journal", "redis://h"), "a --config names the journals"),
    ],
)
def test_what_cannot_be_published_is_refused_in_a_line(command: tuple[str, ...], reason: str) -> None:
    done = run(*command)
    assert done.returncode in (1, 2)
    assert reason in " ".join(done.stderr.split())
    assert "SECRET" not in done.stderr
    assert "Traceback" not in done.stderr
