"""Replicas of Starknet chains as processes, with Redis: of an import, of the demo, of a follower."""

import json
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.cluster.redis_server import RedisServer, needs_redis
from tests.cluster.replica.test_replica_processes import (
    Asked,
    flipped,
    replace_last,
    replica,
    status_of,
    until,
)
from tests.node.workers.processes import samples
from tests.node_process import COMMAND, PATIENCE, Node, run, started
from tests.starknet.branches import branch, write_dump
from tests.vector_files import find_vectors, require_vectors
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.errors import StarknetError
from wsnode.store.errors import StoreError

pytestmark = [needs_redis, pytest.mark.slow]

FIRST = "0x47c3637b57c2b079b93c61539950c17e868a28f46cdef28f88521067f21e943"
ADDRESS = "0x20cfa74ee3564b4cd5435cdace0f9c4d43b939620e4a0bb5076105df0a626c6"


def imported(redis: RedisServer, data: Path, dump: Path, *more: str, blocks: int) -> None:
    """Import a dump and publish it, up to a block."""
    told = ("import", "alt", "--data", str(data), "--journal", redis.url, *more, str(dump))
    done = run(*told)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-2] == str(blocks)
    assert "the journal is at" not in done.stderr


def first_blocks(folder: Path, count: int) -> Path:
    """Return a dump of the main network's first blocks."""
    mainnet = require_vectors("starknet/mainnet")
    folder.mkdir()
    for number in range(count):
        text = (mainnet / "state_update" / f"{number}.json").read_bytes()
        (folder / f"{number}.json").write_bytes(text)
    (folder / "headers.json").write_bytes((mainnet / "headers.json").read_bytes())
    return folder


def with_classes() -> Sequence[str]:
    found = find_vectors("starknet/classes")
    return () if found is None else ("--classes", str(found))


@contextmanager
def starknet_replica(redis: RedisServer, data: Path, *more: str) -> Iterator[Asked]:
    options = ("--data", str(data), "--journal", redis.url, "--listen", "127.0.0.1:0", "--open")
    with started("replica", *options, *more) as node:
        yield Asked(node)


def alt(node: Asked) -> Any:
    """Return how the Starknet chain's replica stands."""
    return status_of(node)["replica"].get("alt", {})


def is_at(node: Asked, number: int) -> bool:
    return node.answer("alt_blockNumber").get("result") == number and node.is_ready


@pytest.mark.parametrize("workers", [(), ("--workers", "2")], ids=["alone", "workers"])
def test_a_replica_of_an_import_has_its_blocks_and_its_subscribers_hear_of_them(
    redis: RedisServer, tmp_path: Path, workers: tuple[str, ...]
) -> None:
    data, copied = tmp_path / "writer", tmp_path / "copy"
    imported(redis, data, first_blocks(tmp_path / "some", 4), blocks=3)
    with starknet_replica(redis, copied, "--starknet", "SN_MAIN", *workers) as copy:
        until(lambda: is_at(copy, 3))
        with connect(copy.node.socket_url) as client:
            ask = {"jsonrpc": "2.0", "id": 1, "method": "alt_subscribeNewHeads", "params": {}}
            client.send(json.dumps(ask))
            assert "result" in json.loads(client.recv(PATIENCE))
            # What an import without classes lacked comes later, with the rest of the blocks.
            imported(redis, data, require_vectors("starknet/mainnet"), *with_classes(), blocks=9)
            heads = [next_head(client)]
            while heads[-1]["block_number"] < 9:
                heads.append(next_head(client))
        # A worker that had not noticed the first blocks when it was asked tells of those too.
        numbers = [head["block_number"] for head in heads]
        assert numbers == list(range(numbers[0], 10))
        assert numbers[0] <= 4
        until(lambda: is_at(copy, 9))
        status = alt(copy)
        assert (status["state"], status["lag"], status["refused"]) == ("live", 0, 0)
        assert status["head"] == {"number": "0x9", "hash": heads[-1]["block_hash"]}
        assert copy.answer("alt_chainId")["result"] == "0x534e5f4d41494e"
        copied_answers = answers(copy)
    with started("serve", "--data", str(data), "--listen", "127.0.0.1:0", "--open") as node:
        assert answers(Asked(node)) == copied_answers
    with starknet_replica(redis, copied) as copy:
        # It finds its place again by what it has.
        until(lambda: is_at(copy, 9))
        assert alt(copy)["records"] <= 1
    assert run("doctor", "--data", str(copied)).returncode == 0


def next_head(client: ClientConnection) -> Any:
    return json.loads(client.recv(PATIENCE))["params"]["result"]


def answers(node: Asked) -> list[Any]:
    """Return what a node says of each block, and of a contract."""
    told = [
        node.answer(f"alt_{method}", {"block_id": {"block_number": number}})
        for method in ("getStateUpdate",)
        for number in range(10)
    ]
    return [*told, named(node, "alt_getClassAt", block_id="latest", contract_address=ADDRESS)]


def named(node: Asked, method: str, **params: Any) -> Any:
    from tests.node_process import post

    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return json.loads(post(node.node.bare(node.node.http_url), text))


def test_another_branch_a_loss_and_a_flipped_bit(redis: RedisServer, tmp_path: Path) -> None:
    data, copied = tmp_path / "writer", tmp_path / "copy"
    old = write_dump(tmp_path / "old.jsonl", branch([[1], [2], [3], [4]]))
    new_blocks = branch([[1], [2], [5], [6], [7], [8]])
    new = write_dump(tmp_path / "new.jsonl", new_blocks[:4])
    imported(redis, data, old, "--chain-id", "TEST", blocks=3)
    first = f"0x{branch([[1]])[0].hash.hex()}"
    with starknet_replica(redis, copied, "--starknet", first) as copy:
        until(lambda: is_at(copy, 3))
        imported(redis, data, new, "--replace", blocks=3)
        until(lambda: head_of(copy) == new_blocks[3].hash)
        assert alt(copy)["reorganisations"] == 1
        redis.ask("FLUSHALL")
        assert copy.is_ready
        longer = write_dump(tmp_path / "longer.jsonl", new_blocks[:5])
        imported(redis, data, longer, blocks=4)
        until(lambda: head_of(copy) == new_blocks[4].hash)
        assert alt(copy)["reorganisations"] == 1
    imported(redis, data, write_dump(tmp_path / "all.jsonl", new_blocks), blocks=5)
    was = replace_last(redis, flipped)
    with starknet_replica(redis, copied) as copy:
        until(lambda: alt(copy).get("state") == "stopped")
        assert head_of(copy) == new_blocks[4].hash
        assert not copy.is_ready
        assert samples(copy.node)['wsnode_replica_refused_total{family="alt",network="copy"}'] == 1
        replace_last(redis, lambda _content: was)
        copy.node.process.send_signal(signal.SIGHUP)
        until(lambda: head_of(copy) == new_blocks[5].hash and copy.is_ready)


def head_of(node: Asked) -> bytes:
    found = node.answer("alt_blockHashAndNumber").get("result")
    return b"" if found is None else int(found["block_hash"], 16).to_bytes(32, "big")


def test_an_import_that_is_killed_is_published_by_the_next_one(redis: RedisServer, tmp_path: Path) -> None:
    data, copied, dump = tmp_path / "writer", tmp_path / "copy", tmp_path / "dump.jsonl"
    blocks = branch([[number] for number in range(1, 6)])
    write_dump(dump, blocks)
    told = ("--data", str(data), "--journal", redis.url, "--chain-id", "TEST", str(dump))
    redis.signal(signal.SIGSTOP)
    process = subprocess.Popen([*COMMAND, "import", "alt", *told], stderr=subprocess.DEVNULL)
    until(lambda: stored(data) == 4)
    process.kill()
    process.wait()
    redis.signal(signal.SIGCONT)
    with starknet_replica(redis, copied, "--starknet", f"0x{blocks[0].hash.hex()}") as copy:
        until(lambda: alt(copy).get("reachable", False))
        assert not copy.is_ready
        imported(redis, data, dump, blocks=4)
        until(lambda: is_at(copy, 4))


def stored(data: Path) -> int | None:
    """Return the number of the last block in a folder, None if there is none."""
    try:
        with StarknetChain.open(data, writer=False) as chain, chain.snapshot() as view:
            return view.head
    except (StarknetError, StoreError):
        return None


def test_a_replica_of_the_demo_repeats_both_chains(redis: RedisServer, tmp_path: Path) -> None:
    data = tmp_path / "leader"
    options = ("--listen", "127.0.0.1:0", "--quiet", "--data", str(data), "--journal", redis.url)
    with started("demo", *options) as node:
        writer = Asked(node)
        first = named(writer, "alt_getStateUpdate", block_id={"block_number": 0})["result"]["block_hash"]
        with replica(redis, tmp_path, "copy", "127.0.0.1:0", "--starknet", first) as copy:
            until(lambda: (copy.answer("alt_blockNumber").get("result") or 0) > 8 and copy.is_ready)
            number = copy("alt_blockNumber")
            block = {"block_id": {"block_number": number}}
            assert named(writer, "alt_getStateUpdate", **block) == named(copy, "alt_getStateUpdate", **block)
            status = copy("wsnode_status")
            assert status["mode"] == "replica"
            assert status["replica"]["alt"]["refused"] == 0
            # A process that has no turn for some seconds falls behind, or loses its lease, for a while.
            until(lambda: writer("wsnode_status")["journal"]["alt"]["leading"])
            until(lambda: samples(copy.node)['wsnode_replica_live{family="alt",network="copy"}'] == 1)
            until(lambda: samples(node)['wsnode_journal_lease{family="alt",network="demo"}'] == 1)


def test_a_follower_publishes_what_an_import_beside_it_adds(redis: RedisServer, tmp_path: Path) -> None:
    with started("dev", "--listen", "127.0.0.1:0", "--quiet", "--data", str(tmp_path / "leader")) as chain:
        data = tmp_path / "follower"
        blocks = branch([[1], [2], [3]])
        told = ("import", "alt", "--data", str(data), "--chain-id", "TEST")
        assert run(*told, str(write_dump(tmp_path / "one.jsonl", blocks[:1]))).returncode == 0
        with follower(redis, data, tmp_path / "leader", chain):
            first = f"0x{blocks[0].hash.hex()}"
            with starknet_replica(redis, tmp_path / "copy", "--starknet", first) as copy:
                until(lambda: is_at(copy, 0))
                assert run(*told, str(write_dump(tmp_path / "all.jsonl", blocks))).returncode == 0
                until(lambda: is_at(copy, 2))


@contextmanager
def follower(redis: RedisServer, data: Path, leader: Path, upstream: Node) -> Iterator[Asked]:
    genesis, url = str(leader / "eth" / "genesis.json"), upstream.bare(upstream.http_url)
    told = ("--data", str(data), "--genesis", genesis, "--upstream", url, "--journal", redis.url)
    with started("follow", *told, "--listen", "127.0.0.1:0", "--open") as node:
        yield Asked(node)


def test_a_folder_without_an_alt_block_needs_the_first_ones_hash(redis: RedisServer, tmp_path: Path) -> None:
    done = run("replica", "--data", str(tmp_path / "none"), "--journal", redis.url, "--open")
    assert done.returncode == 1
    assert "holds no chain: `wsnode replica` with a --genesis or a --starknet" in done.stderr
    done = run("replica", "--data", str(tmp_path / "none"), "--journal", redis.url, "--starknet", "MAIN")
    assert done.returncode == 2
    data = tmp_path / "data"
    imported(redis, data, write_dump(tmp_path / "one.jsonl", branch([[1]])), blocks=0)
    done = run("replica", "--data", str(data), "--journal", redis.url, "--starknet", FIRST)
    assert done.returncode == 1
    assert "its first block is 0x" in done.stderr
