"""The chain of a cluster's writer: blocks with logs, reorganisations, and patches, all from a seed."""

import random
import threading
from collections import Counter
from typing import Any, Final

from tests.clients.resuming.storm import Chain
from tests.cluster.faults.cluster import BLOCK_SECONDS, SLOT, STRANGER, Cluster
from tests.cluster.faults.histories import Mark

STEP_SECONDS: Final = 0.2
DEEPEST: Final = 3


class Weather(threading.Thread):
    """Something happens to the chain five times a second, as long as its writer is there."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._random = random.Random(seed)
        self._is_over = threading.Event()
        source = cluster.writers.source
        cluster.call(source, "evm_setAutomine", True)
        self.chain = Chain(cluster.url(source))
        cluster.call(source, "evm_setIntervalMining", BLOCK_SECONDS * 1000)
        self._sender = self.chain.call("eth_accounts")[0]
        self._first = self.chain.height
        self.counts: Counter[str] = Counter()
        self.dropped: set[str] = set()
        """Transactions of blocks that were replaced, and that nobody gives back to the pool."""
        self.failures: list[str] = []

    def end(self) -> None:
        self._is_over.set()

    def run(self) -> None:
        while not self._is_over.wait(STEP_SECONDS):
            try:
                self._step()
            except OSError:
                # The writer is away.
                self.counts["steps without a writer"] += 1
            except Exception as error:
                self.failures.append(f"weather: {error!r}")
                return

    def _step(self) -> None:
        works = self._cluster.writers.work
        (work,) = self._random.choices(list(works), list(works.values()))
        depth = self._random.randrange(1, DEEPEST + 1)
        if work.endswith("reorg") and self.chain.height - self._first > depth:
            self._reorganise(work, depth)
        elif work == "balance":
            self.chain.call("anvil_setBalance", STRANGER, hex(self._random.randrange(1, 1 << 64)))
        elif work == "storage":
            word = f"0x{self._random.randrange(1, 1 << 64):064x}"
            self.chain.call("anvil_setStorageAt", STRANGER, SLOT, word)
        else:
            work = "block"
            self._mine()
        self.counts[work] += 1

    def _mine(self) -> None:
        for _ in range(self._random.randrange(3)):
            self.chain.emit()
        self.chain.call("evm_mine")

    def _reorganise(self, method: str, depth: int) -> None:
        if method == "anvil_reorg":
            height = self.chain.height
            for number in range(height - depth + 1, height + 1):
                self.dropped |= set(self._block(number)["transactions"])
            self.chain.reorganise(depth)
        else:
            self.chain.call(method, {"depth": depth, "transactions": []})

    def _block(self, number: int) -> Any:
        return self.chain.call("eth_getBlockByNumber", hex(number), False)

    def canonical(self) -> tuple[list[Mark], set[str]]:
        """Return all blocks, and the transactions in them."""
        marks, mined = [], set[str]()
        for number in range(self.chain.height + 1):
            block = self._block(number)
            marks.append((number, block["hash"]))
            mined |= set(block["transactions"])
        return marks, mined
