"""How much later than subscribers of its writer do those of a replica get a block?

    python -m bench.cluster.replica [--blocks 300] [--transactions 100]

Starts a Redis on a socket, `wsnode dev --journal` and `wsnode replica`, and one subscriber of `newHeads` at
each. Each block is made with --transactions transfers, once both have got the one before. Times are of one
clock, that of the process in which both subscribers are.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

import trio
from trio_websocket import WebSocketConnection, open_websocket_url

from bench.cluster.journal import redis
from tests.node_process import Node, post, started

RECIPIENT = "0x" + "bb" * 20
KEY = "<API_KEY>"


class Subscriber:
    """Notes when each block, or each pending transaction, arrives."""

    def __init__(self, subject: str = "newHeads") -> None:
        self._subject = subject
        self.arrived: dict[str, float] = {}
        self.last = ""
        self.news = trio.Event()

    async def listen(self, socket: WebSocketConnection, task_status: trio.TaskStatus[None]) -> None:
        request = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": [self._subject]}
        await socket.send_message(json.dumps(request))
        await socket.get_message()
        task_status.started()
        while True:
            message = await socket.get_message()
            now = time.perf_counter()
            result = json.loads(message)["params"]["result"]
            self.last = result if isinstance(result, str) else result["hash"]
            self.arrived[self.last] = now
            self.news.set()
            self.news = trio.Event()

    async def wait_for(self, name: str) -> None:
        while name not in self.arrived:
            await self.news.wait()


def asked(node: Node, method: str, *params: Any) -> Any:
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return json.loads(post(node.http_url.replace(KEY, "any"), text))["result"]


@contextmanager
def nodes() -> Iterator[tuple[Node, Node]]:
    """Yield a writer and its replica."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="replica")))
        journal = f"unix://{opened.enter_context(redis(folder))}"
        writer = ("dev", "--quiet", "--data", str(folder / "writer"))
        place = ("--listen", "127.0.0.1:0", "--journal", journal)
        first = opened.enter_context(started(*writer, *place))
        asked(first, "evm_setAutomine", False)
        genesis = str(folder / "writer/eth/genesis.json")
        copy = ("replica", "--open", "--data", str(folder / "replica"), "--genesis", genesis)
        yield first, opened.enter_context(started(*copy, *place))


async def measured(writer: Node, replica: Node, blocks: int, transactions: int) -> list[float]:
    """Return for each block the milliseconds between the two subscribers."""
    first, second = Subscriber(), Subscriber()
    async with trio.open_nursery() as nursery:
        for node, subscriber in ((writer, first), (replica, second)):
            socket = await nursery.start(opened, node.socket_url.replace(KEY, "any"))
            await nursery.start(subscriber.listen, socket)
        delays = []
        for _ in range(blocks):
            await trio.to_thread.run_sync(make, writer, transactions)
            head = await trio.to_thread.run_sync(asked, writer, "eth_getBlockByNumber", "latest", False)
            await first.wait_for(head["hash"])
            await second.wait_for(head["hash"])
            delays.append((second.arrived[head["hash"]] - first.arrived[head["hash"]]) * 1000)
        nursery.cancel_scope.cancel()
    return delays


async def opened(url: str, task_status: trio.TaskStatus[WebSocketConnection]) -> None:
    """Hold a connection."""
    async with open_websocket_url(url) as socket:
        task_status.started(socket)
        await trio.sleep_forever()


def make(writer: Node, transactions: int) -> None:
    """Have a block with transfers."""
    sender = asked(writer, "eth_accounts")[0]
    for _ in range(transactions):
        asked(
            writer, "eth_sendTransaction", {"from": sender, "to": RECIPIENT, "value": "0x1", "gas": "0x5208"}
        )
    asked(writer, "evm_mine")


def main() -> None:
    """Measure, and print a row of a table for each size of a block."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--blocks", type=int, default=300)
    parser.add_argument("--transactions", type=int, nargs="*", default=[0, 100])
    options = parser.parse_args()
    print("| transfers in a block | p50 | p99 | most |\n|---|---|---|---|")
    for transactions in options.transactions:
        with nodes() as (writer, replica):
            delays = trio.run(measured, writer, replica, options.blocks, transactions)
        cuts = quantiles(delays, n=100, method="inclusive")
        print(
            f"| {transactions} | {cuts[49]:.1f} ms | {cuts[98]:.1f} ms | {max(delays):.1f} ms |", flush=True
        )


if __name__ == "__main__":
    main()
