"""Followers of geth for 200 slots: committees change, blocks leave the chain, and Gloas begins."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any, Final
from urllib.request import urlopen

import msgspec
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.geth_process import GETH, started_geth
from tests.node_process import PATIENCE, Node, post, started, until
from tests.peers.processes.beacon_server import BeaconServer, started_beacon_server
from tests.peers.processes.consensus_client import genesis_file
from tests.sync.follow.beacon.test_lies_over_geth import ask
from wsnode.sync.follow.beacon.anchor import ANNOUNCED_AHEAD

SLOTS: Final = 200
SLOT_SECONDS: Final = 2
EPOCH_SLOTS: Final = 8
PERIOD_SLOTS: Final = 64
FIRST_SLOT: Final = 96
"""Slot of the execution node's first block."""
EPOCHS_TO_GLOAS: Final = 13
"""From the start of the beacon node on; the followers start meanwhile."""
LEFT: Final = {20: 1, 33: 3, 60: 2, 97: 3, 106: 4, 150: 3, 171: 2}
"""How many blocks leave the chain after so many slots."""

pytestmark = [pytest.mark.nightly, pytest.mark.skipif(GETH is None, reason="no `geth` on the path")]

Block = dict[str, Any]


class Scene(msgspec.Struct, frozen=True):
    """An execution node, the beacon node above it, and two followers: of what is proved, and announced."""

    execution: str
    beacon: BeaconServer
    proved: Node
    announced: Node

    @property
    def genesis_time(self) -> int:
        """Return when slot 0 of the beacon chain began, in seconds since 1970."""
        with urlopen(f"{self.beacon.url}/eth/v1/beacon/genesis", timeout=PATIENCE) as reply:
            return int(json.load(reply)["data"]["genesis_time"])

    @property
    def urls(self) -> tuple[str, str]:
        """Return where the followers answer."""
        proved, announced = (node.bare(node.http_url) for node in (self.proved, self.announced))
        return proved, announced


def block(url: str, tag: str) -> Block | None:
    """Return a block without its transactions, None before there is one."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber", "params": [tag, False]}
    # Without a safe block, `safe` is refused.
    found: Block | None = json.loads(post(url, json.dumps(request))).get("result")
    return found


def marks(url: str) -> list[str | None]:
    """Return the hashes of the head, the safe and the finalized block."""
    found = [block(url, tag) for tag in ("latest", "safe", "finalized")]
    return [None if each is None else each["hash"] for each in found]


class Proofs:
    """What the beacon node has told, and whether the followers serve it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.by_slot: dict[int, str] = {}
        """Hashes of proved blocks."""
        self.dropped: set[str] = set()
        """Hashes of blocks that have left the chain."""
        self.last: object = None
        """What was compared last, for a failure."""

    def are_served(self) -> bool:
        """Return whether both followers serve what the beacon node tells now."""
        told = self._scene.beacon.control()
        proved, finalized = (told[name]["block_hash"] for name in ("proved", "finalized"))
        self.by_slot[told["proved"]["slot"]] = proved
        by_proof, by_announcement = map(marks, self._scene.urls)
        self.last = told, by_proof, by_announcement
        if (by_proof[0], by_proof[2]) != (proved, finalized) or by_announcement[1:] != [proved, finalized]:
            return False
        return self._is_within_reach() and self._is_safe(
            by_proof[1], told["proved"]["slot"] - EPOCH_SLOTS, finalized
        )

    def _is_within_reach(self) -> bool:
        """Return whether the announced head is at most as far above the proved one as it may be.

        While the beacon node rests, proofs are late, and the head stays, also one that was left meanwhile.
        """
        head, proved = (block(self._scene.urls[1], tag) for tag in ("latest", "safe"))
        if head is None or proved is None:
            return False
        return 0 <= int(head["number"], 16) - int(proved["number"], 16) <= ANNOUNCED_AHEAD

    def _is_safe(self, safe: str | None, newest: int, finalized: str) -> bool:
        """Return whether a block is the newest that was proved up to a slot, and is on the chain.

        A follower may have seen a proof in between that the test has not.
        """
        old = [slot for slot in self.by_slot if slot <= newest and self.by_slot[slot] not in self.dropped]
        expected = max([finalized, *(self.by_slot[slot] for slot in old)], key=self._number)
        if safe == expected:
            return True
        found = self._block(safe)
        return (
            found is not None
            and self._is_canonical(safe)
            and self._number(safe) > self._number(expected)
            and int(found["timestamp"], 16) <= self._scene.genesis_time + newest * SLOT_SECONDS
        )

    def _block(self, block_hash: str | None) -> Block | None:
        """Return a block of the execution node, None if it does not have it."""
        if block_hash is None:
            return None
        found: Block | None = ask(self._scene.execution, "eth_getBlockByHash", block_hash, False)
        return found

    def _number(self, block_hash: str | None) -> int:
        found = self._block(block_hash)
        return -1 if found is None else int(found["number"], 16)

    def _is_canonical(self, block_hash: str | None) -> bool:
        found = block(self._scene.execution, hex(max(self._number(block_hash), 0)))
        return found is not None and found["hash"] == block_hash


class Heads:
    """When the blocks that a node announces arrive here."""

    def __init__(self, connection: ClientConnection) -> None:
        self.times: dict[str, float] = {}
        self._connection = connection
        request = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}
        connection.send(json.dumps(request))
        assert "result" in json.loads(connection.recv(PATIENCE))
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while True:
                told = json.loads(self._connection.recv())
                self.times.setdefault(told["params"]["result"]["hash"], time.monotonic())
        except ConnectionClosed:
            return


@contextmanager
def following(folder: Path, upstream: str, beacon: BeaconServer, head: str) -> Iterator[Node]:
    """Run a light follower of what is proved, or announced; its log is a file of the folder."""
    chain = ("--data", str(folder / head), "--genesis", str(genesis_file()), "--light")
    proofs = ("--beacon", beacon.url, "--checkpoint", beacon.checkpoint, "--head", head)
    served = ("--upstream", upstream, "--listen", "127.0.0.1:0", "--open")
    with (
        (folder / f"{head}.log").open("w") as log,
        started("follow", *chain, *proofs, *served, stderr=log) as node,
    ):
        yield node


def test_head_safe_and_finalized_are_those_of_the_beacon_node_in_each_slot(tmp_path: Path) -> None:
    blocks = ("--dev.period", str(SLOT_SECONDS), "--http.api", "debug,eth,net,web3")
    with ExitStack() as stack:
        geth = stack.enter_context(started_geth(tmp_path / "geth", genesis_file(), *blocks))
        until("two blocks", lambda: int(ask(geth.http, "eth_blockNumber"), 16) >= 2)
        slot = FIRST_SLOT + int(ask(geth.http, "eth_blockNumber"), 16)
        gloas = slot // EPOCH_SLOTS + EPOCHS_TO_GLOAS
        fork = ("--fork-at", f"{gloas}:gloas", "--seconds", str(SLOT_SECONDS))
        beacon = stack.enter_context(started_beacon_server(geth.http, *fork))
        nodes = (
            stack.enter_context(following(tmp_path, geth.websocket, beacon, head))
            for head in ("proved", "announced")
        )
        scene = Scene(geth.http, beacon, *nodes)
        proofs = Proofs(scene)
        upstream, announced = (
            Heads(stack.enter_context(connect(url))) for url in (geth.websocket, scene.announced.socket_url)
        )
        watch(scene, proofs)
        seen = proofs.by_slot
        assert len({slot // PERIOD_SLOTS for slot in seen}) > 2, "two changes of the committee"
        assert min(seen) < gloas * EPOCH_SLOTS < max(seen)
        assert proofs.dropped & set(seen.values()), "a proved block has left the chain"
        for node, url in zip((scene.proved, scene.announced), scene.urls, strict=True):
            require_same_chain(url, scene.execution)
            # No two blocks of one slot were signed.
            with urlopen(f"{node.bare(node.http_url)}metrics", timeout=PATIENCE) as page:
                told = re.findall(r"^wsnode_beacon_equivocations_total\S* (\S+)", page.read().decode(), re.M)
            assert [float(each) for each in told] == [0]
    report(proofs, upstream, announced)


def watch(scene: Scene, proofs: Proofs) -> None:
    """Compare the followers with the beacon node after each slot, and have blocks leave the chain meanwhile.

    The beacon node rests while they are compared, so that a follower may wait for the processor.
    """
    first = slot = scene.beacon.control()["head"]["slot"]
    left, newest = {first + after: blocks for after, blocks in LEFT.items()}, 0
    while slot < first + SLOTS:
        scene.beacon.control(paused=False)
        await_slot(scene.beacon, slot + 1)
        told = scene.beacon.control(paused=True)
        slot = told["head"]["slot"]
        # After blocks have left the chain, what the next one signs is older than what was proved before.
        if told["proved"]["slot"] >= newest:
            newest = told["proved"]["slot"]
            try:
                until(f"what is proved in slot {slot} is served", proofs.are_served)
            except AssertionError as error:
                error.add_note(str(proofs.last))
                raise
        for due in [each for each in left if each <= slot]:
            proofs.dropped |= leave_blocks(scene.execution, left.pop(due))


def leave_blocks(execution: str, blocks: int) -> set[str]:
    """Take the last blocks of an execution node off its chain, and return their hashes."""
    head = int(ask(execution, "eth_blockNumber"), 16)
    numbers = range(head - blocks + 1, head + 1)
    dropped = {each["hash"] for number in numbers if (each := block(execution, hex(number))) is not None}
    ask(execution, "debug_setHead", hex(head - blocks))
    return dropped


def await_slot(beacon: BeaconServer, slot: int) -> None:
    """Wait until the head of a beacon node is of a slot, or of a later one."""
    until(f"a block of slot {slot}", lambda: beacon.control()["head"]["slot"] >= slot)


def require_same_chain(url: str, execution: str) -> None:
    """Check that all blocks that a follower keeps are those of the execution node."""
    latest, earliest = block(url, "latest"), ask(url, "wsnode_status")["earliest"]
    assert latest is not None
    for number in range(int(earliest, 16), int(latest["number"], 16) + 1):
        ours, theirs = (block(each, hex(number)) for each in (url, execution))
        assert ours is not None
        assert theirs is not None
        assert ours["hash"] == theirs["hash"]


def report(proofs: Proofs, upstream: Heads, announced: Heads) -> None:
    """Print how many slots were compared, and how far an announced head is behind the upstream's."""
    delays = sorted(
        announced.times[each] - at for each, at in upstream.times.items() if each in announced.times
    )
    print(f"the same after {len(proofs.by_slot)} proved slots, up to {max(proofs.by_slot)}")
    print(
        f"{len(delays)} announced heads behind the upstream's: median {1e3 * median(delays):.1f} ms, "
        f"nine in ten {1e3 * delays[len(delays) * 9 // 10]:.1f} ms, longest {1e3 * delays[-1]:.1f} ms"
    )
