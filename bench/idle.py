"""What do idle connections cost, and do other clients notice while they open?

    python -m bench.idle wsnode=ws://127.0.0.1:8545/@PID [geth=ws://127.0.0.1:8546/@PID …] --counts 1000

Opens connections up to each count, as fast as the node takes them or spread over `--over` seconds, beside a
client that asks for the block number a hundred times a second. `--http BYTES` opens HTTP connections instead:
each sends one request, whose head has about BYTES bytes, and reads the response. Memory is the growth of the
node's resident size since before the first connection, divided by their number. The limit of open files must
allow for them, the node's as well.
"""

import socket
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from bench.lib.attacks import Target, post_head
from bench.lib.nodes import Node, allow_many_files, parser_of, print_ratios
from bench.lib.peer import Peer, begin, one_round_trip, reach, steady_client
from wsnode.load.machine import cpu_seconds, resident_bytes

SETTLE_SECONDS = 2.0
AT_ONCE = 32
CALL = b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'


class Result(NamedTuple):
    """One count: KiB a connection, seconds to open, an existing client's p99 in milliseconds."""

    kib: float
    seconds: float
    p99: float


def begin_http(url: str, head_bytes: int) -> socket.socket:
    """Return an HTTP connection after sending one call, whose head has about `head_bytes` bytes."""
    connected = reach(url)
    head = f"{post_head(Target.of_url(url, 1))}Content-Length: {len(CALL)}\r\nUser-Agent: "
    connected.sendall(head.encode() + b"x" * max(1, head_bytes - len(head) - 4) + b"\r\n\r\n" + CALL)
    return connected


def open_more(
    url: str, count: int, opened: list[socket.socket], over: float, http: int | None = None
) -> None:
    """Open connections until there are `count`, some at once; with `http`, as `begin_http` does.

    Raises:
        ConnectionError: One was refused.
    """
    began, first = time.perf_counter(), len(opened)
    while (missing := count - len(opened)) > 0:
        time.sleep(max(0.0, began + over * (len(opened) - first) / (count - first) - time.perf_counter()))
        fresh = [begin(url) if http is None else begin_http(url, http) for _ in range(min(AT_ONCE, missing))]
        for connected in fresh:
            answer = connected.recv(4096)
            while b"\r\n\r\n" not in answer and (more := connected.recv(4096)):
                answer += more
            if (b" 101 " if http is None else b" 200 ") not in answer.partition(b"\r\n")[0]:
                raise ConnectionError(f"refused after {len(opened)}: {answer[:200].decode(errors='replace')}")
        opened += fresh


def measure(node: Node, counts: Sequence[int], *, over: float, http: int | None = None) -> list[Result]:
    """Print a line for each count, and return the figures."""
    peer = Peer(node.url)
    one_round_trip(peer)
    peer.close()
    time.sleep(0.5)
    before = resident_bytes(node.process) if node.process else 0
    opened: list[socket.socket] = []
    results = [at_count(node, count, opened, before, over, http) for count in counts]
    for connected in opened:
        connected.close()
    if node.process:
        time.sleep(SETTLE_SECONDS)
        print(
            f"  after all have left: {(resident_bytes(node.process) - before) / 2**20:+.1f} MiB", flush=True
        )
    return results


def at_count(
    node: Node, count: int, opened: list[socket.socket], before: int, over: float, http: int | None
) -> Result:
    """Open connections up to `count` and print what that took."""
    pid = node.process
    with steady_client(node.url) as client:
        began = time.perf_counter()
        open_more(node.url, count, opened, over, http)
        seconds = time.perf_counter() - began
    time.sleep(SETTLE_SECONDS)
    kib, idle_cpu = float("nan"), float("nan")
    if pid:
        kib = (resident_bytes(pid) - before) / count / 1024
        cpu = cpu_seconds(pid)
        time.sleep(SETTLE_SECONDS)
        idle_cpu = (cpu_seconds(pid) - cpu) / SETTLE_SECONDS
    print(f"  {count:,} idle: {kib:.1f} KiB each, {idle_cpu:.1%} of a core; opened in {seconds:.1f} s")
    print(f"    a client meanwhile: {client}", flush=True)
    return Result(kib, seconds, client.percentile(0.99))


def compare(
    nodes: Sequence[Node], counts: Sequence[int], *, over: float, http: int | None = None
) -> list[Result]:
    """Return each node's figures at the last count, after printing all and the ratios."""
    figures = list[Result]()
    for node in nodes:
        print(node.name, flush=True)
        figures.append(measure(node, counts, over=over, http=http)[-1])
    print_ratios(("memory", "seconds to open", "p99 meanwhile"), nodes, figures)
    return figures


def main() -> int:
    """Measure each node."""
    parser = parser_of(__doc__)
    parser.add_argument("--counts", type=lambda text: list(map(int, text.split(","))), default=[1000, 10_000])
    parser.add_argument("--over", type=float, default=0.0, help="seconds that the opening takes at least")
    parser.add_argument("--http", type=int, metavar="BYTES", help="HTTP connections, with such a head")
    options = parser.parse_args()
    allow_many_files()
    compare(options.nodes, options.counts, over=options.over, http=options.http)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ConnectionError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
