"""How many requests a second does a node answer over WebSocket, and how soon?

    python bench/websocket.py ws://127.0.0.1:8545/ws/v3/key
    python bench/websocket.py ws://127.0.0.1:8545/ ws://127.0.0.1:8546/ --patterns 1x1,16x16,256x1
    python bench/websocket.py URL --method eth_call --params '[{"to":"0x…","data":"0x…"},"latest"]' --pid PID

Runs against any node. A pattern `16x16` is 16 connections with 16 requests in flight on each. With two URLs
they are measured in turn and the ratio of the first to the second is printed. The client is raw sockets with
frames made beforehand; replies are counted by their heads. Latency takes replies in the order of requests,
which is exact for depth 1 and for methods that a node answers in turn.
"""

import argparse
import base64
import json
import multiprocessing
import os
import selectors
import socket
import ssl
import statistics
import struct
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

RECEIVE_BYTES = 256 * 1024
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

    def __init__(self, connected: socket.socket, requests: Iterator[bytes], depth: int) -> None:
        self.socket = connected
        self.requests = requests
        self.depth = depth
        self.sent: deque[float] = deque()
        self.rest = b""
        self.skip = 0
        self.final = True
        self.errors = 0
        self.unsent = memoryview(b"")

    def fill(self, count: int) -> None:
        """Send `count` requests, or as much of them as goes now."""
        now = time.perf_counter()
        self.sent.extend([now] * count)
        self.unsent = memoryview(bytes(self.unsent) + b"".join(next(self.requests) for _ in range(count)))
        self.flush()

    def flush(self) -> None:
        """Send what could not be sent."""
        if self.unsent:
            try:
                self.unsent = self.unsent[self.socket.send(self.unsent) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                return

    def receive(self) -> int:
        """Return how many replies ended with what has arrived."""
        try:
            data = self.rest + self.socket.recv(RECEIVE_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            return 0
        if len(data) == len(self.rest):
            raise ConnectionError("the node closed the connection")
        position, replies = 0, 0
        while True:
            if self.skip:
                step = min(self.skip, len(data) - position)
                position += step
                self.skip -= step
                if self.skip:
                    break
                replies += self.final
            head = data[position : position + 10]
            size = _frame_size(head)
            if size < 0:
                break
            opcode = head[0] & 0x0F
            if opcode == 8:
                raise ConnectionError(f"the node said goodbye: {data[position : position + 60]!r}")
            self.final = opcode < 8 and head[0] >= 0x80
            start = position + (2 if size < 126 else 4 if size < 65536 else 10)
            if opcode in (0, 1, 2) and b'"error"' in data[start : start + 60]:
                self.errors += 1
            position, self.skip = start, size
        self.rest = data[position:]
        return replies


def _frame_size(head: bytes) -> int:
    if len(head) < 2:
        return -1
    size = head[1] & 0x7F
    if size == 126:
        return int(struct.unpack_from("!H", head, 2)[0]) if len(head) >= 4 else -1
    if size == 127:
        return int(struct.unpack_from("!Q", head, 2)[0]) if len(head) >= 10 else -1
    return size


def masked_frame(payload: bytes) -> bytes:
    """Return a client's text frame with a mask of its own."""
    mask, size = os.urandom(4), len(payload)
    head = struct.pack("!BB", 0x81, 0x80 | size) if size < 126 else struct.pack("!BBH", 0x81, 0xFE, size)
    key = int.from_bytes(mask * (size // 4 + 1))
    padded = payload + bytes(4 * (size // 4 + 1) - size)
    return head + mask + (int.from_bytes(padded) ^ key).to_bytes(len(padded))[:size]


def connect(url: SplitResult) -> socket.socket:
    """Return an open WebSocket connection, past its handshake.

    Raises:
        ConnectionError: The node refused it.
    """
    secure = url.scheme == "wss"
    host, port = url.hostname or "localhost", url.port or (443 if secure else 80)
    connected = socket.create_connection((host, port))
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if secure:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connected = context.wrap_socket(connected, server_hostname=host)
    key = base64.b64encode(os.urandom(16)).decode()
    connected.sendall(
        f"GET {url.path or '/'} HTTP/1.1\r\nHost: {url.netloc}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    answer = b""
    while b"\r\n\r\n" not in answer:
        # Byte by byte, so that nothing behind the handshake is taken.
        if not (byte := connected.recv(1)):
            break
        answer += byte
    if b" 101 " not in answer.partition(b"\r\n")[0]:
        raise ConnectionError(f"refused: {answer[:200].decode(errors='replace')}")
    connected.setblocking(False)
    return connected


def frames(method: str, params: list[object]) -> Iterator[bytes]:
    """Yield requests for ever, made beforehand, with some thousand ids."""
    made = [
        masked_frame(
            json.dumps(
                {"jsonrpc": "2.0", "id": number, "method": method, "params": params}, separators=(",", ":")
            ).encode()
        )
        for number in range(100_000, 101_024)
    ]
    while True:
        yield from made


def load(
    url: str, method: str, params: list[object], shape: tuple[int, int], seconds: float, out: object
) -> None:
    """Run one process's share of the connections and put (replies, errors, latencies) into `out`."""
    connections, depth = shape
    clients = [Client(connect(urlsplit(url)), frames(method, params), depth) for _ in range(connections)]
    selector = selectors.DefaultSelector()
    for client in clients:
        selector.register(client.socket, selectors.EVENT_READ, client)
        client.fill(depth)
    begin = time.perf_counter() + seconds * WARM_UP
    end = begin + seconds * (1 - WARM_UP)
    replies, latencies, now = 0, list[float](), 0.0
    while now < end:
        for key, _events in selector.select(0.1):
            client = key.data
            client.flush()
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
    return Result(replies / counted, _percentile(latencies, 0.5), _percentile(latencies, 0.99), errors, cpu)


def _percentile(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000 if ordered else float("nan")


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
