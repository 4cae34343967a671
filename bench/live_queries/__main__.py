"""Compare the cost of subscriptions to changed values with that of polling them at each block.

    python -m bench.live_queries --dev [--geth PATH] [--anvil PATH] --connections 100 --rounds 5 [--market]

Each connection watches as many balances as the others. Each block has one transaction, which changes some of
them. On a node with the subscriptions `state` and `calls` the connections hold theirs by either, there with a
call a balance that reads slots of its own besides; then, and on all others, they ask for all of theirs in a
batch at each head, by eth_getBalance and by the same calls. With --market nine of ten values are balances of
100 tokens and the others reserves of 1,000 pairs, all held by calls, and a block has 100 transactions, each
of which changes one of them or none; geth cannot be asked to mine such a block.

Of each way it prints the CPU a block beyond that of a block that nobody watches, p50 and p99 of how long
after its head the last value of a block arrived at a connection, and memory a value. Both kinds of blocks are
measured by turns in each round: the CPU is the median of the rounds with the least and the most, the delays
are those of all, and the memory is that of the first round, before which nothing was held.
"""

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from multiprocessing.connection import wait
from statistics import median
from time import perf_counter, sleep
from typing import Any, NamedTuple

from bench.lib.development import development_nodes, development_parser
from bench.lib.nodes import Node
from bench.lib.peer import MAX_WAIT, Peer
from bench.live_queries.workloads import Balances, Market, Workload, address_of
from wsnode.load.frames import masked_frame, request_frame
from wsnode.load.histogram import percentile
from wsnode.load.machine import cpu_seconds, resident_bytes

BATCH = 0
"""Id of requests sent before the measurement; a request for a balance has the balance's number as its id."""
SENT, HEADS = 1_000_001, 1_000_002
WARM = 3
"""Blocks that are not counted."""
SETTLE_SECONDS = 0.3
SUBSCRIPTIONS = "state", "calls"


class Result(NamedTuple):
    """CPU a block in milliseconds, delays in seconds; bytes a value and its part of a connection."""

    cpu: float
    delays: list[float]
    memory: float


def text_of(rounds: Sequence[Result]) -> str:
    """Return the figures of one way over all rounds."""
    cpu, delays = (
        sorted(each.cpu for each in rounds),
        sorted(delay for each in rounds for delay in each.delays),
    )
    p50, p99 = (percentile(delays, part) for part in (0.5, 0.99))
    spread = f"{median(cpu):8.2f} ms of CPU a block ({cpu[0]:.2f} to {cpu[-1]:.2f})"
    return f"{spread}; p50 {p50:.1f} ms, p99 {p99:.1f} ms; {rounds[0].memory:.0f} B a value"


class Chain:
    """The connection that makes blocks, and hears of them."""

    def __init__(self, node: Node) -> None:
        self.peer = Peer(node.url)
        # Its results are read at once; heads come to `peer` alone.
        self._asking = Peer(node.url)
        self.sender: str = self.ask("eth_accounts", [])[0]
        self.peer.ask(BATCH, "eth_subscribe", ["newHeads"])
        _read(self.peer)

    def ask(self, method: str, params: Sequence[Any]) -> Any:
        """Return the result of a call.

        Raises:
            ConnectionError: The node refuses it.
        """
        return self.ask_all(method, [params])[0]

    def ask_all(self, method: str, calls: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the results of calls that are sent together."""
        self._asking.send(b"".join(request_frame(number, method, call) for number, call in enumerate(calls)))
        results: dict[int, Any] = {}
        while len(results) < len(calls):
            for reply in _read(self._asking):
                results[reply["id"]] = reply["result"]
        return [results[number] for number in range(len(calls))]

    def send(self, method: str, params: Sequence[Any]) -> None:
        """Send a call whose result is ignored."""
        self.peer.ask(SENT, method, params)

    def wait(self) -> None:
        """Wait for the head of the block."""
        while not any("method" in message for message in _read(self.peer)):
            pass


class Watchers:
    """The connections, each with its balances, which wait for the change of a block."""

    def __init__(self, peers: Sequence[Peer], values: int, way: str, workload: Workload) -> None:
        each = values // len(peers)
        self._places = [range(number * each, (number + 1) * each) for number in range(len(peers))]
        self._peers = peers
        self._way = way
        self._workload = workload
        self._subscribes = subscribes = way in SUBSCRIPTIONS
        for peer, places in zip(self._peers, self._places, strict=True):
            peer.ask(HEADS, "eth_subscribe", [way, self._watched(places)] if subscribes else ["newHeads"])
        # The reply, and the first values of a subscription.
        for peer in self._peers:
            missing = 1 + subscribes
            while missing > 0:
                missing -= len(_read(peer))

    def follow(self, chain: Chain, changed: Sequence[int]) -> list[float]:
        """Return, for each connection, the seconds from the head to its last changed value of the block."""
        concerned = {
            peer.socket: peer
            for peer, places in zip(self._peers, self._places, strict=True)
            if not self._subscribes or any(place in places for place in changed)
        }
        sockets = {peer.socket: peer for peer in self._peers} | {chain.peer.socket: chain.peer}
        head: float | None = None
        done: list[float] = []
        while head is None or concerned:
            ready = wait(list(sockets), MAX_WAIT)
            if not ready:
                raise ConnectionError("a block, or its values, did not come")
            now = perf_counter()
            for each in ready:
                peer = sockets[each]  # type: ignore[index]
                messages = _read(peer)
                if peer is chain.peer:
                    head = now if any("method" in message for message in messages) else head
                elif self._has_values(peer, messages) and peer.socket in concerned:
                    del concerned[peer.socket]
                    done.append(now)
        return [max(at - head, 0.0) for at in done]

    def _watched(self, places: Sequence[int]) -> dict[str, Any]:
        if self._way == "state":
            return {"accounts": [address_of(place) for place in places]}
        return {"calls": [self._workload.call(place) for place in places]}

    def _batch(self, places: Sequence[int]) -> bytes:
        asked = [
            {
                "jsonrpc": "2.0",
                "id": place,
                "method": self._way,
                "params": [
                    self._workload.call(place) if self._way == "eth_call" else address_of(place),
                    "latest",
                ],
            }
            for place in places
        ]
        return json.dumps(asked).encode()

    def _has_values(self, peer: Peer, messages: Sequence[Any]) -> bool:
        """Return whether these are the values of a block; ask for them where a head has come."""
        if self._subscribes:
            return any("method" in message for message in messages)
        if any(isinstance(message, dict) and "method" in message for message in messages):
            places = self._places[self._peers.index(peer)]
            peer.send(masked_frame(self._batch(places)))
        return any(isinstance(message, list) for message in messages)


def _read(peer: Peer) -> list[Any]:
    replies: list[Any] = peer.replies(MAX_WAIT)
    for reply in replies:
        for each in reply if isinstance(reply, list) else (reply, *_outcomes(reply)):
            if "error" in each:
                raise ConnectionError(f"refused: {each['error']}")
    return replies


def _outcomes(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the outcomes of calls in a notification of them."""
    result = message.get("params", {}).get("result")
    outcomes: list[dict[str, Any]] = result.get("results", []) if isinstance(result, dict) else []
    return outcomes


def measure(
    node: Node, chain: Chain, workload: Workload, watchers: Watchers | None, options: Any
) -> tuple[float, list[float]]:
    """Return the CPU a block in milliseconds, and all delays in seconds."""
    assert node.process is not None, "its CPU is measured"
    delays: list[float] = []
    step = max(options.values // options.changed, 1)
    began = 0.0
    for block in range(options.blocks + WARM):
        if block == WARM:
            began = cpu_seconds(node.process)
        changed = [(block + each * step) % options.values for each in range(options.changed)]
        workload.change(chain, changed)
        if watchers is None:
            chain.wait()
            continue
        found = watchers.follow(chain, changed)
        if block >= WARM:
            delays += found
    # What the node does behind a block counts as well.
    sleep(SETTLE_SECONDS)
    return (cpu_seconds(node.process) - began) / options.blocks * 1000, delays


def compare(node: Node, options: Any) -> None:
    """Print the figures of each way in which this node's values can be held."""
    assert node.process is not None
    chain = Chain(node)
    workload: Workload = Market(options.values) if options.market else Balances(options.reads)
    try:
        workload.prepare(chain)
    except ConnectionError as error:
        print(f"{node.name:>8} {error}", flush=True)
        return
    alone, _none = measure(node, chain, workload, None, options)
    print(f"{node.name:>8} unwatched       {alone:8.2f} ms of CPU a block", flush=True)
    for way in workload.ways:
        try:
            rounds = [held(node, chain, workload, way, options) for _ in range(options.rounds)]
            print(f"{node.name:>8} {way:14}  {text_of(rounds)}", flush=True)
        except ConnectionError as error:
            print(f"{node.name:>8} {way:14}  {error}", flush=True)


def held(node: Node, chain: Chain, workload: Workload, way: str, options: Any) -> Result:
    """Return the figures of one way, beyond those of blocks that nobody watches, which come before.

    Raises:
        ConnectionError: The node refuses it, or closes a connection.
    """
    assert node.process is not None
    alone, _none = measure(node, chain, workload, None, options)
    before = resident_bytes(node.process)
    with ExitStack() as stack:
        peers = [stack.enter_context(closing(Peer(node.url))) for _ in range(options.connections)]
        watchers = Watchers(peers, options.values, way, workload)
        memory = (resident_bytes(node.process) - before) / options.values
        cpu, delays = measure(node, chain, workload, watchers, options)
    return Result(cpu - alone, delays, memory)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison that the command line asks for."""
    parser = development_parser(__doc__)
    parser.add_argument("--values", type=int, default=10_000, help="balances that are watched")
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--changed", type=int, default=50, help="balances that a block changes")
    parser.add_argument("--reads", type=int, default=10, help="values that a call reads")
    parser.add_argument(
        "--market", action="store_true", help="watch tokens and pairs; 100 transactions a block"
    )
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args(arguments)
    with development_nodes(parser, options) as nodes:
        for node in nodes:
            compare(node, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
