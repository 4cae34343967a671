"""The chain that a soak goes on with: blocks with logs, reorganisations, and what it has to be in the end."""

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from bench.lib.contracts import burst_creation, deploy, deploy_token
from tests.hostile.views import digest_of
from wsnode.load.connection import LoadConnection
from wsnode.load.frames import request_frame
from wsnode.load.node_reader import NodeReader, NodeRefusedError

BLOCK_SECONDS = 0.1
REORGANISE_SECONDS = 10.0
"""Until some blocks are replaced."""
DEEPEST = 3
NOISE = 20
"""Blocks from one block full of unwanted logs to the next."""
LOGS = 3
NOISY_LOGS = 1000
NOISY_BLOCKS = 3
PATIENCE = 120.0
TURN_SECONDS = 0.02
MAX_WAITING = 10
"""Fewer than what a client finds room for while others hold all that they may."""
GAS = hex(10_000_000)
BLOCKS_AT_ONCE = 500
MAX_TRIES = 60


class Scene(NamedTuple):
    """What there is on the chain, and what calls have to be answered."""

    first: int
    """The block from which on honest clients follow; no reorganisation goes below it."""
    contract: str
    noisy: str
    sender: str
    token: str
    holding: str
    """What the token says of `sender`."""
    owner: str
    balance: str
    """The tokens of `owner`, which never spends any."""


def prepared(url: str) -> Scene:
    """Return the scene, with some blocks of a thousand logs behind it."""
    with NodeReader(url) as asker:
        sender, owner, *_others = asker.ask("eth_accounts")
        contract, noisy = (deploy(asker, sender, burst_creation()) for _ in range(2))
        token = deploy_token(asker, sender)
        for _ in range(NOISY_BLOCKS):
            asker.ask("eth_sendTransaction", logging(sender, noisy, NOISY_LOGS))
        asker.ask("anvil_mine", hex(2 * DEEPEST))
        first = int(asker.ask("eth_blockNumber"), 16) - DEEPEST
        holding = asker.ask("eth_call", balance_call(token, sender), "latest")
        balance = asker.ask("eth_getBalance", owner, "latest")
    return Scene(first, contract, noisy, sender, token, holding, owner, balance)


def logging(sender: str, contract: str, logs: int) -> dict[str, str]:
    """Return a transaction that emits a number of logs."""
    return {"from": sender, "to": contract, "gas": GAS, "data": f"0x{logs:064x}"}


def balance_call(token: str, owner: str) -> dict[str, str]:
    """Return the call of `balanceOf`."""
    return {"to": token, "data": f"0x70a08231{owner.removeprefix('0x'):0>64}"}


class Source:
    """Has ten blocks made a second, as far as the node can, in a thread of its own."""

    def __init__(self, url: str, scene: Scene) -> None:
        self.sent = self.reorganisations = 0
        self.failures: list[str] = []
        self._url, self._scene = url, scene
        self._connection = LoadConnection(url)
        self._waiting: dict[int, float] = {}
        """When each request was sent that has not been answered."""
        self._identity = 0
        self._due = time.monotonic()
        self._reorganise_due = self._due + REORGANISE_SECONDS
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._chance = random.Random(1)

    def begin(self) -> None:
        """Make blocks from now on."""
        self._thread.start()

    def end(self) -> int:
        """Make no more blocks, and return the number of the last one."""
        self.stop()
        with NodeReader(self._url) as asker:
            return int(asker.ask("eth_blockNumber"), 16)

    def stop(self) -> None:
        """Make no more blocks."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._ended.wait(TURN_SECONDS):
                self._send_due(time.monotonic())
                self._take_replies()
            while self._waiting:
                time.sleep(TURN_SECONDS)
                self._take_replies()
        except ConnectionError as error:
            self.failures.append(f"the source of blocks: {error}")
        self._connection.close()

    def _send_due(self, now: float) -> None:
        if now < self._due or len(self._waiting) >= MAX_WAITING:
            return
        self._due = max(self._due + BLOCK_SECONDS, now - BLOCK_SECONDS)
        self.sent += 1
        is_noisy = not self.sent % NOISE
        scene = self._scene
        contract, logs = (scene.noisy, NOISY_LOGS) if is_noisy else (scene.contract, LOGS)
        self._send("eth_sendTransaction", logging(scene.sender, contract, logs))
        if now > self._reorganise_due:
            self._reorganise_due = now + REORGANISE_SECONDS
            self.reorganisations += 1
            self._send("anvil_reorg", self._chance.randint(1, DEEPEST), [])

    def _send(self, method: str, *params: object) -> None:
        self._identity += 1
        self._waiting[self._identity] = time.monotonic()
        self._connection.send(request_frame(self._identity, method, params))

    def _take_replies(self) -> None:
        for reply in map(json.loads, self._connection.receive()):
            del self._waiting[reply["id"]]
            if "error" in reply:
                self.failures.append(f"the source of blocks: {reply['error']}")
        late = [identity for identity, began in self._waiting.items() if time.monotonic() > began + PATIENCE]
        for identity in late:
            del self._waiting[identity]
            self.failures.append(f"the source of blocks: no reply in {PATIENCE:g} s")


@contextmanager
def going_on(url: str, scene: Scene) -> Iterator[Source]:
    """Run a source of blocks, which does not outlive its caller."""
    source = Source(url, scene)
    source.begin()
    try:
        yield source
    finally:
        source.stop()


class Chain:
    """The chain's own heads and logs, asked for until the node tells them."""

    def __init__(self, asker: NodeReader, scene: Scene) -> None:
        self._asker, self._scene = asker, scene
        self.failures: list[str] = []

    def hashes(self, last: int) -> list[str]:
        """Return the hashes of blocks up to `last`."""
        numbers = range(self._scene.first, last + 1)
        return [self._ask("eth_getBlockByNumber", hex(number), False)["hash"] for number in numbers]

    def logs(self, last: int) -> list[bytes]:
        """Return the digests of all logs up to block `last`."""
        found: list[bytes] = []
        for first in range(self._scene.first, last + 1, BLOCKS_AT_ONCE):
            bounds = {"fromBlock": hex(first), "toBlock": hex(min(first + BLOCKS_AT_ONCE - 1, last))}
            found += map(digest_of, self._ask("eth_getLogs", {"address": self._scene.contract, **bounds}))
        return found

    def _ask(self, method: str, *params: object) -> Any:
        for _ in range(MAX_TRIES):
            try:
                return self._asker.ask(method, *params)
            except NodeRefusedError as error:
                self.failures.append(f"asking for the chain: {error}")
                time.sleep(1)
        raise ConnectionError(self.failures[-1])
