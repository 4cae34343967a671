"""`wsnode replica` of a `wsnode dev --journal`, with Redis between them: it stands as its writer does."""

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from coredis import Redis
from websockets.sync.client import connect

from tests.cluster.redis_server import RedisServer, needs_redis
from tests.ethereum.live.growing import emitter_code
from tests.node_process import COMMAND, PATIENCE, Node, kept_address, post, run, started

pytestmark = [needs_redis, pytest.mark.slow]

STRANGER = "0x" + "aa" * 20
RECIPIENT = "0x" + "bb" * 20
EMITTER = "0x" + "cc" * 20
BEHIND = -32001
UNKNOWN = "the node that writes this chain is not known here"
UNSENT = (UNKNOWN, "the process that follows does not answer", "the process that follows is being started")
KILLS = [pytest.param(3, id="some"), pytest.param(20, marks=pytest.mark.nightly, id="many")]


class Asked:
    """A node by its methods."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def __call__(self, method: str, *params: Any) -> Any:
        reply = self.answer(method, *params)
        assert "error" not in reply, reply
        return reply["result"]

    def answer(self, method: str, *params: Any) -> Any:
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return msgspec.json.decode(post(self.node.bare(self.node.http_url), text))

    @property
    def stand(self) -> Any:
        """Return the head with its state's root, and what was changed without a block."""
        block = self("eth_getBlockByNumber", "latest", False)
        # In the midst of a reorganisation the block may have left the chain since.
        balance = self.answer("eth_getBalance", STRANGER, block["number"]).get("result")
        return block["number"], block["hash"], block["stateRoot"], balance, self("eth_chainId")

    @property
    def is_ready(self) -> bool:
        return post_status(self.node, "/readyz") == 200

    def work(self, seed: int) -> None:
        """Have transactions, an impersonation, a reorganisation, patches, another fee, another id."""
        sender = self("eth_accounts")[0]
        for _ in range(3):
            self("eth_sendTransaction", {"from": sender, "to": RECIPIENT, "value": "0x1"})
        self("anvil_setCode", EMITTER, f"0x{emitter_code().hex()}")
        self("anvil_setBalance", STRANGER, hex(10**20 + seed))
        self("anvil_impersonateAccount", STRANGER)
        for topic in range(4):
            data = f"0x{topic:064x}{seed:064x}"
            self("eth_sendTransaction", {"from": STRANGER, "to": EMITTER, "data": data, "gas": "0x30000"})
        self("eth_sendTransaction", {"from": STRANGER, "to": RECIPIENT, "value": "0x2"})
        self("hardhat_setNextBlockBaseFeePerGas", "0x77359400")
        # With a block each moment there may be none so far.
        self("anvil_mine", "0x2")
        self("anvil_reorg", 2, [])
        self("anvil_setChainId", 1000 + seed)
        log = {"from": STRANGER, "to": EMITTER, "data": f"0x{seed:064x}", "gas": "0x30000"}
        self("eth_sendTransaction", log)
        self("eth_sendTransaction", {"from": STRANGER, "to": RECIPIENT, "value": "0x3"})
        self("anvil_setBalance", STRANGER, hex(10**20 + 7 * seed))


def post_status(node: Node, path: str) -> int:
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(node.bare(node.http_url)[:-1] + path, timeout=PATIENCE) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code


@contextmanager
def leader(redis: RedisServer, folder: Path, *more: str, listen: str = "127.0.0.1:0") -> Iterator[Asked]:
    options = ("--listen", listen, "--quiet", "--data", str(folder / "leader"), "--journal", redis.url)
    with started("dev", *options, *more) as node:
        yield Asked(node)


def replica_command(redis: RedisServer, folder: Path, name: str, listen: str = "127.0.0.1:0") -> list[str]:
    genesis = folder / "leader/eth/genesis.json"
    options = ["--data", str(folder / name), "--genesis", str(genesis), "--journal", redis.url]
    return ["replica", *options, "--listen", listen, "--open"]


@contextmanager
def replica(
    redis: RedisServer, folder: Path, name: str = "replica", listen: str = "127.0.0.1:0", *more: str
) -> Iterator[Asked]:
    with started(*replica_command(redis, folder, name, listen), *more) as node:
        yield Asked(node)


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def come_together(first: Asked, second: Asked) -> None:
    until(lambda: first.stand == second.stand)
    until(lambda: second.is_ready)


def status_of(node: Asked) -> Any:
    """Return what a node says of itself, once its process that follows has time to answer."""
    answers: list[Any] = []

    def has_answered() -> bool:
        answers.append(node("wsnode_status"))
        return bool({"state", "replica"} & answers[-1].keys())

    until(has_answered)
    return answers[-1]


@pytest.mark.usefixtures("workers")
def test_a_replica_stands_as_its_writer_whatever_is_done(redis: RedisServer, tmp_path: Path) -> None:
    with leader(redis, tmp_path) as writer, replica(redis, tmp_path) as copy:
        for seed in range(1, 4):
            writer.work(seed)
            come_together(writer, copy)
        number = int(writer.stand[0], 16)
        for each in range(number + 1):
            named = hex(each)
            assert writer("eth_getBlockByNumber", named, True) == copy("eth_getBlockByNumber", named, True)
            assert writer("eth_getBlockReceipts", named) == copy("eth_getBlockReceipts", named)
            assert writer("eth_getProof", STRANGER, [], named) == copy("eth_getProof", STRANGER, [], named)
        status = status_of(copy)
        assert (status["mode"], status["lag"], status["replica"]["refused"]) == ("replica", 0, 0)
        writer("anvil_reorg", 2, [])
        come_together(writer, copy)
        # A record's state is served once it is stored, and the record counted after that.
        until(lambda: status_of(copy)["reorganisations"] == status["reorganisations"] + 1)
    assert run("doctor", "--data", str(tmp_path / "replica")).returncode == 0


@pytest.mark.usefixtures("workers")
def test_a_cursor_is_carried_from_the_writer_to_a_replica_and_back(
    redis: RedisServer, tmp_path: Path
) -> None:
    with leader(redis, tmp_path) as writer, replica(redis, tmp_path) as copy:
        received: list[Any] = []
        options: dict[str, Any] = {"fromBlock": "earliest", "cursors": True}
        for seed in range(1, 7):
            # Takes off what the client received from the other node.
            writer("anvil_reorg", min(int(writer.stand[0], 16), 6), [])
            writer.work(seed)
            come_together(writer, copy)
            options = {"cursor": listen(copy if seed % 2 else writer, options, received)}
        assert any(log["removed"] for log in received)
        assert kept(received) == writer("eth_getLogs", {"fromBlock": "earliest"})
        assert kept(received) == copy("eth_getLogs", {"fromBlock": "earliest"})


def listen(place: Asked, options: dict[str, Any], received: list[Any]) -> str:
    """Take the logs after a cursor until they are those that there are; return the next cursor."""
    wanted = place("eth_getLogs", {"fromBlock": "earliest"})
    with connect(place.node.socket_url.replace("<API_KEY>", "any"), max_size=None) as connection:
        request = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["logs", options]}
        connection.send(json.dumps(request))
        while True:
            message = json.loads(connection.recv(PATIENCE))
            if is_behind(message):
                connection.send(json.dumps(request))
                continue
            assert "error" not in message, message
            if "result" in message.get("params", {}):
                received.append(message["params"]["result"])
                if kept(received) == wanted:
                    return str(message["params"]["cursor"])


def is_behind(message: Any) -> bool:
    """Return whether a call is to be repeated: one of several workers may have no turn for seconds."""
    error = message.get("error", {})
    return error.get("code") == BEHIND and bool(error.get("data", {}).get("behind"))


def kept(received: list[Any]) -> list[Any]:
    """Return the logs that were added and not removed; each is removed in reverse order, and once."""
    logs: list[Any] = []
    for log in received:
        if log["removed"]:
            assert logs.pop() == log | {"removed": False}
        else:
            assert log not in logs
            logs.append(log)
    return logs


@pytest.mark.parametrize("harm", ["FLUSHALL", "kill", "stop"])
@pytest.mark.usefixtures("workers")
def test_a_redis_that_forgets_dies_or_stands_still_costs_a_moment(
    redis: RedisServer, tmp_path: Path, harm: str
) -> None:
    with leader(redis, tmp_path) as writer, replica(redis, tmp_path) as copy:
        writer.work(1)
        come_together(writer, copy)
        before = status_of(copy)["reorganisations"]
        if harm == "FLUSHALL":
            redis.ask("FLUSHALL")
        elif harm == "kill":
            redis.kill()
        else:
            redis.signal(signal.SIGSTOP)
        # What is stored is served meanwhile.
        assert copy.stand == writer.stand
        until(lambda: copy.is_ready)
        writer("evm_mine")
        if harm == "kill":
            redis.start()
        elif harm == "stop":
            redis.signal(signal.SIGCONT)
        come_together(writer, copy)
        assert status_of(copy)["reorganisations"] == before


@pytest.mark.parametrize("most", KILLS)
def test_a_replica_that_is_killed_at_any_moment_goes_on(
    redis: RedisServer, tmp_path: Path, most: int
) -> None:
    chance = random.Random(3)
    with leader(redis, tmp_path, "--block-time", "0.05") as writer:
        writer.work(1)
        for kill in range(most):
            process = subprocess.Popen(
                [*COMMAND, *replica_command(redis, tmp_path, "replica")],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(chance.uniform(0.5, 3.0))
            writer("anvil_reorg", 2, [])
            writer("anvil_setBalance", STRANGER, hex(10**18 + kill))
            process.kill()
            process.wait()
        writer("evm_setIntervalMining", 0)
        with replica(redis, tmp_path) as copy:
            come_together(writer, copy)
            assert status_of(copy)["replica"]["refused"] == 0
    assert run("doctor", "--data", str(tmp_path / "replica")).returncode == 0


@pytest.mark.usefixtures("workers")
def test_a_new_replica_begins_with_a_snapshot_behind_which_the_journal_is_trimmed(
    redis: RedisServer, tmp_path: Path
) -> None:
    with leader(redis, tmp_path, "--block-time", "0.05") as writer:
        writer.work(1)
        taken = run("snapshot", "--data", str(tmp_path / "leader"), str(tmp_path / "copy"))
        assert taken.returncode == 0, taken.stderr
        number = int(taken.stdout.split()[1])
        until(lambda: int(writer.stand[0], 16) > number + 10)
        writer("evm_setIntervalMining", 0)
        # What is published after it is not trimmed.
        until(lambda: writer("wsnode_status")["journal"]["lag"] == 0)
        records = trim(redis, number)
        assert records > 0
        assert run("restore", "--data", str(tmp_path / "restored"), str(tmp_path / "copy")).returncode == 0
        with replica(redis, tmp_path, "restored") as copy, replica(redis, tmp_path, "anew") as lacking:
            come_together(writer, copy)
            until(lambda: status_of(lacking)["state"] == "stopped")
            assert "restore a snapshot" in status_of(lacking)["replica"]["error"]
            until(lambda: not lacking.is_ready)
            assert lacking("eth_blockNumber") == "0x0"


@pytest.mark.usefixtures("workers")
def test_blocks_that_a_trimmed_journal_lacks_are_had_from_another_node(
    redis: RedisServer, tmp_path: Path
) -> None:
    with kept_address() as here, leader(redis, tmp_path, listen=here) as writer:
        sender = writer("eth_accounts")[0]
        for _ in range(12):
            writer("eth_sendTransaction", {"from": sender, "to": RECIPIENT, "value": "0x1"})
        until(lambda: writer("wsnode_status")["journal"]["lag"] == 0)
        assert trim(redis, 9) > 0
        with replica(redis, tmp_path) as copy:
            come_together(writer, copy)
            assert status_of(copy)["replica"]["refused"] == 0
    assert run("doctor", "--data", str(tmp_path / "replica")).returncode == 0


def in_redis(redis: RedisServer, work: Callable[["Redis[bytes]", bytes], Any]) -> Any:
    """Return the result of work with the client and the key of the log."""

    async def connected() -> Any:
        async with Redis(unix_socket_path=str(redis.path)) as client:
            (log,) = await client.keys("*:log")
            return await work(client, log)

    return trio.run(connected)


def trim(redis: RedisServer, number: int) -> int:
    """Drop the records up to a block, and return how many."""

    async def work(client: "Redis[bytes]", log: bytes) -> int:
        entries = await client.xrange(log)
        old = [entry.identifier for entry in entries if int(entry.field_values[b"blocks"]) < number]
        for identifier in old:
            await client.xdel(log, [identifier])
        return len(old)

    dropped: int = in_redis(redis, work)
    return dropped


# At once: a writer that finds the record missing would publish its block again.
REPLACE_LAST = """
redis.call('XDEL', KEYS[1], ARGV[2])
redis.call('XSETID', KEYS[1], ARGV[1])
return redis.call('XADD', KEYS[1], unpack(ARGV, 2))
"""


def replace_last(redis: RedisServer, change: Callable[[bytes], bytes]) -> bytes:
    """Put another record in the place of the last one, and return that."""

    async def work(client: "Redis[bytes]", log: bytes) -> bytes:
        first, last = reversed(await client.xrevrange(log, count=2))
        content: bytes = last.field_values[b"record"]  # type: ignore[assignment]
        values = {**last.field_values, b"record": change(content)}
        fields = [part for field in values.items() for part in field]
        await client.eval(REPLACE_LAST, [log], [first.identifier, last.identifier, *fields])
        return content

    was: bytes = in_redis(redis, work)
    return was


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.usefixtures("workers")
def test_a_flipped_byte_is_refused_and_what_was_good_is_served(redis: RedisServer, tmp_path: Path) -> None:
    with leader(redis, tmp_path) as writer:
        writer.work(1)
        with replica(redis, tmp_path) as copy:
            come_together(writer, copy)
            good = copy.stand
        writer("evm_mine")
        until(lambda: writer("wsnode_status")["journal"]["lag"] == 0)
        was = replace_last(redis, flipped)
        with replica(redis, tmp_path) as copy:
            until(lambda: status_of(copy)["state"] == "stopped")
            assert copy.stand == good
            until(lambda: not copy.is_ready)
            assert status_of(copy)["replica"]["refused"] == 1
            replace_last(redis, lambda _content: was)
            copy.node.process.send_signal(signal.SIGHUP)
            come_together(writer, copy)


def taken(copy: Asked, encoded: str) -> str:
    """Return the hash of a transaction, which is sent until the replica has heard of the next writer."""
    answers: list[dict[str, Any]] = []

    def is_answered() -> bool:
        answers.append(copy.answer("eth_sendRawTransaction", encoded))
        return answers[-1].get("error", {}).get("message") not in UNSENT

    until(is_answered)
    assert "error" not in answers[-1], answers[-1]
    return str(answers[-1]["result"])


def sent_into_a_block(copy: Asked, writer: Asked) -> Any:
    """Return a signed transaction that was sent to a replica, and is in a block of its writer."""
    until(lambda: copy("net_peerCount") == "0x2")
    signed = writer("eth_signTransaction", filled(writer))
    sent = taken(copy, signed)
    until(lambda: copy("eth_getTransactionReceipt", sent) is not None)
    assert copy("eth_getTransactionReceipt", sent) == writer("eth_getTransactionReceipt", sent)
    return signed


@pytest.mark.usefixtures("workers")
def test_a_transaction_sent_to_a_replica_is_in_a_block_of_its_writer(
    redis: RedisServer, tmp_path: Path
) -> None:
    with ExitStack() as opened:
        here, there = (opened.enter_context(kept_address()) for _ in range(2))
        writer = opened.enter_context(leader(redis, tmp_path, listen=here))
        copy = opened.enter_context(replica(redis, tmp_path, listen=there))
        writer("evm_mine")
        come_together(writer, copy)
        signed = sent_into_a_block(copy, writer)
        # What the replica itself refuses goes nowhere.
        assert "error" in copy.answer("eth_sendRawTransaction", signed)


@pytest.mark.usefixtures("workers")
def test_a_dead_writer_shows_at_replicas_which_stay_ready(redis: RedisServer, tmp_path: Path) -> None:
    with leader(redis, tmp_path) as writer, replica(redis, tmp_path) as copy:
        writer("evm_mine")
        come_together(writer, copy)
        until(lambda: status_of(copy)["replica"]["writer"] is True)
        writer.node.process.kill()
        until(lambda: status_of(copy)["replica"]["writer"] is False)
        until(lambda: copy.is_ready)


@pytest.mark.usefixtures("workers")
def test_a_transaction_without_a_writer_is_refused(redis: RedisServer, tmp_path: Path) -> None:
    with leader(redis, tmp_path) as writer, replica(redis, tmp_path) as copy:
        writer("evm_mine")
        come_together(writer, copy)
        signed = writer("eth_signTransaction", filled(writer))
        # A process that follows and has no turn for seconds is another reason, which passes.
        until(lambda: copy.answer("eth_sendRawTransaction", signed)["error"]["message"] == UNKNOWN)
        assert copy("txpool_status")["pending"] == "0x0"


def filled(writer: Asked) -> dict[str, Any]:
    sender = writer("eth_accounts")[0]
    return {
        "from": sender,
        "to": RECIPIENT,
        "value": "0x5",
        "gas": "0x5208",
        "nonce": writer("eth_getTransactionCount", sender, "latest"),
        "maxFeePerGas": "0x174876e800",
        "maxPriorityFeePerGas": "0x1",
        "chainId": writer("eth_chainId"),
        "type": "0x2",
    }


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--journal", "http://:SECRET@h"), "a journal's URL begins with one of"),
        (("--journal", "redis://h", "--workers", "99"), "--workers"),
        (("--journal", "redis://h"), "holds no chain"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    tmp_path: Path, arguments: tuple[str, ...], reason: str
) -> None:
    done = run("replica", "--data", str(tmp_path / "none"), *arguments)
    assert done.returncode in (1, 2)
    assert reason in " ".join(done.stderr.split())
    assert "SECRET" not in done.stderr
    assert "Traceback" not in done.stderr
