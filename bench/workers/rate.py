"""How many calls of one key all workers together admit."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from bench.workers.processes import CALL, Started, running


class Rate(NamedTuple):
    """Calls that were admitted and refused, and the seconds that this took."""

    admitted: int
    refused: int
    seconds: float


def rate(
    data: Path, seconds: float = 60.0, per_second: int = 100, workers: int = 4, victims: int = 3
) -> Rate:
    """Call with one key over all workers, more often than it may, while workers are killed."""
    keys = [sys.executable, "-m", "wsnode", "keys", "add", f"bench-{time.time_ns()}", "--data", str(data)]
    limits = ["--requests-per-second", str(per_second), "--burst", "10"]
    key = subprocess.run([*keys, *limits], capture_output=True, text=True, check=True).stdout.split()[-1]
    with running("serve", "--data", str(data), "--workers", str(workers)) as node:
        url = f"{node.url}ws/v3/{key}"
        return asyncio.run(_calling(node, url, seconds, 2 * workers, victims))


async def _calling(node: Started, url: str, seconds: float, clients: int, victims: int) -> Rate:
    counts = {"result": 0, "error": 0}

    async def call() -> None:
        while True:
            with suppress(OSError, WebSocketException):
                async with connect(url, open_timeout=30) as client:
                    while True:
                        await client.send(CALL)
                        counts["result" if "result" in json.loads(await client.recv()) else "error"] += 1
                        await asyncio.sleep(0.01)

    calling = [asyncio.create_task(call()) for _ in range(clients)]
    # The first calls spend what the key has saved up.
    await asyncio.sleep(1)
    began, before = time.perf_counter(), dict(counts)
    for _ in range(victims):
        await asyncio.sleep(seconds / (victims + 1))
        os.kill(node.workers()[0], signal.SIGKILL)
    await asyncio.sleep(began + seconds - time.perf_counter())
    after, took = dict(counts), time.perf_counter() - began
    for task in calling:
        task.cancel()
    await asyncio.gather(*calling, return_exceptions=True)
    return Rate(after["result"] - before["result"], after["error"] - before["error"], took)
