"""Does a node keep its memory, its pace and its word while clients stay, and others come and go?

    python -m bench.days NODE [NODE …] [--minutes 60]
    python -m bench.days --dev [--geth PATH] [--anvil PATH] [--minutes 60]
    python -m bench.days --follow [--minutes 60]

A NODE is `[NAME=]URL[@PID]` that mines at once on `eth_sendTransaction` from an account of its own: `wsnode
dev`, anvil, `geth --dev`. With --dev they are started here. Each second there is a block with 100 logs. Ten
clients follow heads and logs all the time, one of them reads nothing for 20 seconds in every 60; each second
one more comes, subscribes, leaves a filter behind, asks for logs, and goes ten seconds later without a word.
Every quarter of a minute two blocks are replaced, where the node offers that. Printed each minute: memory
that is no file's, computing, and the time of a round trip; in the end, whether those who stayed have exactly
the logs of the chain. With --follow the clients' node is a follower of `wsnode dev`, which makes the blocks,
is killed once a minute, and started again.
"""

import os
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.fan_out import LOGS, Ready, prepared, transaction
from bench.lib import started
from bench.lib.development import development_nodes, development_parser
from bench.lib.nodes import Node, anonymous_bytes
from bench.lib.peer import Peer, one_round_trip
from wsnode.load.histogram import percentile
from wsnode.load.machine import cpu_seconds
from wsnode.load.node_reader import NodeReader

STAYING = 10
VISITORS = 10
REPLACING_SECONDS = 15
ASLEEP_SECONDS = 20
KILLING_SECOND = 30
"""Of each minute."""
MAX_LAG = 30.0
SEARCHED_BLOCKS = 5000 // LOGS
MEBIBYTE = 1024 * 1024


class Follower:
    """A client that stays, and what it believes the chain's logs to be."""

    def __init__(self, ready: Ready) -> None:
        self.peer = Peer(ready.node.url)
        self.peer.ask(1, "eth_subscribe", ["newHeads"])
        self.peer.ask(2, "eth_subscribe", ["logs", {"address": ready.contract}])
        self.is_cut_off = False
        self.count = 0
        self.sum = 0
        """Of the hashes of all its logs: equal sets have equal ones."""

    def read(self, seconds: float) -> None:
        """Take what comes, for so long as there is more."""
        try:
            while not self.is_cut_off and (messages := self.peer.replies(seconds)):
                self._take(messages)
        except ConnectionError:
            self.is_cut_off = True

    def _take(self, messages: Sequence[dict[str, Any]]) -> None:
        for message in messages:
            result = message.get("params", {}).get("result", {})
            if "logIndex" in result:
                sign = -1 if result["removed"] else 1
                self.count += sign
                self.sum += sign * place_hash(result)


def place_hash(log: dict[str, Any]) -> int:
    """Return a number for a log's place on the chain."""
    return hash((log["blockHash"], log["logIndex"]))


class Maker:
    """Has a node make blocks, and replace some."""

    def __init__(self, ready: Ready) -> None:
        self._ready = ready
        self._asker = NodeReader(ready.node.url)

    def spend_second(self, second: int) -> None:
        """Make a block with logs."""
        self._asker.ask("eth_sendTransaction", transaction(self._ready))
        if second % REPLACING_SECONDS == 0:
            self._asker.try_ask("anvil_reorg", 2, [])

    def head(self) -> str:
        """Return the hash of the node's head."""
        return str(self._asker.ask("eth_getBlockByNumber", "latest", False)["hash"])


class MortalMaker(Maker):
    """Has a node make blocks that is killed once a minute."""

    def __init__(self, ready: Ready, restart: Callable[[], object]) -> None:
        super().__init__(ready)
        self._restart = restart

    def spend_second(self, second: int) -> None:
        """Make a block, or kill the node and start it again."""
        if second % 60 == KILLING_SECOND:
            self._restart()
            self._asker = NodeReader(self._ready.node.url)
        super().spend_second(second)


class Life:
    """One node and all its clients."""

    def __init__(self, ready: Ready, maker: Maker) -> None:
        self.node = ready.node
        self._ready = ready
        self._maker = maker
        self._asker = NodeReader(ready.node.url)
        self._first = int(self._asker.ask("eth_blockNumber"), 16) + 1
        self._followers = [Follower(ready) for _ in range(STAYING)]
        self._visitors: deque[Peer] = deque()
        self._pacer = Peer(ready.node.url)
        self._latencies: list[float] = []
        self._cpu = 0.0
        self.memory: list[float] = []
        """MiB, at the end of each minute."""

    def spend_second(self, second: int) -> None:
        """Make a block, and have clients read, come and go."""
        self._maker.spend_second(second)
        self._visit()
        for place, follower in enumerate(self._followers):
            if place or second % 60 > ASLEEP_SECONDS:
                follower.read(0.001)
        self._latencies += [one_round_trip(self._pacer) for _ in range(10)]

    def _visit(self) -> None:
        visitor = Peer(self.node.url)
        visitor.ask(1, "eth_subscribe", ["logs", {"topics": []}])
        visitor.ask(2, "eth_newFilter", [{"address": self._ready.contract}])
        visitor.ask(3, "eth_getLogs", [{"fromBlock": hex(self._first), "toBlock": hex(self._first + 50)}])
        self._visitors.append(visitor)
        if len(self._visitors) > VISITORS:
            self._visitors.popleft().close()

    def report(self, minute: int) -> None:
        """Print what the last minute was like."""
        process, latencies = self.node.process or 0, sorted(self._latencies)
        self.memory.append(anonymous_bytes(process) / MEBIBYTE)
        cpu, before = cpu_seconds(process), self._cpu
        self._cpu, self._latencies = cpu, []
        p50, p99 = percentile(latencies, 0.5), percentile(latencies, 0.99)
        print(
            f"  {minute:4} min {self.node.name:>8}  memory {self.memory[-1]:7.1f} MiB"
            f"  {cpu - before:6.2f} s of CPU  round trip p50 {p50:.2f} p99 {p99:.2f} ms",
            flush=True,
        )

    def judge(self) -> None:
        """Print the growth of memory, and the clients whose logs differ from the chain's."""
        # The one of the beginning said nothing meanwhile, not even that it is there.
        self._asker = NodeReader(self.node.url)
        self._wait_for_head()
        for follower in self._followers:
            follower.read(3.0)
        count, total = self._canonical()
        wrong = sum((follower.count, follower.sum) != (count, total) for follower in self._followers)
        settled = self.memory[len(self.memory) // 4 :]
        print(
            f"{self.node.name}: {count:,} logs, {wrong} of {STAYING} clients have others, "
            f"{sum(follower.is_cut_off for follower in self._followers)} cut off; "
            f"memory {settled[-1] - settled[0]:+.1f} MiB in the last {len(settled) - 1} minutes"
        )

    def _wait_for_head(self) -> None:
        end = time.monotonic() + MAX_LAG
        while self._asker.ask("eth_getBlockByNumber", "latest", False)["hash"] != self._maker.head():
            if time.monotonic() > end:
                print(f"{self.node.name} is not at the head")
                return
            time.sleep(0.05)

    def _canonical(self) -> tuple[int, int]:
        head, logs = int(self._asker.ask("eth_blockNumber"), 16), list[int]()
        for first in range(self._first, head + 1, SEARCHED_BLOCKS):
            bounds = {"fromBlock": hex(first), "toBlock": hex(min(first + SEARCHED_BLOCKS - 1, head))}
            found = self._asker.ask("eth_getLogs", {"address": self._ready.contract, **bounds})
            logs += map(place_hash, found)
        return len(logs), sum(logs)


def lives_at(nodes: Sequence[Node]) -> list[Life]:
    """Return the lives of nodes that make blocks themselves."""
    ready = [prepared(node) for node in nodes]
    return [Life(each, Maker(each)) for each in ready]


@contextmanager
def life_of_a_follower() -> Iterator[Life]:
    """Start a node that makes blocks and one that follows it."""
    with tempfile.TemporaryDirectory(prefix="days-") as temporary, ExitStack() as stack:
        folder = Path(temporary)
        port = started.free_port()
        command = [sys.executable, "-m", "wsnode", "dev", "--quiet", "--data", str(folder / "dev")]
        upstream = Mortal([*command, "--listen", f"127.0.0.1:{port}"], port, folder)
        stack.callback(upstream.stop)
        ready = prepared(upstream.start())
        port = started.free_port()
        command = [sys.executable, "-m", "wsnode", "follow", "--data", str(folder / "followed"), "--open"]
        command += ["--genesis", str(folder / "dev/eth/genesis.json"), "--upstream", ready.node.url]
        listening = [*command, "--listen", f"127.0.0.1:{port}"]
        node = stack.enter_context(started.running("follower", listening, port, folder))
        maker = MortalMaker(ready, upstream.kill_and_start)
        with NodeReader(node.url) as asker:
            while asker.ask("eth_getBlockByNumber", "latest", False)["hash"] != maker.head():
                time.sleep(0.1)
        yield Life(ready._replace(node=node), maker)


class Mortal:
    """A node that is killed and started again at one port."""

    def __init__(self, command: Sequence[str], port: int, folder: Path) -> None:
        self._command, self._port, self._folder = command, port, folder
        self._running = ExitStack()
        self._process: int | None = None

    def start(self) -> Node:
        """Return it once it answers."""
        node = self._running.enter_context(
            started.running("upstream", self._command, self._port, self._folder)
        )
        self._process = node.process
        return node

    def stop(self) -> None:
        """Return once it has ended."""
        self._running.close()

    def kill_and_start(self) -> None:
        """Kill it, and start it again."""
        if self._process is not None:
            os.kill(self._process, signal.SIGKILL)
        self.stop()
        self.start()


def live(lives: Sequence[Life], minutes: int) -> None:
    """Spend so long with all nodes, and judge them."""
    began = time.monotonic()
    for second in range(1, minutes * 60 + 1):
        for life in lives:
            life.spend_second(second)
        if second % 60 == 0:
            for life in lives:
                life.report(second // 60)
        time.sleep(max(0.0, began + second - time.monotonic()))
    for life in lives:
        life.judge()


def main() -> int:
    """Measure, and print."""
    parser = development_parser(__doc__)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--follow", action="store_true", help="start a node that follows another")
    options = parser.parse_args()
    if options.follow:
        with life_of_a_follower() as life:
            live([life], options.minutes)
        return 0
    with development_nodes(parser, options) as nodes:
        live(lives_at(nodes), options.minutes)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ConnectionError, started.StartError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
