"""What do long messages take, and how long do others wait meanwhile?

    python -m bench.long_messages wsnode=ws://127.0.0.1:8545/ [geth=ws://127.0.0.1:8546/ …]

One connection sends `--rounds` messages of each kind, each after the reply to the one before: a call with
`--megabytes` of data, a simulation with `--slots` overridden slots, and as many megabytes that end in the
middle of a text. Another connection asks for the block number a hundred times a second.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench.lib.attacks import CONTRACT, simulation
from bench.lib.nodes import Node, parser_of, print_ratios
from bench.lib.peer import Peer, exchange, steady_client
from wsnode.load.frames import masked_frame, request_frame
from wsnode.load.histogram import percentile

MEGABYTE = 1_000_000


class Result(NamedTuple):
    """Milliseconds: the median of a message, and another client's 99th percentile and longest wait."""

    message: float
    other: float
    longest: float


def messages(megabytes: float, slots: int) -> Iterator[tuple[str, bytes]]:
    """Return what each message is, and its frame."""
    size = int(megabytes * MEGABYTE)
    call = {"to": CONTRACT, "gas": "0x1", "data": "0x" + "00" * (size // 2)}
    yield f"{megabytes:g} MB of data", request_frame(1, "eth_call", [call, "latest"])
    yield f"{slots} overridden slots", simulation(slots)
    yield f"{megabytes:g} MB that are no JSON", masked_frame(b'["' + b" " * size)


def measure(node: Node, frame: bytes, rounds: int) -> Result:
    """Return what a message takes on one node, and another client meanwhile.

    Raises:
        ConnectionError: The node does not answer, or closes the connection.
    """
    peer = Peer(node.url)
    with steady_client(node.url) as other:
        taken = [exchange(peer, frame) for _ in range(rounds)]
    peer.close()
    return Result(percentile(sorted(taken), 0.5), other.percentile(0.99), other.percentile(1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each kind on each node."""
    options = options_of(arguments)
    for name, frame in messages(options.megabytes, options.slots):
        print(f"{name}, {len(frame) / MEGABYTE:.1f} MB")
        print_kind(options.nodes, frame, options.rounds)
    return 0


def print_kind(nodes: Sequence[Node], frame: bytes, rounds: int) -> None:
    """Measure one kind on each node; one that does not take such a message says so in its line."""
    answering, figures = list[Node](), list[Result]()
    for node in nodes:
        try:
            found = measure(node, frame, rounds)
        except ConnectionError as error:
            print(f"  {node.name}: {error}", flush=True)
            continue
        answering.append(node)
        figures.append(found)
        print(
            f"  {node.name}: {found.message:.1f} ms; another client waits {found.other:.1f} ms (p99), "
            f"{found.longest:.1f} at the most",
            flush=True,
        )
    print_ratios(("a message", "p99 of another", "its longest wait"), answering, figures)


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what was given on the command line."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--megabytes", type=float, default=2.0)
    parser.add_argument("--slots", type=int, default=20_000)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
