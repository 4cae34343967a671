"""Are heads and logs later for their subscribers where others of the same node watch outcomes of calls?

    python -m bench.live_queries.beside --dev --rounds 15

Each round measures the same blocks twice: beside connections that hold outcomes of calls, and without them;
which comes first alternates. Each block emits logs and changes some of the outcomes, also where nobody holds
them. For heads and logs it prints the p50 and p99 of the time from the request for a block to the arrival of
a subscriber's last message of that block. The arrival is that in the kernel, because the process that reads
the messages shares the cores with the node. Over all rounds it prints the median and the quartiles of the
ratio of both p50, with live calls to without. The connections that hold the outcomes are in a process of
their own.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from multiprocessing.connection import Connection, wait
from statistics import median, quantiles
from time import sleep, time

from bench.lib.development import development_nodes, development_parser
from bench.lib.forked import forked
from bench.lib.nodes import Node
from bench.lib.peer import MAX_WAIT, Peer
from bench.live_queries.__main__ import HEADS, WARM, Chain, Watchers
from bench.live_queries.workloads import Balances
from wsnode.load.connection import TimestampedConnection
from wsnode.load.frames import request_frame
from wsnode.load.histogram import percentile

KINDS = "heads", "logs"
NOTIFICATION = b'"eth_subscription"'
LOG = "5f5fa0"
"""PUSH0, PUSH0, LOG0: a log without topics and content."""


class Subscribers:
    """Connections that hear of heads, and as many that hear of all logs."""

    def __init__(
        self,
        heads: Sequence[TimestampedConnection],
        logs: Sequence[TimestampedConnection],
        logs_per_block: int,
    ) -> None:
        self._kinds = dict.fromkeys(heads, "heads") | dict.fromkeys(logs, "logs")
        self._wanted = dict.fromkeys(heads, 1) | dict.fromkeys(logs, logs_per_block)
        for connection, kind in self._kinds.items():
            params = ["newHeads"] if kind == "heads" else ["logs", {}]
            connection.send(request_frame(HEADS, "eth_subscribe", params))
        for connection in self._kinds:
            wait([connection.socket], MAX_WAIT)
            connection.receive()

    def follow(self, began: float) -> dict[str, list[float]]:
        """Return by kind the seconds from `began`, a Unix time, to the arrival of all of a block.

        Raises:
            ConnectionError: Something did not come.
        """
        missing = dict(self._wanted)
        sockets = {connection.socket: connection for connection in missing}
        found: dict[str, list[float]] = {kind: [] for kind in KINDS}
        while missing:
            if not (ready := wait([connection.socket for connection in missing], MAX_WAIT)):
                raise ConnectionError("a head, or a log, did not come")
            for each in ready:
                connection = sockets[each]  # type: ignore[index]
                messages, arrived = connection.receive_stamped()
                missing[connection] -= sum(NOTIFICATION in message for message in messages)
                if missing[connection] <= 0:
                    del missing[connection]
                    found[self._kinds[connection]].append(arrived - began)
        return found


@contextmanager
def held_outcomes(node: Node, options: argparse.Namespace) -> Iterator[None]:
    """Have a process hold outcomes of calls, until the block ends."""
    with forked(_hold, node.url, options.values, options.connections, options.reads) as process:
        process.recv()
        yield


def _hold(url: str, values: int, connections: int, reads: int, controller: Connection) -> None:
    with ExitStack() as stack:
        peers = [stack.enter_context(closing(Peer(url))) for _ in range(connections)]
        Watchers(peers, values, "calls", Balances(reads))
        controller.send("held")
        by_socket = {peer.socket: peer for peer in peers}
        while controller not in (ready := wait([controller, *by_socket])):
            for each in ready:
                by_socket[each].replies(MAX_WAIT)  # type: ignore[index]


def measure(
    chain: Chain,
    workload: Balances,
    subscribers: Subscribers,
    places: Iterator[list[int]],
    options: argparse.Namespace,
) -> dict[str, list[float]]:
    """Return the ordered delays of some blocks, by kind."""
    delays: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for block in range(options.blocks + WARM):
        began = time()
        workload.change(chain, next(places), code=LOG * options.logs)
        found = subscribers.follow(began)
        chain.wait()
        # Otherwise the calls of this block would run before the next one is made.
        sleep(options.pause)
        if block >= WARM:
            for kind in KINDS:
                delays[kind] += found[kind]
    return {kind: sorted(some) for kind, some in delays.items()}


def changed_places(options: argparse.Namespace) -> Iterator[list[int]]:
    """Yield the places of the values that each block changes."""
    step, block = max(options.values // options.changed, 1), 0
    while True:
        yield [(block + each * step) % options.values for each in range(options.changed)]
        block += 1


def compare(node: Node, options: argparse.Namespace) -> None:
    """Print the delays of each way, and the ratios of the rounds."""
    chain, workload, places = Chain(node), Balances(options.reads), changed_places(options)
    delays: dict[tuple[str, bool], list[float]] = {}
    ratios: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with ExitStack() as stack:
        heads, logs = (
            [
                stack.enter_context(closing(TimestampedConnection(node.url)))
                for _ in range(options.subscribers)
            ]
            for _kind in KINDS
        )
        subscribers = Subscribers(heads, logs, options.logs)
        for number in range(options.rounds):
            halves: dict[bool, dict[str, list[float]]] = {}
            for is_beside in (False, True) if number % 2 else (True, False):
                with held_outcomes(node, options) if is_beside else ExitStack():
                    halves[is_beside] = measure(chain, workload, subscribers, places, options)
            for kind in KINDS:
                ratios[kind].append(median(halves[True][kind]) / median(halves[False][kind]))
                for is_beside, found in halves.items():
                    delays.setdefault((kind, is_beside), []).extend(found[kind])
    for kind in KINDS:
        for is_beside in (False, True):
            some = sorted(delays[kind, is_beside])
            p50, p99 = (percentile(some, part) for part in (0.5, 0.99))
            beside = f"beside {options.values} live calls" if is_beside else "alone"
            print(f"{node.name:>8} {kind:5} {beside:26} p50 {p50:8.2f} ms, p99 {p99:8.2f} ms", flush=True)
        low, middle, high = quantiles(ratios[kind]) if len(ratios[kind]) > 1 else ratios[kind] * 3
        print(f"{node.name:>8} {kind:5} ratio of p50: median {middle:.3f}, quartiles {low:.3f} {high:.3f}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison that the command line asks for."""
    parser = development_parser(__doc__)
    parser.add_argument("--values", type=int, default=10_000, help="outcomes that are held")
    parser.add_argument("--connections", type=int, default=100, help="that hold them")
    parser.add_argument("--subscribers", type=int, default=50, help="of heads, and as many of logs")
    parser.add_argument("--changed", type=int, default=50, help="outcomes that a block changes")
    parser.add_argument("--reads", type=int, default=10, help="values that a call reads")
    parser.add_argument("--logs", type=int, default=10, help="logs of a block")
    parser.add_argument("--blocks", type=int, default=30, help="blocks of each half of a round")
    parser.add_argument("--pause", type=float, default=0.1, help="seconds from a block to the next one")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    with development_nodes(parser, options) as nodes:
        for node in nodes:
            compare(node, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
