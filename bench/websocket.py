"""How many requests a second does a node answer over WebSocket, and how soon?

    python bench/websocket.py ws://127.0.0.1:8545/ws/v3/key
    python bench/websocket.py ws://127.0.0.1:8545/ ws://127.0.0.1:8546/ --patterns 1x1,16x16,256x1
    python bench/websocket.py URL --method eth_call --params '[{"to":"0x…","data":"0x…"},"latest"]' --pid PID

Runs against any node. A pattern `16x16` is 16 connections with 16 requests in flight on each. With two URLs
they are measured in turn and the ratio of the first to the second is printed. The client is raw sockets with
frames made beforehand; replies are told by their frames. Latency takes replies in the order of requests,
which is exact for depth 1 and for methods that a node answers in turn.
"""

import argparse
import json
import multiprocessing
import os
import selectors
import statistics
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from wsnode.load.connection import Connection, connect
from wsnode.load.frames import masked_frame, request_frame
from wsnode.load.latencies import percentile

__all__ = ["connect", "masked_frame"]

WARM_UP = 0.1
"""The part of a run that is not counted."""


class Result(NamedTuple):
    """One run: requests a second, two percentiles in milliseconds, server CPU in microseconds a request."""

    rate: float
    p50: float
    p99: float
    errors: int
    cpu: float | None


class Client:
    """One connection with a window of requests in flight."""

    def __init__(self, connection: Connection, requests: Iterator[bytes], depth: int) -> None:
        self.connection = connection
        self.requests = requests
        self.depth = depth
        self.sent: deque[float] = deque()
        self.errors = 0

    def fill(self, count: int) -> None:
        """Send `count` requests, or as much of them as goes now."""
        self.sent.extend([time.perf_counter()] * count)
        self.connection.send(b"".join(next(self.requests) for _ in range(count)))

    def receive(self) -> int:
        """Return how many replies ended with what has arrived."""
        messages = self.connection.receive()
        self.errors += sum(b'"error"' in message[:60] for message in messages)
        return len(messages)


def frames(method: str, params: list[object]) -> Iterator[bytes]:
    """Yield requests for ever, made beforehand, with some thousand ids."""
    made = [request_frame(number, method, params) for number in range(100_000, 101_024)]
    while True:
        yield from made


def load(
    url: str, method: str, params: list[object], shape: tuple[int, int], seconds: float, out: object
) -> None:
    """Run one process's share of the connections and put (replies, errors, latencies) into `out`."""
    connections, depth = shape
    clients = [Client(Connection(url), frames(method, params), depth) for _ in range(connections)]
    selector = selectors.DefaultSelector()
    for client in clients:
        selector.register(client.connection.socket, selectors.EVENT_READ, client)
        client.fill(depth)
    begin = time.perf_counter() + seconds * WARM_UP
    end = begin + seconds * (1 - WARM_UP)
    replies, latencies, now = 0, list[float](), 0.0
    while now < end:
        for key, _events in selector.select(0.1):
            client = key.data
            ended = client.receive()
            now = time.perf_counter()
            for _ in range(ended):
                sent = client.sent.popleft()
                if now >= begin:
                    latencies.append(now - sent)
            replies += ended if now >= begin else 0
            if ended:
                client.fill(ended)
        now = time.perf_counter()
    latencies.sort()
    step = max(1, len(latencies) // 20_000)
    out.put((replies, sum(client.errors for client in clients), latencies[::step]))  # type: ignore[attr-defined]


def run(url: str, options: argparse.Namespace, connections: int, depth: int) -> Result:
    """Return what one run against `url` measured.

    Raises:
        ConnectionError: A process lost its connections.
    """
    processes = min(options.processes, connections)
    shares = [connections // processes + (number < connections % processes) for number in range(processes)]
    queue = multiprocessing.get_context("fork").Queue()
    workers = [
        multiprocessing.get_context("fork").Process(
            target=load,
            args=(url, options.method, options.params, (share, depth), options.seconds, queue),
        )
        for share in shares
    ]
    before = _cpu_seconds(options.pid)
    for worker in workers:
        worker.start()
    parts = []
    for worker in workers:
        while worker.is_alive() and queue.empty():
            time.sleep(0.05)
        if queue.empty():
            raise ConnectionError("a client process ended early")
        parts.append(queue.get())
    for worker in workers:
        worker.join()
    replies, errors = sum(part[0] for part in parts), sum(part[1] for part in parts)
    latencies = sorted(latency for part in parts for latency in part[2])
    counted = options.seconds * (1 - WARM_UP)
    after = _cpu_seconds(options.pid)
    # The CPU time includes the warm-up, so its requests are estimated at the same rate.
    cpu = (
        (after - before) / (replies / (1 - WARM_UP)) * 1e6
        if before is not None and after is not None
        else None
    )
    return Result(replies / counted, percentile(latencies, 0.5), percentile(latencies, 0.99), errors, cpu)


def _cpu_seconds(pid: int | None) -> float | None:
    if pid is None:
        return None
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure each pattern against each URL and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("urls", nargs="+", metavar="URL", help="ws:// or wss://; two for a comparison")
    parser.add_argument("--method", default="eth_blockNumber")
    parser.add_argument("--params", type=json.loads, default=[])
    parser.add_argument("--patterns", default="1x1,1x16,16x1,16x16,256x1", help="CONNECTIONSxDEPTH, …")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the median rate counts")
    parser.add_argument("--processes", type=int, default=1, help="of the client")
    parser.add_argument("--pid", type=int, help="of the node at the first URL, for its CPU time")
    options = parser.parse_args()
    print(f"{'pattern':>9} {'requests/s':>12} {'p50 ms':>9} {'p99 ms':>9} {'CPU us':>8}  {options.method}")
    for pattern in options.patterns.split(","):
        connections, depth = map(int, pattern.split("x"))
        rates = []
        for number, url in enumerate(options.urls):
            pid = options.pid if number == 0 else None
            shown = argparse.Namespace(**{**vars(options), "pid": pid})
            runs = [run(url, shown, connections, depth) for _ in range(options.repeat)]
            result = sorted(runs)[len(runs) // 2]
            rates.append(result.rate)
            cpu = (
                f"{statistics.median(each.cpu for each in runs if each.cpu is not None):8.1f}"
                if pid
                else " " * 8
            )
            print(
                f"{pattern:>9} {result.rate:12,.0f} {result.p50:9.3f} {result.p99:9.3f} {cpu}  {url}"
                + (f"  {result.errors} errors" if result.errors else ""),
                flush=True,
            )
        if len(rates) == 2:
            print(f"{'':>9} {rates[0] / rates[1]:12.2f} times", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ConnectionError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
