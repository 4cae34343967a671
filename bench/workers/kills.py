"""What clients with cursors receive while workers are killed at random."""

import asyncio
import json
import os
import random
import signal
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from bench.lib.load import request
from bench.workers.processes import Started, readers_of, running

RECONNECT_SECONDS = 0.05
BLOCK_SECONDS = 0.2


class Journal:
    """A client with a cursor, which comes back whenever its connection ends."""

    def __init__(self) -> None:
        self.heads: list[tuple[int, str, str]] = []
        """Number, hash and parent of each block that it received."""
        self.ends = 0
        self._cursor: str | None = None

    async def follow(self, url: str, first: int) -> None:
        """Take what comes, for ever."""
        while True:
            with suppress(OSError, WebSocketException, TimeoutError):
                async with connect(url, open_timeout=30) as client:
                    await self._subscribe(client, first)
                    async for text in client:
                        self._take(json.loads(text))
            self.ends += 1
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _subscribe(self, client: ClientConnection, first: int) -> None:
        start = (
            {"fromBlock": hex(first), "cursors": True} if self._cursor is None else {"cursor": self._cursor}
        )
        await client.send(json.dumps(request("eth_subscribe", "newHeads", start)))

    def _take(self, message: dict[str, Any]) -> None:
        if "error" in message:
            raise RuntimeError(message["error"])
        if "params" not in message:
            return
        self._cursor = message["params"]["cursor"]
        if "number" in (head := message["params"]["result"]):
            self.heads.append((int(head["number"], 16), head["hash"], head["parentHash"]))

    def is_exact(self, first: int, last: int) -> bool:
        """Return whether it has each block from `first` to `last` once, in order, each on the last."""
        heads = [head for head in self.heads if head[0] <= last]
        chained = all(parent[1] == head[2] for parent, head in pairwise(heads))
        return chained and [number for number, _hash, _parent in heads] == list(range(first, last + 1))


class Kills(NamedTuple):
    """How many clients have each block once, of how many; their reconnections; readers left by the dead."""

    exact: int
    clients: int
    reconnections: int
    stale: int


def kills(folder: Path, count: int = 100, clients: int = 30, workers: int = 4, seed: int = 1) -> Kills:
    """Kill workers at random while clients follow a chain that grows."""
    data = folder / "kills"
    with (
        running("dev", "--data", str(data), "--block-time", str(BLOCK_SECONDS)) as writer,
        running("serve", "--data", str(data), "--open", "--workers", str(workers)) as node,
    ):
        journals = [Journal() for _ in range(clients)]
        first, last = asyncio.run(_killing(node, writer, journals, count, random.Random(seed)))
        # The chain has grown since the last one was killed, which frees what it was reading.
        living = {writer.process.pid, *node.workers()}
        stale = len(readers_of(data / "eth" / "chain") - living)
    exact = sum(journal.is_exact(first, last) for journal in journals)
    return Kills(exact, clients, sum(journal.ends for journal in journals), stale)


async def _killing(
    node: Started, writer: Started, journals: Sequence[Journal], count: int, chance: random.Random
) -> tuple[int, int]:
    first = await _head(writer.url)
    following = [asyncio.create_task(journal.follow(node.url, first)) for journal in journals]
    for _ in range(count):
        await asyncio.sleep(chance.uniform(0.1, 0.6))
        if living := node.workers():
            os.kill(chance.choice(living), signal.SIGKILL)
    last = await _head(writer.url) + 2
    async with asyncio.timeout(60):
        while any(not journal.heads or journal.heads[-1][0] < last for journal in journals):
            for task in following:
                if task.done():
                    await task
            await asyncio.sleep(BLOCK_SECONDS)
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    return first, last


async def _head(url: str) -> int:
    async with connect(url) as client:
        await client.send(json.dumps(request("eth_blockNumber")))
        return int(json.loads(await client.recv())["result"], 16)
