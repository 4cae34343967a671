"""A chain with logs and reorganisations, on a node that is killed and started again on its folder."""

import itertools
import json
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from tests.node_process import kept_address, post, started, until

NOTE: Final = "0x61f50134ade1da4c6b1a14d45cbd893d0e82be8c83d9bd57c3920a0b8a934fb3"
"""The topic of `Note(uint256 indexed number)`."""
LOGS: Final = 3
"""Logs of each call."""
RARE: Final = 1
"""The number of the notes that few are interested in."""
_EMIT: Final = f"5f357f{NOTE[2:]}5f5fa2" * LOGS + "00"
_CREATE: Final = f"0x60{len(_EMIT) // 2:02x}8060095f395ff3{_EMIT}"
_SIGNALS: Final = (signal.SIGKILL, signal.SIGTERM)


class Chain:
    """A development chain with a contract whose calls make logs."""

    def __init__(self, http_url: str) -> None:
        self._url = http_url
        self._sender = self.call("eth_accounts")[0]
        self._numbers = RARE
        created = self.call("eth_sendTransaction", {"from": self._sender, "data": _CREATE, "gas": hex(10**6)})
        # geth refuses to look for one while it begins to index.
        until("it is mined", lambda: self.ask("eth_getTransactionReceipt", created).get("result"))
        self.emitter: str = self.call("eth_getTransactionReceipt", created)["contractAddress"]
        self.sent: list[str] = []
        """The hashes of all calls that did not belong to a reorganisation."""
        # geth fills in the nonce of the transaction before as long as its pool has not taken that in.
        self._names_nonces = self.call("web3_clientVersion").startswith("Geth/")
        self._nonces = itertools.count(int(self.call("eth_getTransactionCount", self._sender, "latest"), 16))

    def call(self, method: str, *params: Any) -> Any:
        reply = self.ask(method, *params)
        assert "result" in reply, reply
        return reply["result"]

    def ask(self, method: str, *params: Any) -> Any:
        return json.loads(
            post(self._url, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
        )

    @property
    def height(self) -> int:
        return int(self.call("eth_blockNumber"), 16)

    def emit(self, *, rare: bool = False) -> None:
        """Mine a block with notes."""
        note = self._note(RARE if rare else None)
        if self._names_nonces:
            note["nonce"] = hex(next(self._nonces))
        self.sent.append(self.call("eth_sendTransaction", note))

    def emit_until(self, what: str, condition: Callable[[], Any], *, rare: bool = False) -> None:
        """Emit, at least once, until the condition holds."""

        def holds() -> bool:
            self.emit(rare=rare)
            return bool(condition())

        until(what, holds)

    def reorganise(self, depth: int) -> None:
        """Replace the last blocks by others with notes of their own."""
        self.call("anvil_reorg", depth, [[self._note(), place] for place in range(depth)])

    def logs(self, *, rare: bool = False) -> list[tuple[int, str, int]]:
        """Return the places of all notes: a block's number and hash, and the index."""
        topics = [NOTE, "0x" + RARE.to_bytes(32).hex()] if rare else [NOTE]
        found = self.call("eth_getLogs", {"address": self.emitter, "fromBlock": "0x0", "topics": topics})
        return [(int(log["blockNumber"], 16), log["blockHash"], int(log["logIndex"], 16)) for log in found]

    def _note(self, number: int | None = None) -> dict[str, str]:
        if number is None:
            self._numbers += 1
        data = (number or self._numbers).to_bytes(32)
        return {"from": self._sender, "to": self.emitter, "gas": hex(10**6), "data": f"0x{data.hex()}"}


class Storm:
    """Blocks, reorganisations and kills, at random."""

    def __init__(self, address: str, folder: Path, seed: int) -> None:
        self._address = address
        self._folder = folder
        self._options: Sequence[str] = ()
        self._random = random.Random(seed)
        self._node = ExitStack()
        self.kills = self.blocks = self.reorganisations = 0
        self.start()
        self.chain = Chain(self._http)
        self._first_height = self.chain.height

    def start(self) -> None:
        """Start the node, which goes on with its chain."""
        self._running = self._node.enter_context(
            started("dev", "--quiet", "--listen", self._address, "--data", str(self._folder), *self._options)
        )
        self.url, self._http = self._running.socket_url, self._running.http_url

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End the node."""
        self._running.stop(number)
        self._node.close()

    def replace(self, folder: Path) -> None:
        """Have the node go on with another chain, with the same contract on it."""
        self.stop()
        self._folder = folder
        # Within the same second it would have the same blocks.
        self._options = ("--gas-limit", "20000000")
        self.start()
        emitter, self.chain = self.chain.emitter, Chain(self._http)
        assert self.chain.emitter == emitter

    def settle(self) -> None:
        """Later reorganisations leave all blocks of now alone."""
        self._first_height = self.chain.height

    def step(self) -> None:
        """Let one thing happen to the chain."""
        depth = self._random.randrange(1, 5)
        if self._random.random() < 0.2 and self.chain.height - self._first_height > depth:
            self.chain.reorganise(depth)
            self.reorganisations += 1
        else:
            self.chain.emit(rare=self._random.random() < 0.1)
            self.blocks += 1

    def kill(self, *, away: float) -> None:
        """End the node in the midst of things, and start it again after a while."""
        self.stop(self._random.choice(_SIGNALS))
        self.kills += 1
        time.sleep(away)
        self.start()


@contextmanager
def raised_storm(folder: Path, seed: int = 0) -> Iterator[Storm]:
    """Give a storm, and stop its node in the end."""
    with kept_address() as address:
        storm = Storm(address, folder, seed)
        try:
            yield storm
        finally:
            storm.stop()
