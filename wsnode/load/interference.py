"""Latency of cheap calls beside heavy ones, and beside a client that does not read."""

import select
import time
from collections.abc import Callable, Sequence

import msgspec

from wsnode.load.connection import LoadConnection
from wsnode.load.frames import error_text, outcome, request_frame
from wsnode.load.histogram import percentiles
from wsnode.load.mix.samples import ChainSamples
from wsnode.load.node_reader import NodeReader

METHOD = "eth_blockNumber"
PACE = 0.01
FIRST_OTHER_ID = 1_000_000
"""First id of other users of the connection."""


class SteadyConnection(msgspec.Struct):
    """Connection of a load test with an `eth_blockNumber` request every 10 ms. `latencies` has the seconds
    until each reply, `asked` the due time of each open request by its id, and `others` the replies to other
    requests on this connection.
    """

    connection: LoadConnection
    latencies: list[float] = []
    others: list[bytes] = []
    asked: dict[int, float] = {}
    last: int = 0

    def ask(self, due: float) -> None:
        """Send an eth_blockNumber request; its latency counts from `due`, seconds of `time.perf_counter`."""
        self.last += 1
        self.asked[self.last] = due
        self.connection.send(request_frame(self.last, METHOD))

    def take(self) -> None:
        for message in self.connection.receive():
            identity, _is_error = outcome(message)
            if identity is None:
                continue
            if identity >= FIRST_OTHER_ID:
                self.others.append(message)
            elif asked := self.asked.pop(identity, None):
                self.latencies.append(time.perf_counter() - asked)


def ask_steadily(clients: Sequence[SteadyConnection], done: Callable[[], bool], longest: float) -> float:
    """Ask on all of `clients` until `done` or for `longest` seconds; return the seconds that it took.

    A request without a reply in the end counts with the time that it has waited.

    Raises:
        ConnectionError: The node closed a connection.
    """
    began = due = time.perf_counter()
    sockets = {client.connection.socket: client for client in clients}
    while not done() and (now := time.perf_counter()) - began < longest:
        if now >= due:
            for client in clients:
                client.ask(due)
            due += PACE
        ready, _, _ = select.select(list(sockets), [], [], max(0.0, due - time.perf_counter()))
        for each in ready:
            sockets[each].take()
    now = time.perf_counter()
    for client in clients:
        # The reply to a request younger than the pace may still be on its way, so only older requests count
        # as unanswered.
        client.latencies += [now - asked for asked in client.asked.values() if now - asked > PACE]
        client.asked.clear()
    return now - began


CONTRACT = "0x00000000000000000000000000000000c0ffee00"
LOOP = "0x5b600056"
"""Code JUMPDEST, PUSH1 0, JUMP: it ends when its gas is used up."""
GAS = 50_000_000
CALLS = 16
MAX_SECONDS = 30.0


class HeadOfLineResult(msgspec.Struct, frozen=True):
    """Percentiles of the latencies of cheap calls, in milliseconds: `alone` without load, `beside` on a
    connection with heavy `eth_call`s in flight, `elsewhere` on another connection meanwhile. `heavy_answered`
    heavy calls were answered within `heavy_seconds`; `heavy_says` is the outcome of the first.
    """

    alone: list[float]
    beside: list[float]
    elsewhere: list[float]
    heavy_answered: int
    heavy_seconds: float
    heavy_says: str


def measure_head_of_line(url: str, seconds: float) -> HeadOfLineResult:
    """Return the latencies of cheap calls before and while one connection has heavy `eth_call`s in flight.

    Raises:
        ConnectionError: The node refused or closed a connection.
    """
    alone, loaded, other = (SteadyConnection(LoadConnection(url)) for _ in range(3))
    try:
        ask_steadily([alone], lambda: False, seconds)
        loaded.connection.send(heavy_calls())
        taken = ask_steadily([loaded, other], lambda: len(loaded.others) >= CALLS, MAX_SECONDS)
    finally:
        for each in (alone, loaded, other):
            each.connection.close()
    return HeadOfLineResult(
        percentiles(alone.latencies),
        percentiles(loaded.latencies),
        percentiles(other.latencies),
        len(loaded.others),
        taken,
        said(loaded.others[0]) if loaded.others else "no reply",
    )


def said(message: bytes) -> str:
    """Return the outcome of a heavy call as text, from which its weight can be seen."""
    return error_text(message) if outcome(message)[1] else "a result"


def heavy_calls() -> bytes:
    """Return frames of calls to a contract of a state override, so any chain will do."""
    call = {"to": CONTRACT, "gas": hex(GAS)}
    params = [call, "latest", {CONTRACT: {"code": LOOP}}]
    return b"".join(request_frame(FIRST_OTHER_ID + number, "eth_call", params) for number in range(CALLS))


ASKED_BYTES = 64 << 20
MAX_REQUESTS = 20_000


class SlowClientResult(msgspec.Struct, frozen=True):
    """Percentiles of the latencies of an ordinary client's calls, in milliseconds: `before` the load and
    `meanwhile`. The load is a connection that reads none of the replies to its `requests` requests, of about
    `reply_bytes` bytes each.
    """

    before: list[float]
    meanwhile: list[float]
    requests: int
    reply_bytes: int


def measure_slow_client(url: str, samples: ChainSamples, seconds: float) -> SlowClientResult:
    """Return the latencies of cheap calls before and while another connection leaves 64 MiB unread.

    Raises:
        ConnectionError: The node refused or closed the ordinary client's connection.
    """
    params = [hex(samples.fullest_block), True]
    size = block_bytes(url, params)
    count = max(1, min(MAX_REQUESTS, ASKED_BYTES // size))
    before, meanwhile, slow = (
        SteadyConnection(LoadConnection(url)),
        SteadyConnection(LoadConnection(url)),
        LoadConnection(url),
    )
    try:
        ask_steadily([before], lambda: False, seconds)
        slow.send(b"".join(request_frame(number, "eth_getBlockByNumber", params) for number in range(count)))
        ask_steadily([meanwhile], lambda: _keep_asking(slow), seconds)
    finally:
        for connection in (before.connection, meanwhile.connection, slow):
            connection.close()
    return SlowClientResult(percentiles(before.latencies), percentiles(meanwhile.latencies), count, size)


def _keep_asking(slow: LoadConnection) -> bool:
    """Send bytes not accepted yet; return False, as no reply is awaited and the node may have closed."""
    try:
        slow.flush()
    except OSError:
        return False
    return False


def block_bytes(url: str, params: list[object]) -> int:
    """Return the approximate size of a block's reply in bytes."""
    with NodeReader(url) as node:
        return len(str(node.try_ask("eth_getBlockByNumber", *params)))
