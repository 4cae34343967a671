"""Measure the delay of a light folder behind its upstream, on a chain of several blocks a second.

    python -m bench.upstreams.fast_chains [--minutes 10] [--block-ms 200] [--round-trip-ms 100]
                                          [--chain NAME …] [--undisturbed]

A node of the tests makes blocks of each family, each with one to three transactions and a log of each, and
serves them on a socket, half a round trip later each way. `wsnode follow --chain NAME` follows it and a node
beside it whose logs are wrong. Every 100 blocks the last one to three are replaced, and every 1,000 the
connection to the node is lost, but for the measuring process's own; not so with --undisturbed. That process
subscribes to `newHeads` at both.

Printed for each chain: how much later than the upstream's own subscriber wsnode's gets a block, the blocks of
the chain in the end that it did not get or got twice, and the CPU time of the node a block.
"""

import argparse
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection

from bench.upstreams.heads import ETHEREUM, Heads
from tests.families.built_blocks import MAKERS
from tests.families.fast_node import FastNode
from tests.node_process import Node, started
from tests.upstream.providers import Answer, SocketProvider
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.load.histogram import percentile
from wsnode.load.machine import cpu_seconds

REPLACED_EACH = 100
LOST_EACH = 1_000
"""Blocks from one reorganisation, or lost connection, to the next."""
BEGINNING = 8
"""Blocks that the upstream has at the start."""
CLOSING_SECONDS = 0.05
PATIENCE = 60.0
SETTLED_SECONDS = 5.0
"""Seconds of waiting for duplicates after the last block."""


class DistantProvider(SocketProvider):
    """Answers and tells over WebSocket; each message takes half a round trip, and arrives in its order."""

    def __init__(self, nursery: trio.Nursery, answer: Answer, half: float) -> None:
        super().__init__(nursery, answer)
        self._tasks = nursery
        self._half = half
        self._departed, self._under_way = trio.open_memory_channel[tuple[float, Callable[[], Any]]](inf)
        nursery.start_soon(self._deliver)

    async def _reply(self, connection: WebSocketConnection, call: Any) -> None:
        self._tasks.start_soon(self._reply_later, connection, call)

    async def _reply_later(self, connection: WebSocketConnection, call: Any) -> None:
        await trio.sleep(self._half)
        reply = msgspec.json.encode(self.reply(call)).decode()
        self._send(partial(connection.send_message, reply))

    async def tell(self, subscription: str, result: Any) -> None:
        """Send an event, which is there half a round trip later."""
        self._send(partial(super().tell, subscription, result))

    def _send(self, send: Callable[[], Any]) -> None:
        self._departed.send_nowait((trio.current_time() + self._half, send))

    async def _deliver(self) -> None:
        async for due, send in self._under_way:
            await trio.sleep_until(due)
            # What is sent to a lost connection is lost.
            with suppress(ConnectionClosed):
                await send()


def main() -> None:
    """Measure, and print a row of a table for each chain."""
    options = read_options(sys.argv[1:])
    print("| chain | blocks | p50 ms | p99 ms | most ms | missing | twice | CPU ms a block |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.chain:
        with tempfile.TemporaryDirectory(prefix="fast-") as folder:
            print(trio.run(measure, Path(folder), name, options), flush=True)


def read_options(arguments: list[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--block-ms", type=float, default=200.0)
    parser.add_argument("--round-trip-ms", type=float, default=100.0)
    parser.add_argument("--undisturbed", action="store_true")
    parser.add_argument("--chain", nargs="+", choices=list(MAKERS), default=list(MAKERS))
    return parser.parse_args(arguments)


async def measure(folder: Path, name: str, options: argparse.Namespace) -> str:
    """Return the row of a chain."""
    half = options.round_trip_ms / 2000
    provider = partial(DistantProvider, half=half)
    async with trio.open_nursery() as nursery:
        upstream = FastNode(nursery, name, provider=provider)
        upstream.grow(BEGINNING)
        liar = FastNode(nursery, name, provider=provider, lies=True)
        liar.repeat(upstream)
        url, other = [await serve(nursery, each) for each in (upstream, liar)]
        own, theirs = Heads(ETHEREUM), Heads(ETHEREUM)
        await nursery.start(theirs.listen, url)
        # The only one so far: the follower makes its own from here on.
        (measuring,) = upstream.provider.connections
        async with follower(folder, name, [url] if options.undisturbed else [url, other]) as node:
            await nursery.start(own.listen, node.bare(node.socket_url))
            await caught_up(own, upstream)
            began = cpu_seconds(node.process.pid)
            first = len(upstream.blocks)
            async for place in paced(options):
                await make(place, upstream, liar, None if options.undisturbed else measuring)
            computed = cpu_seconds(node.process.pid) - began
            hashes = [hexadecimal(made.head.hash) for made in upstream.blocks[first:]]
            with trio.move_on_after(PATIENCE):
                while any(each not in own.arrived for each in hashes):  # noqa: ASYNC110
                    await trio.sleep(0.1)
            await trio.sleep(SETTLED_SECONDS)
        nursery.cancel_scope.cancel()
    return row(name, hashes, own, theirs, computed)


async def serve(nursery: trio.Nursery, node: FastNode) -> str:
    """Serve a node on a free port, and return its address."""
    (listener,) = await nursery.start(partial(trio.serve_tcp, node.provider.serve, 0, host="127.0.0.1"))
    return f"ws://127.0.0.1:{listener.socket.getsockname()[1]}/"


@asynccontextmanager
async def follower(folder: Path, name: str, urls: list[str]) -> AsyncIterator[Node]:
    """Start a light folder of the chain."""
    upstreams = [word for url in urls for word in ("--upstream", url)]
    options = ("--chain", name, *upstreams, "--window", "64", "--listen", "127.0.0.1:0", "--open")
    stack = started("follow", "--data", str(folder), *options)
    node = await trio.to_thread.run_sync(stack.__enter__)
    try:
        yield node
    finally:
        stack.__exit__(None, None, None)


async def caught_up(own: Heads, upstream: FastNode) -> None:
    """Return once the follower has told of a block as soon as it was there."""
    with trio.fail_after(PATIENCE):
        while hexadecimal(upstream.head.hash) not in own.arrived:
            upstream.grow()
            await upstream.tell(1)
            await trio.sleep(1)


async def paced(options: argparse.Namespace) -> AsyncIterator[int]:
    """Yield the numbers of blocks at their times."""
    seconds = options.block_ms / 1000
    begun = trio.current_time()
    for place in range(1, int(options.minutes * 60 / seconds) + 1):
        await trio.sleep_until(begun + place * seconds)
        yield place


async def make(place: int, upstream: FastNode, liar: FastNode, kept: WebSocketConnection | None) -> None:
    """Have a block come, and what disturbs unless `kept` is None; that connection is not lost."""
    count = 1
    if kept is not None and place % REPLACED_EACH == 0:
        count += 1 + place // REPLACED_EACH % 3
        upstream.reorganise(count - 1)
    else:
        upstream.grow()
    if kept is not None and place % LOST_EACH == 0:
        for connection in upstream.provider.connections:
            if connection is not kept and connection.closed is None:
                # A peer that has gone by itself meanwhile never answers the close.
                with trio.move_on_after(CLOSING_SECONDS):
                    await connection.aclose()
    await upstream.tell(count)
    await liar.tell(count)


def row(name: str, hashes: list[str], own: Heads, theirs: Heads, computed: float) -> str:
    """Return the row of a table: delays, numbers of missing and of duplicate blocks, and CPU time."""
    delays = sorted(own.arrived[each] - theirs.arrived[each] for each in hashes if each in own.arrived)
    missing = sum(each not in own.arrived for each in hashes)
    twice = sum(own.count[each] > 1 for each in hashes)
    parts = [percentile(delays, part) for part in (0.5, 0.99, 1.0)]
    times = " | ".join(f"{each:.1f}" for each in parts)
    each = computed / max(len(hashes), 1) * 1000
    return f"| {name} | {len(hashes)} | {times} | {missing} | {twice} | {each:.2f} |"


if __name__ == "__main__":
    main()
