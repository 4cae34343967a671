"""Measure a light folder of a Starknet chain, and a second one that follows the first.

    python -m bench.upstreams.starknet [--blocks 60] [--transactions 5] [--events 20] [--block-ms 500]
                                       [--stored 0] [--window 20000] [--alone]
    python -m bench.upstreams.starknet --upstream URL… --chain NAME [--minutes 5] [--window 20000]
    python -m bench.upstreams.starknet pre-confirmed [--transport http] [--blocks 30]

A node in the measuring process serves a chain that was made before, each block at its time; `--stored` blocks
are there at the start. `wsnode follow --light` follows it, and unless `--alone` a second one follows the
first. With `--upstream` the first one follows other nodes, of which the first one must be a WebSocket.

Printed for each follower: seconds from the start of its process until it is ready, and requests for blocks
until then; how much later than the upstream's own subscriber its subscriber gets a head; CPU time and disk a
block, and its memory in the end. With `pre-confirmed`: how long after the upstream shows a transaction the
follower does, polled every 10 ms.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import trio
from trio_websocket import open_websocket_url

from bench.upstreams.heads import STARKNET, Heads
from bench.upstreams.starknet_blocks import CHAIN_ID, BlockMaker, BlockSize, RenderedBlock
from tests.node_process import Node, started
from tests.upstream.providers import Error, PostProvider, SocketProvider
from wsnode.load.histogram import percentile
from wsnode.load.machine import cpu_seconds, resident_bytes

HEADS = "7"
PATIENCE = 120.0
POLL_SECONDS = 0.01
SETTLED_SECONDS = 3.0
"""Seconds of waiting for duplicates, and for what a follower still stores, after the last block."""
COLUMNS = (
    *("follower", "ready s", "requests", "blocks", "p50 ms", "p99 ms", "most ms", "missing", "twice"),
    *("CPU ms a block", "kB a block", "MB resident"),
)
BEGINNING = 3
"""Number of blocks at the start of the chain that are not measured."""


class MadeNode:
    """A node that serves the first blocks of a chain, and shows the next one as pre-confirmed."""

    def __init__(self, nursery: trio.Nursery, blocks: list[RenderedBlock], served: int) -> None:
        self.provider = SocketProvider(nursery, self._answer)
        self.posts = PostProvider(nursery, self._post)
        self.blocks = blocks
        self.served = served
        self.is_under_way = False
        self.asked = Counter[str]()
        self._numbers = {block.hash: block.number for block in blocks}

    @property
    def head(self) -> RenderedBlock:
        """Return the last block that is served."""
        return self.blocks[self.served - 1]

    async def grow(self) -> None:
        """Serve one more block, and announce it."""
        self.served, self.is_under_way = self.served + 1, False
        params = {"subscription_id": HEADS, "result": msgspec.Raw(self.head.header)}
        message = {"jsonrpc": "2.0", "method": "starknet_subscriptionNewHeads", "params": params}
        text = msgspec.json.encode(message).decode()
        for connection in self.provider.connections:
            with suppress(Exception):
                if connection.closed is None:
                    await connection.send_message(text)

    def _post(self, call: dict[str, Any]) -> tuple[int, list[tuple[str, str]], bytes]:
        return 200, [("Content-Type", "application/json")], msgspec.json.encode(self.provider.reply(call))

    def _answer(self, method: str, params: Any) -> Any:
        name = method.removeprefix("starknet_")
        self.asked[name] += 1
        if name == "specVersion":
            return "0.10.0"
        if name == "chainId":
            return "0x" + CHAIN_ID.encode().hex()
        if name == "blockHashAndNumber":
            return {"block_hash": self.head.hash, "block_number": self.head.number}
        if name == "subscribeNewHeads":
            return HEADS
        if name not in ("getBlockWithReceipts", "getStateUpdate", "getBlockWithTxHashes"):
            return Error(-32601, "Method not found")
        if params["block_id"] == "pre_confirmed":
            block = self.blocks[self.served] if self.is_under_way else None
            if block is None:
                return Error(24, "Block not found")
            return msgspec.Raw(block.under_way if name == "getBlockWithReceipts" else block.under_way_update)
        block = self._block(params["block_id"])
        if block is None:
            return Error(24, "Block not found")
        texts = {
            "getBlockWithReceipts": block.whole,
            "getStateUpdate": block.update,
            "getBlockWithTxHashes": block.hashes,
        }
        return msgspec.Raw(texts[name])

    def _block(self, block_id: Any) -> RenderedBlock | None:
        if block_id == "l1_accepted":
            return self.blocks[0]
        number = block_id.get("block_number", self._numbers.get(block_id.get("block_hash")))
        return self.blocks[number] if number is not None and number < self.served else None


class Follower(msgspec.Struct):
    """Running follower, with the CPU seconds and the disk bytes that it has used."""

    name: str
    node: Node
    folder: Path
    ready_seconds: float
    heads: Heads
    cpu: float = 0.0
    disk: int = 0

    def begin(self) -> None:
        """Count CPU and disk from now on."""
        self.cpu, self.disk = cpu_seconds(self.node.process.pid), disk_bytes(self.folder)

    async def has_all(self, hashes: list[str]) -> bool:
        """Return whether its subscriber got all blocks."""
        return all(each in self.heads.arrived for each in hashes)

    def row(self, hashes: list[str], theirs: Heads, requests: str) -> str:
        """Return the row of a table."""
        delays = [
            self.heads.arrived[each] - theirs.arrived[each] for each in hashes if each in self.heads.arrived
        ]
        delays.sort()
        missing = sum(each not in self.heads.arrived for each in hashes)
        twice = sum(self.heads.count[each] > 1 for each in hashes)
        times = " | ".join(f"{percentile(delays, part):.1f}" for part in (0.5, 0.99, 1.0))
        count = max(len(hashes), 1)
        computed = 1000 * (cpu_seconds(self.node.process.pid) - self.cpu) / count
        stored = (disk_bytes(self.folder) - self.disk) / count / 1000
        resident = resident_bytes(self.node.process.pid) / 1e6
        return (
            f"| {self.name} | {self.ready_seconds:.2f} | {requests} | {len(hashes)} | {times} | {missing} | "
            f"{twice} | {computed:.1f} | {stored:.0f} | {resident:.0f} |"
        )


def main() -> None:
    """Measure, and print a table."""
    options = read_options(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="starknet-") as temporary:
        if options.what == "pre-confirmed":
            print(trio.run(measure_pre_confirmed, Path(temporary), options))
            return
        rows = trio.run(measure_other if options.upstream else measure_made, Path(temporary), options)
    print(f"| {' | '.join(COLUMNS)} |")
    print("|---" * len(COLUMNS) + "|")
    print("\n".join(rows))


def read_options(arguments: list[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["heads", "pre-confirmed"], default="heads")
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--transactions", type=int, default=5)
    parser.add_argument("--events", type=int, default=20)
    parser.add_argument("--block-ms", type=float, default=500.0)
    parser.add_argument("--stored", type=int, default=0)
    parser.add_argument("--window", type=int, default=20_000)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--transport", choices=["ws", "http"], default="ws")
    parser.add_argument("--upstream", nargs="+", default=[])
    parser.add_argument("--chain", default=f"starknet:{CHAIN_ID}")
    parser.add_argument("--minutes", type=float, default=5.0)
    return parser.parse_args(arguments)


async def measure_made(folder: Path, options: argparse.Namespace) -> list[str]:
    """Return the rows of followers of a made chain."""
    maker = BlockMaker(BlockSize(options.transactions, options.events))
    before = options.stored + BEGINNING
    blocks = [maker.make() for _ in range(before + options.blocks)]
    sizes = [len(block.whole) + len(block.update) for block in blocks]
    contents = f"{options.transactions} transactions, {options.events} events"
    print(f"{statistics.mean(sizes) / 1000:.0f} kB a block as JSON, {contents}")
    async with trio.open_nursery() as nursery:
        upstream = MadeNode(nursery, blocks, before)
        url = await serve(nursery, upstream.provider.serve, "ws")
        theirs = Heads(STARKNET)
        await nursery.start(theirs.listen, url)
        async with followers(folder, [url], options, nursery, upstream) as found:
            first, _ = found[0]
            if options.stored:
                print(await time_filling(first, before))
            for follower, _ in found:
                follower.begin()
            begun = trio.current_time()
            for place in range(options.blocks):
                await trio.sleep_until(begun + (place + 1) * options.block_ms / 1000)
                await upstream.grow()
            hashes = [block.hash for block in blocks[before:]]
            await all_arrived([follower for follower, _ in found], hashes)
            rows = [follower.row(hashes, theirs, requests) for follower, requests in found]
            # Before the followers end, and their connections with them.
            nursery.cancel_scope.cancel()
    return rows


async def measure_other(folder: Path, options: argparse.Namespace) -> list[str]:
    """Return the rows of followers of other nodes."""
    async with trio.open_nursery() as nursery:
        theirs = Heads(STARKNET)
        await nursery.start(theirs.listen, options.upstream[0])
        async with followers(folder, options.upstream, options, nursery, None) as found:
            for follower, _ in found:
                follower.begin()
            began = time.perf_counter()
            await trio.sleep(60 * options.minutes)
            hashes = [each for each, arrived in theirs.arrived.items() if arrived > began]
            await trio.sleep(SETTLED_SECONDS)
            rows = [follower.row(hashes, theirs, requests) for follower, requests in found]
            # Before the followers end, and their connections with them.
            nursery.cancel_scope.cancel()
    return rows


async def measure_pre_confirmed(folder: Path, options: argparse.Namespace) -> str:
    """Return how long it takes until the follower shows what the upstream does."""
    maker = BlockMaker(BlockSize(options.transactions, options.events))
    blocks = [maker.make() for _ in range(BEGINNING + options.blocks + 1)]
    delays = []
    async with trio.open_nursery() as nursery:
        upstream = MadeNode(nursery, blocks, BEGINNING)
        serving = upstream.provider.serve if options.transport == "ws" else upstream.posts.serve
        url = await serve(nursery, serving, options.transport)
        async with running(folder / "data", [url], options) as (node, _):
            await until_ready(node)
            chance = trio.lowlevel.current_clock()
            async with open_websocket_url(node.bare(node.socket_url)) as socket:
                for place in range(options.blocks):
                    # At another moment between two polls each time.
                    await trio.sleep(0.3 + place % 10 / 20)
                    upstream.is_under_way = True
                    began = chance.current_time()
                    await until(partial(shows, socket, options.transactions))
                    delays.append(chance.current_time() - began)
                    await upstream.grow()
                    await until(partial(is_at, socket, upstream.head.number))
        nursery.cancel_scope.cancel()
    delays.sort()
    times = ", ".join(
        f"{name} {percentile(delays, part):.0f} ms" for name, part in (("p50", 0.5), ("most", 1.0))
    )
    return f"pre-confirmed over {options.transport}, {len(delays)} blocks: {times}"


async def shows(socket: Any, count: int) -> bool:
    """Return True if the pre-confirmed block of a node has `count` transactions."""
    return bool(await ask(socket, "starknet_getBlockTransactionCount", ["pre_confirmed"]) == count)


async def is_at(socket: Any, number: int) -> bool:
    """Return True if the head of a node is block `number`."""
    return bool(await ask(socket, "starknet_blockNumber", []) == number)


async def has_block(socket: Any, number: int) -> bool:
    """Return whether a node has a block."""
    return await ask(socket, "starknet_getBlockTransactionCount", [{"block_number": number}]) is not None


async def until(is_met: Callable[[], Awaitable[bool]]) -> None:
    """Return once a condition holds."""
    while not await is_met():  # noqa: ASYNC110
        await trio.sleep(POLL_SECONDS)


async def ask(socket: Any, method: str, params: list[Any]) -> Any:
    """Return the result of a method, None for an error."""
    await socket.send_message(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    return msgspec.json.decode(await socket.get_message()).get("result")


async def serve(nursery: trio.Nursery, handler: Any, scheme: str) -> str:
    """Serve on a free port, and return its address."""
    (listener,) = await nursery.start(partial(trio.serve_tcp, handler, 0, host="127.0.0.1"))
    return f"{scheme}://127.0.0.1:{listener.socket.getsockname()[1]}/"


@asynccontextmanager
async def followers(
    folder: Path,
    urls: list[str],
    options: argparse.Namespace,
    nursery: trio.Nursery,
    upstream: MadeNode | None,
) -> AsyncIterator[list[tuple[Follower, str]]]:
    """Run a follower, and one that follows it; yield both with the requests until each was ready."""
    async with running(folder / "first", urls, options) as (node, began):
        await until_ready(node)
        seconds = time.perf_counter() - began
        requests = "" if upstream is None else str(upstream.asked["getBlockWithReceipts"])
        first = Follower("first", node, folder / "first", seconds, Heads(STARKNET))
        await nursery.start(first.heads.listen, node.bare(node.socket_url))
        if options.alone:
            yield [(first, requests)]
            return
        async with running(folder / "second", [node.bare(node.socket_url)], options) as (other, began):
            await until_ready(other)
            seconds = time.perf_counter() - began
            second = Follower("second", other, folder / "second", seconds, Heads(STARKNET))
            await nursery.start(second.heads.listen, other.bare(other.socket_url))
            yield [(first, requests), (second, "")]


@asynccontextmanager
async def running(
    folder: Path, urls: list[str], options: argparse.Namespace
) -> AsyncIterator[tuple[Node, float]]:
    """Run a light folder; yield it and the time of its start."""
    upstreams = [word for url in urls for word in ("--upstream", url)]
    chain = ("--chain", options.chain, "--light", "--window", str(options.window))
    stack = started("follow", "--data", str(folder), *chain, *upstreams, "--listen", "127.0.0.1:0", "--open")
    began = time.perf_counter()
    node = await trio.to_thread.run_sync(stack.__enter__)
    try:
        yield node, began
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(partial(stack.__exit__, None, None, None))


async def until_ready(node: Node) -> None:
    """Return once a node is ready."""
    with trio.fail_after(PATIENCE):
        await until(partial(trio.to_thread.run_sync, is_ready, node))


def is_ready(node: Node) -> bool:
    """Return whether `/readyz` answers 200."""
    try:
        with urllib.request.urlopen(f"{node.bare(node.http_url)}readyz", timeout=PATIENCE) as reply:
            return bool(reply.status == 200)
    except urllib.error.HTTPError:
        return False


async def time_filling(follower: Follower, count: int) -> str:
    """Return how fast the window is filled with the blocks below the head."""
    began, computed = time.perf_counter(), cpu_seconds(follower.node.process.pid)
    async with open_websocket_url(follower.node.bare(follower.node.socket_url)) as socket:
        await until(partial(has_block, socket, 0))
    seconds = time.perf_counter() - began
    cpu = 1000 * (cpu_seconds(follower.node.process.pid) - computed) / count
    size, resident = (
        disk_bytes(follower.folder) / count / 1000,
        resident_bytes(follower.node.process.pid) / 1e6,
    )
    rate = f"{count / seconds:.0f} blocks/s, {cpu:.1f} CPU ms and {size:.0f} kB a block"
    return f"filled with {count} blocks: {rate}, {resident:.0f} MB resident"


async def all_arrived(found: list[Follower], hashes: list[str]) -> None:
    """Return once all followers have sent all blocks, or after `PATIENCE`."""
    with trio.move_on_after(PATIENCE):
        for follower in found:
            await until(partial(follower.has_all, hashes))
    await trio.sleep(SETTLED_SECONDS)


def disk_bytes(folder: Path) -> int:
    """Return the bytes that a folder takes on disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
