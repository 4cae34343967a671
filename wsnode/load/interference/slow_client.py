"""Latency of a client beside another that requests much and does not read."""

import msgspec

from wsnode.load.connection import LoadConnection
from wsnode.load.frames import request_frame
from wsnode.load.interference.steady import SteadyConnection, ask_steadily
from wsnode.load.latencies import percentiles
from wsnode.load.mix.samples import ChainSamples
from wsnode.load.node_reader import NodeReader

ASKED_BYTES = 64 << 20
MAX_REQUESTS = 20_000


class SlowClientResult(msgspec.Struct, frozen=True):
    """Percentiles in milliseconds of an ordinary client before and during the load, and the unread bytes."""

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
