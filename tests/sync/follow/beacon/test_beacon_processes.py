"""A proved head as processes: a writer with workers, and a replica with workers behind its journal."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from websockets.sync.client import ClientConnection, connect

from tests.cluster.redis_server import RedisServer, needs_redis, started_redis
from tests.ethereum.live.growing import emitting_genesis, growing_chain
from tests.node.workers.test_worker_process_group_pools import result
from tests.node_process import PATIENCE, Node, started, until
from tests.sync.follow.beacon.beacon_nodes import BeaconAnswers
from tests.sync.follow.beacon.proved_world import BEGIN, grown_story
from tests.sync.follow.beacon.static_beacon import served_beacon
from wsnode.ethereum.primitives.values import BlockNumber

SLOT_SECONDS: Final = 2
CLOCK_SLOT: Final = 44
"""Slot of the clock at the beginning: all that is told was signed before."""
PERIOD_EPOCHS: Final = 8_000
"""So many that the clock never leaves the first period, however long the processes take."""
BLOCKS: Final = 41
"""Of the upstream: as many as the story has before its reorganisation, whose blocks no upstream gives."""
LEFT: Final = 43
"""Slot from which on blocks are proved that the upstream does not have."""

pytestmark = [needs_redis, pytest.mark.slow]


class Told:
    """The slot up to which the beacon node tells what is signed."""

    def __init__(self) -> None:
        self.slot = 24


class Marks(msgspec.Struct, frozen=True):
    """Hashes of the head, the safe and the finalized block."""

    latest: str
    safe: str
    finalized: str


class Upstream(msgspec.Struct, frozen=True):
    """A node that serves a chain which does not grow."""

    url: str
    genesis: Path
    hashes: list[str]

    def marks(self, latest: int, safe: int, finalized: int) -> Marks:
        return Marks(*(self.hashes[number] for number in (latest, safe, finalized)))


@contextmanager
def upstream_of(folder: Path) -> Iterator[Upstream]:
    folder.mkdir()
    genesis = folder / "genesis.json"
    genesis.write_bytes(emitting_genesis())
    with growing_chain(folder / "data" / "eth") as growing:
        for _ in range(BLOCKS):
            growing.grow()
        with growing.chain.snapshot() as view:
            hashes = [view.hash_of(BlockNumber(number)) for number in range(BLOCKS + 1)]
    named = [f"0x{each.hex()}" for each in hashes if each is not None]
    with started("serve", "--data", str(folder / "data"), "--listen", "127.0.0.1:0", "--open") as node:
        yield Upstream(node.socket_url, genesis, named)


@contextmanager
def writer(folder: Path, upstream: Upstream, redis: RedisServer, told: Told) -> Iterator[Node]:
    """Run a node of two workers whose head is proved, and that writes a journal."""
    story = grown_story()
    answers = BeaconAnswers(story, lambda: told.slot)
    answers.genesis_time = int(time.time()) - CLOCK_SLOT * SLOT_SECONDS
    answers.spec = {
        "SLOT_DURATION_MS": str(1000 * SLOT_SECONDS),
        "SECONDS_PER_SLOT": str(SLOT_SECONDS),
        "EPOCHS_PER_SYNC_COMMITTEE_PERIOD": str(PERIOD_EPOCHS),
    }
    config = folder / "config.json"
    identity = {
        "GENESIS_VALIDATORS_ROOT": story["genesis_validators_root"],
        "GENESIS_TIME": answers.genesis_time,
    }
    config.write_text(json.dumps(story["network"] | answers.spec | identity))
    with served_beacon(answers) as url:
        proofs = ("--beacon", url, "--checkpoint", story["checkpoint"], "--beacon-config", str(config))
        chain = ("--data", str(folder / "writer"), "--genesis", str(upstream.genesis))
        with started("follow", *chain, "--upstream", upstream.url, *proofs, *serving(redis)) as node:
            yield node


@contextmanager
def replica(folder: Path, upstream: Upstream, redis: RedisServer) -> Iterator[Node]:
    chain = ("--data", str(folder / "replica"), "--genesis", str(upstream.genesis))
    with started("replica", *chain, *serving(redis)) as node:
        yield node


def serving(redis: RedisServer) -> tuple[str, ...]:
    return ("--journal", redis.url, "--listen", "127.0.0.1:0", "--open", "--workers", "2")


def marks_of(client: ClientConnection) -> Marks | None:
    """Return what a worker serves, None while it lacks a mark."""
    found: list[Any] = [
        answer(client, "eth_getBlockByNumber", tag, False).get("result")
        for tag in ("latest", "safe", "finalized")
    ]
    return None if None in found else Marks(*(each["hash"] for each in found))


def answer(client: ClientConnection, method: str, *params: object) -> Any:
    client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    return json.loads(client.recv(PATIENCE))


def readiness(node: Node) -> str:
    """Return what `/readyz` says."""
    try:
        with urllib.request.urlopen(node.bare(node.http_url) + "readyz", timeout=PATIENCE) as page:
            body: bytes = page.read()
    except urllib.error.HTTPError as error:
        body = error.read()
    return body.decode()


def beacon_state(client: ClientConnection) -> str | None:
    """Return the state of the light client as a worker tells it, None while the follower does not answer."""
    status: Any = result(client, "wsnode_status")
    state: str | None = status.get("beacon", {}).get("state")
    return state


def test_workers_and_replicas_serve_what_is_proved_and_say_what_is_withheld(tmp_path: Path) -> None:
    told = Told()
    with ExitStack() as opened:
        redis = opened.enter_context(started_redis())
        upstream = opened.enter_context(upstream_of(tmp_path / "upstream"))
        proving = opened.enter_context(writer(tmp_path, upstream, redis, told))
        copy = opened.enter_context(replica(tmp_path, upstream, redis))
        # Two connections to a node of two workers are one to each.
        here = [opened.enter_context(connect(proving.socket_url)) for _ in range(2)]
        there = [opened.enter_context(connect(copy.socket_url)) for _ in range(2)]
        # Nothing is safe yet but what is final: proofs are younger than an epoch. Then one is of slot 29.
        for slot, marks in (
            (24, upstream.marks(23, BEGIN, BEGIN)),
            (30, upstream.marks(29, BEGIN, BEGIN)),
            (40, upstream.marks(39, 29, BEGIN)),
            (41, upstream.marks(40, 29, 24)),
        ):
            told.slot = slot
            until_all(marks_of, (*here, *there), marks)
        told.slot = LEFT
        until("it is withheld", lambda: "no upstream gives block 0x" in readiness(proving))
        until_all(beacon_state, here, "withheld")
        for client in (*here, *there):
            assert marks_of(client) == upstream.marks(40, 29, 24)


def until_all(
    what: Callable[[ClientConnection], object], clients: Iterable[ClientConnection], found: object
) -> None:
    """Return once it is found on each connection."""
    for client in clients:
        until(f"{what.__name__} {found}", partial(is_found, what, client, found))


def is_found(what: Callable[[ClientConnection], object], client: ClientConnection, found: object) -> bool:
    return what(client) == found
