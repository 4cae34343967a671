"""What several benchmarks need: a client that tells replies apart, one that asks steadily, and /proc."""

import argparse
import json
import multiprocessing
import multiprocessing.connection
import os
import select
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.websocket import connect, masked_frame

RECEIVE_BYTES = 1024 * 1024
LONGEST_WAIT = 30.0


class Peer:
    """One connection, for messages of a client that does nothing else."""

    def __init__(self, url: str) -> None:
        self.socket = connect(urlsplit(url))
        self._received = bytearray()
        self._message = b""

    def ask(self, identity: int, method: str, params: Sequence[object] = ()) -> None:
        """Send a request."""
        self.send(request_frame(identity, method, params))

    def send(self, data: bytes) -> None:
        """Send all of `data`, waiting for the node to take it."""
        self.socket.setblocking(True)
        self.socket.sendall(data)
        self.socket.setblocking(False)

    def replies(self, seconds: float) -> list[dict[str, Any]]:
        """Return the replies that arrive within `seconds`, as soon as there are any.

        Raises:
            ConnectionError: The node closed the connection.
        """
        found: list[dict[str, Any]] = []
        end = time.perf_counter() + seconds
        while not found and (left := end - time.perf_counter()) > 0:
            if select.select([self.socket], [], [], left)[0]:
                if not (data := self.socket.recv(RECEIVE_BYTES)):
                    raise ConnectionError("the node closed the connection")
                self._received += data
                found = list(self._messages())
        return found

    def close(self) -> None:
        """Leave without a word."""
        self.socket.close()

    def _messages(self) -> Iterator[dict[str, Any]]:
        while (frame := self._frame()) is not None:
            head, payload = frame
            if head & 0x0F == 8:
                raise ConnectionError(f"the node said goodbye: {payload!r}")
            if head & 0x0F < 8:
                self._message += payload
                if head & 0x80:
                    message, self._message = self._message, b""
                    yield json.loads(message)

    def _frame(self) -> tuple[int, bytes] | None:
        received = self._received
        if len(received) < 2:
            return None
        size, start = received[1], 2
        if size > 125:
            start = 4 if size == 126 else 10
            size = int.from_bytes(received[2:start])
        if len(received) < max(start, start + size):
            return None
        frame = received[0], bytes(received[start : start + size])
        del received[: start + size]
        return frame


def request_frame(identity: int, method: str, params: Sequence[object] = ()) -> bytes:
    """Return a request in a frame."""
    request = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
    return masked_frame(json.dumps(request, separators=(",", ":")).encode())


class Steady:
    """How long the replies to a client took that asks at a steady pace, in a process of its own.

    Its own wait for a core counts: where cores are few, run the benchmark with precedence (`chrt -f 5`).
    """

    def __init__(self) -> None:
        self.latencies: list[float] = []

    def percentile(self, part: float) -> float:
        """Return a percentile in milliseconds."""
        ordered = sorted(self.latencies)
        if not ordered:
            return float("nan")
        return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000

    def __str__(self) -> str:
        p50, p99, longest = (self.percentile(part) for part in (0.5, 0.99, 1))
        return f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, longest {longest:.2f} ms of {len(self.latencies)}"


@contextmanager
def steady_client(url: str, per_second: float = 100.0) -> Iterator[Steady]:
    """Ask for the block number all the while, one request in flight; what is yielded is filled at the end."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    process = fork.Process(target=_ask_steadily, args=(url, per_second, theirs), daemon=True)
    process.start()
    theirs.close()
    steady = Steady()
    try:
        ours.recv()
    except EOFError:
        raise ConnectionError(f"{url} does not answer") from None
    try:
        yield steady
    finally:
        ours.send("stop")
        steady.latencies = ours.recv() if ours.poll(LONGEST_WAIT * 2) else []
        process.join(1)


def _ask_steadily(url: str, per_second: float, controller: multiprocessing.connection.Connection) -> None:
    peer, latencies = Peer(url), list[float]()
    one_round_trip(peer)
    controller.send("started")
    due = time.perf_counter()
    while not controller.poll(max(0.0, due - time.perf_counter())):
        # What a late reply delays counts too, as it would for a client that cannot wait.
        latencies.append(one_round_trip(peer, due))
        due = max(due + 1 / per_second, time.perf_counter() - 0.1)
    controller.send(latencies)


def one_round_trip(peer: Peer, began: float | None = None) -> float:
    """Return how long one block number takes, since `began` or since it is asked for.

    Raises:
        ConnectionError: There is no reply.
    """
    began = time.perf_counter() if began is None else began
    peer.ask(1, "eth_blockNumber")
    if not peer.replies(LONGEST_WAIT):
        raise ConnectionError(f"no reply in {LONGEST_WAIT:g} s")
    return time.perf_counter() - began


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_bytes(pid: int) -> int:
    """Return the most memory that a process ever had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def cpu_seconds(pid: int) -> float:
    """Return the time that a process has computed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser for one node or two and their processes."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("urls", nargs="+", metavar="URL", help="ws:// or wss://; two for a comparison")
    parser.add_argument("--pid", type=int, nargs="*", default=[], help="of the nodes, in the same order")
    return parser


def nodes_of(options: argparse.Namespace) -> list[tuple[str, int | None]]:
    """Return each URL with its process, if that was told."""
    pids: list[int | None] = [*options.pid, *[None] * len(options.urls)]
    return list(zip(options.urls, pids, strict=False))


def print_ratios(names: Sequence[str], figures: Sequence[Sequence[float]]) -> None:
    """Print how many times the second node's figure the first one's is, if two were measured."""
    if len(figures) == 2:
        for name, first, second in zip(names, *figures, strict=True):
            if second > 0:
                print(f"{name}: {first / second:.2f} times", flush=True)
