"""What does a client cost that asks for a gigabyte and never reads?

    python -m bench.slow_reader wsnode=ws://127.0.0.1:8545/@PID [geth=ws://127.0.0.1:8546/@PID …]

One client asks for `--bytes` of replies (a heavy block, again and again) and reads nothing. Another asks for
the block number a hundred times a second, before and meanwhile: its latency should not change, and the
node's memory should not grow. For another chain or another node name a call with `--method` and `--params`.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from bench.lib.nodes import Node, forget_peak, parser_of, peak_bytes, print_ratios
from bench.lib.peer import Peer, steady_client
from wsnode.load.frames import request_frame
from wsnode.load.machine import resident_bytes


class Result(NamedTuple):
    """The node's growth in MiB, and an ordinary client's p99 before and meanwhile in milliseconds."""

    growth: float
    before: float
    meanwhile: float


def reply_bytes(url: str, method: str, params: list[object]) -> int:
    """Return the size of one reply.

    Raises:
        ConnectionError: There is none, or it is an error.
    """
    peer = Peer(url)
    peer.ask(1, method, params)
    replies = peer.replies(30)
    peer.close()
    if not replies or "error" in replies[0]:
        raise ConnectionError(f"{method}: {replies}")
    return len(json.dumps(replies[0], separators=(",", ":")))


def pour(peer: Peer, request: bytes, count: int, seconds: float) -> int:
    """Send `count` requests for as long as the node takes them, and return how many those were."""
    sent, end = 0, time.perf_counter() + seconds
    burst = request * 64
    rest = b""
    while time.perf_counter() < end and sent < count * len(request):
        try:
            rest = rest or burst
            taken = peer.socket.send(rest)
            rest = rest[taken:]
            sent += taken
        except BlockingIOError:
            time.sleep(0.01)
        except ConnectionError:
            print("  the node cut it off")
            break
    time.sleep(max(0.0, end - time.perf_counter()))
    return sent // len(request)


def measure(node: Node, options: argparse.Namespace) -> Result:
    """Print and return what one node does."""
    url, pid = node.url, node.process
    size = reply_bytes(url, options.method, options.params)
    count = options.bytes // size + 1
    with steady_client(url) as before:
        time.sleep(options.seconds)
    grown_from = resident_bytes(pid) if pid else 0
    if pid:
        forget_peak(pid)
    slow = Peer(url)
    with steady_client(url) as meanwhile:
        taken = pour(slow, request_frame(1, options.method, options.params), count, options.seconds)
        resident = resident_bytes(pid) if pid else 0
    growth = (resident - grown_from) / 2**20
    peak = (peak_bytes(pid) - grown_from) / 2**20 if pid else 0.0
    slow.close()
    print(f"  {count:,} replies of {size:,} bytes asked for; the node took {taken:,} of the requests")
    print(f"  a client before:    {before}")
    print(f"  a client meanwhile: {meanwhile}")
    print(
        f"  p99 {meanwhile.percentile(0.99) / before.percentile(0.99):.2f} times the one before", flush=True
    )
    if pid:
        time.sleep(1)
        left = (resident_bytes(pid) - grown_from) / 2**20
        print(f"  memory: {growth:+.1f} MiB, highest {peak:+.1f}, after it has left {left:+.1f}")
    return Result(growth, before.percentile(0.99), meanwhile.percentile(0.99))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each node."""
    parser = parser_of(__doc__)
    parser.add_argument("--bytes", type=int, default=10**9, help="replies to ask for")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each of the two phases")
    parser.add_argument("--method", default="eth_getBlockByNumber")
    parser.add_argument("--params", type=json.loads, default=["latest", True])
    options = parser.parse_args(arguments)
    figures = []
    for node in options.nodes:
        print(node.name)
        figures.append(measure(node, options))
    print_ratios(("growth", "p99 before", "p99 meanwhile"), options.nodes, figures)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ConnectionError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
