"""What several processes bring and cost: replies, CPU, and the delay of blocks that another process makes."""

import asyncio
import json
import time
from pathlib import Path
from typing import NamedTuple

from websockets.asyncio.client import connect

from bench.lib.cases import balance_call
from bench.lib.load import Message, request, run_load
from bench.lib.material import read_material
from bench.lib.nodes import Node
from bench.workers.processes import running


class Speed(NamedTuple):
    """Replies a second, and microseconds of CPU of all the node's processes for one."""

    rate: float
    cpu: float


def speed_of(data: Path, workers: int, case: str, shape: tuple[int, int], seconds: float) -> Speed:
    """Return what a node with these workers does under load."""
    with running("serve", "--data", str(data), "--open", "--workers", str(workers)) as node:
        messages = questions(node.url, case)
        run_load(Node("wsnode", node.url, None), messages, shape, min(1.0, seconds))
        began, cpu = time.perf_counter(), node.cpu_seconds()
        load = run_load(Node("wsnode", node.url, None), messages, shape, seconds)
        took = time.perf_counter() - began
        if load.errors:
            raise RuntimeError(f"{load.errors} calls failed")
        return Speed(load.rate, (node.cpu_seconds() - cpu) / (load.rate * took) * 1e6)


def questions(url: str, case: str) -> list[Message]:
    """Return the messages of a case."""
    if case in ("eth_blockNumber", "eth_chainId"):
        return [request(case)]
    material = read_material(url, None)
    return [balance_call(material.token, holder) for holder in material.holders]


async def notice_delays(writer: str, reader: str, blocks: int) -> list[float]:
    """Return, for each block, the milliseconds from its arrival at one node's subscriber to the other's."""
    seen: dict[str, dict[str, float]] = {}
    delays: list[float] = []

    async def listen(url: str) -> None:
        async with connect(url) as client:
            await client.send(json.dumps(request("eth_subscribe", "newHeads")))
            await client.recv()
            while len(delays) < blocks:
                head = json.loads(await client.recv())["params"]["result"]["hash"]
                times = seen.setdefault(head, {})
                times[url] = time.perf_counter()
                if len(times) == 2:
                    delays.append((times[reader] - times[writer]) * 1000)

    await asyncio.gather(listen(writer), listen(reader))
    return sorted(delays)


def notices(folder: Path, blocks: int = 300, workers: int = 2) -> list[float]:
    """Return the delays of a worker's subscriber behind one of the process that makes the blocks."""
    data = folder / "notices"
    with (
        running("dev", "--data", str(data), "--block-time", "0.1") as writer,
        running("serve", "--data", str(data), "--open", "--workers", str(workers)) as reader,
    ):
        return asyncio.run(notice_delays(writer.url, reader.url, blocks))
