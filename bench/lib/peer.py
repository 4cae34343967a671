"""Connections: begun, for a client that tells replies apart, and for one that asks steadily meanwhile."""

import base64
import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any
from urllib.parse import urlsplit

from bench.lib.forked import forked
from wsnode.load.connection import connect
from wsnode.load.frames import PONG, ReplyReader, masked_frame, request_frame
from wsnode.load.histogram import percentile

RECEIVE_BYTES = 1024 * 1024
MAX_WAIT = 30.0


def reach(url: str, seconds: float | None = None, source: str | None = None) -> socket.socket:
    """Return a connection on which nothing has been sent; from the address `source`, if there is one."""
    place = urlsplit(url)
    target = (place.hostname or "localhost", place.port or 80)
    return socket.create_connection(target, seconds, (source, 0) if source else None)


def begin(url: str, seconds: float | None = None, source: str | None = None) -> socket.socket:
    """Return a connection whose handshake has been sent; `seconds` bound what it waits for."""
    place = urlsplit(url)
    connected = reach(url, seconds, source)
    key = base64.b64encode(os.urandom(16)).decode()
    connected.sendall(
        f"GET {place.path or '/'} HTTP/1.1\r\nHost: {place.netloc}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    return connected


class Peer:
    """One connection, for messages of a client that does nothing else."""

    def __init__(self, url: str) -> None:
        self.socket = connect(url)
        self._reader = ReplyReader()

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
            # Not select.select, which cannot wait for a descriptor above 1,023.
            if wait([self.socket], left):
                if not (received := self.socket.recv(RECEIVE_BYTES)):
                    raise ConnectionError("the node closed the connection")
                found = [json.loads(message) for message in self._reader.feed(received)]
                while self._reader.pings:
                    self.send(masked_frame(self._reader.pings.pop(), PONG))
        return found

    def close(self) -> None:
        """Leave without a word."""
        self.socket.close()


class Steady:
    """How long the replies to a client took that asks at a steady pace, in a process of its own.

    Its own wait for a core counts: where cores are few, run the benchmark with precedence (`chrt -f 5`).
    """

    def __init__(self) -> None:
        self.latencies: list[float] = []

    def percentile(self, part: float) -> float:
        """Return a percentile in milliseconds."""
        return percentile(sorted(self.latencies), part)

    def __str__(self) -> str:
        p50, p99, longest = (self.percentile(part) for part in (0.5, 0.99, 1))
        return f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, longest {longest:.2f} ms of {len(self.latencies)}"


@contextmanager
def steady_client(url: str, per_second: float = 100.0) -> Iterator[Steady]:
    """Ask for the block number all the while, one request in flight; what is yielded is filled at the end."""
    steady = Steady()
    with forked(_ask_steadily, url, per_second) as process:
        try:
            process.recv()
        except EOFError:
            raise ConnectionError(f"{url} does not answer") from None
        try:
            yield steady
        finally:
            process.send("stop")
            steady.latencies = process.recv() if process.poll(MAX_WAIT * 2) else []


def _ask_steadily(url: str, per_second: float, controller: Connection) -> None:
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
    return exchange(peer, request_frame(1, "eth_blockNumber"), began)


def exchange(peer: Peer, frame: bytes, began: float | None = None) -> float:
    """Return how long a message and the reply take, since `began` or since it is sent.

    Raises:
        ConnectionError: There is no reply.
    """
    began = time.perf_counter() if began is None else began
    peer.send(frame)
    if not peer.replies(MAX_WAIT):
        raise ConnectionError(f"no reply in {MAX_WAIT:g} s")
    return time.perf_counter() - began
