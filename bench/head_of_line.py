"""Do cheap calls wait behind heavy ones, on the same connection or on others?

    python -m bench.head_of_line wsnode=ws://127.0.0.1:8545/@PID [geth=ws://127.0.0.1:8546/@PID …]

One connection sends `--calls` heavy `eth_call`s at once, each a loop that spends `--gas` in a contract which
exists by state override only, so any chain will do. Meanwhile the same connection and another one ask for
the block number a hundred times a second.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from bench.lib.nodes import Node, parser_of, print_ratios
from bench.lib.peer import Peer, Steady, steady_client
from wsnode.load.frames import request_frame
from wsnode.load.machine import cpu_seconds

CONTRACT = "0x00000000000000000000000000000000c0ffee00"
LOOP = "0x5b600056"
"""JUMPDEST, PUSH1 0, JUMP: no end but that of the gas."""
FIRST_HEAVY = 1_000_000
PACE = 0.01
MAX_SECONDS = 120.0


class Result(NamedTuple):
    """Percentile 99 in milliseconds, of the loaded connection and of another; seconds of all heavy calls."""

    own: float
    other: float
    seconds: float


def heavy_calls(count: int, gas: int) -> bytes:
    """Return the frames of `count` calls."""
    call = {"to": CONTRACT, "gas": hex(gas)}
    overrides = {CONTRACT: {"code": LOOP}}
    return b"".join(
        request_frame(FIRST_HEAVY + number, "eth_call", [call, "latest", overrides])
        for number in range(count)
    )


def converse(peer: Peer, count: int) -> tuple[Steady, int, int]:
    """Ask for block numbers until all heavy calls are answered.

    Return the latencies, how many were answered, and how many of them were refused or aborted.
    """
    own, ended, refused, asked = Steady(), 0, 0, dict[int, float]()
    began = due = time.perf_counter()
    identity = 0
    while ended < count and time.perf_counter() - began < MAX_SECONDS:
        if (now := time.perf_counter()) >= due:
            identity += 1
            asked[identity] = now
            peer.ask(identity, "eth_blockNumber")
            due += PACE
        for reply in peer.replies(max(0.0001, due - time.perf_counter())):
            if reply["id"] >= FIRST_HEAVY:
                ended += 1
                refused += "out of gas" not in reply.get("error", {}).get("message", "out of gas")
            else:
                own.latencies.append(time.perf_counter() - asked.pop(reply["id"]))
    own.latencies += [time.perf_counter() - sent for sent in asked.values() if ended < count]
    return own, ended, refused


def measure(node: Node, options: argparse.Namespace) -> Result:
    """Print and return what one node does."""
    url, pid = node.url, node.process
    with steady_client(url) as before:
        time.sleep(1)
    peer, cpu = Peer(url), cpu_seconds(pid) if pid else 0.0
    with steady_client(url) as other:
        began = time.perf_counter()
        peer.send(heavy_calls(options.calls, options.gas))
        own, ended, refused = converse(peer, options.calls)
        seconds = time.perf_counter() - began
    peer.close()
    print(f"  {ended} of {options.calls} heavy calls answered in {seconds:.1f} s, {refused} cut short")
    if pid:
        print(f"  {(cpu_seconds(pid) - cpu) / seconds:.2f} cores")
    print(f"  a client before:          {before}")
    print(f"  the same connection:      {own}")
    print(f"  another one meanwhile:    {other}", flush=True)
    return Result(own.percentile(0.99), other.percentile(0.99), seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each node."""
    parser = parser_of(__doc__)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument(
        "--gas", type=int, default=50_000_000, help="that each call spends; geth gives no more"
    )
    options = parser.parse_args(arguments)
    figures = []
    for node in options.nodes:
        print(node.name)
        figures.append(measure(node, options))
    names = ("p99 of the same connection", "p99 of another", "seconds of the heavy calls")
    print_ratios(names, options.nodes, figures)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ConnectionError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
