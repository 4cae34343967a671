"""How fast are bursts of signed transactions taken and mined, and what does one cost the node?

    python -m bench.sending NODE [NODE …]
    python -m bench.sending --dev [--geth PATH] [--anvil PATH]

A NODE is `[NAME=]URL[@PID]` that mines at once, and whose first account is funded and signed for: `wsnode
dev`, anvil, `geth --dev`. With --dev they are started here. Each burst has senders of its own, which that
account funds first, with 16 transactions of consecutive nonces each: as many as geth's pool promises to keep
of a sender. 16 senders are as many calls as wsnode has in flight on one connection. All are signed beforehand
and sent at once as `eth_sendRawTransaction`, first on one connection, then on one for each sender. The clock
runs from the first byte to the last reply (taken), and until the chain has all nonces (mined); CPU is of the
node's process up to then. By turns: medians of the rates, and the mean of CPU, which the system counts in
steps of 10 ms. The client is Python: its CPU is not counted, but it takes cores from the nodes.
"""

import argparse
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from statistics import fmean, median
from typing import Any, NamedTuple

from bench.lib.contracts import wait_receipt
from bench.lib.development import development_nodes, development_parser
from bench.lib.nodes import Node, print_ratios, wait_settled
from bench.lib.peer import Peer
from bench.lib.started import StartError
from wsnode.ethereum.state import address_of, sign_transaction
from wsnode.load.frames import request_frame
from wsnode.load.machine import cpu_seconds
from wsnode.load.node_reader import NodeReader

NONCES = 16
GAS = 21_000
MAX_FEE = 10**11
PRIORITY_FEE = 10**9
FUNDS = 10**18
RECIPIENT = bytes.fromhex("5e" * 20)
REPLY_SECONDS = 60.0
MINING_SECONDS = 120.0
POLL_SECONDS = 0.01

Frames = list[bytes]


class Burst(NamedTuple):
    """The requests of each connection, ready to be sent, and who sent the transactions."""

    connections: list[Frames]
    senders: list[str]

    @property
    def size(self) -> int:
        """How many transactions there are."""
        return sum(map(len, self.connections))


class Figures(NamedTuple):
    """Transactions a second that were taken and mined, microseconds of the node's CPU for one."""

    taken: float
    mined: float
    cpu: float
    blocks: int
    refusals: list[str]


def main() -> int:
    """Measure, and print figures and ratios."""
    parser = development_parser(__doc__)
    parser.add_argument("--senders", type=int, default=16, help=f"of a burst, with {NONCES} each")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with development_nodes(parser, options) as nodes:
        for is_spread in (False, True):
            connections = options.senders if is_spread else 1
            count = f"{options.senders * NONCES:,} transactions"
            print(f"{count} of {options.senders} senders, connections: {connections}", flush=True)
            compare(nodes, options, is_spread=is_spread)
    return 0


def compare(nodes: Sequence[Node], options: argparse.Namespace, *, is_spread: bool) -> None:
    """Print what each node did with its bursts, and the ratios of the first node to each other."""
    runs: list[list[Figures]] = [[] for _ in nodes]
    for _ in range(options.repeats):
        for node, done in zip(nodes, runs, strict=True):
            burst = prepared(node, options.senders, is_spread=is_spread)
            wait_settled(node.process)
            done.append(measure(node, burst))
    typical = list(map(typical_of, runs))
    for node, figures in zip(nodes, typical, strict=True):
        print(f"  {node.name:>8} {text_of(figures)}", flush=True)
    names = ("taken", "mined", "CPU")
    print_ratios(names, nodes, [(each.taken, each.mined, each.cpu) for each in typical])


def typical_of(done: Sequence[Figures]) -> Figures:
    """Return the medians of all bursts, the mean of their CPU, and all refusals."""
    return Figures(
        taken=median(each.taken for each in done),
        mined=median(each.mined for each in done),
        cpu=fmean(each.cpu for each in done),
        blocks=round(median(each.blocks for each in done)),
        refusals=[text for each in done for text in each.refusals],
    )


def prepared(node: Node, senders: int, *, is_spread: bool) -> Burst:
    """Return a burst of new senders, who have funds; with `is_spread` each on a connection of its own."""
    keys = [secrets.token_bytes(32) for _ in range(senders)]
    with NodeReader(node.url) as asker:
        fund(asker, keys)
        chain_id = int(asker.ask("eth_chainId"), 16)
    addresses = ["0x" + address_of(key).hex() for key in keys]
    own = [[frame(chain_id, key, nonce) for nonce in range(NONCES)] for key in keys]
    # By turns: the first nonce of all senders, then the second.
    return Burst(
        own if is_spread else [[each for turn in zip(*own, strict=True) for each in turn]], addresses
    )


def fund(asker: NodeReader, keys: Sequence[bytes]) -> None:
    """Give each sender an ether, in blocks that are there when this returns."""
    source = asker.ask("eth_accounts")[0]
    # geth at times proposes a nonce that its pool still has, while it makes a block.
    first = int(asker.ask("eth_getTransactionCount", source, "latest"), 16)
    sent = [{"from": source, "to": "0x" + address_of(key).hex(), "value": hex(FUNDS)} for key in keys]
    hashes = [
        asker.ask("eth_sendTransaction", {**transaction, "nonce": hex(nonce)})
        for nonce, transaction in enumerate(sent, start=first)
    ]
    for transaction in hashes:
        wait_receipt(asker, transaction)


def frame(chain_id: int, key: bytes, nonce: int) -> bytes:
    """Return the frame of a request that sends a wei."""
    signed = sign_transaction(
        key,
        chain_id=chain_id,
        nonce=nonce,
        to=RECIPIENT,
        value=1,
        input=b"",
        gas=GAS,
        max_fee=MAX_FEE,
        max_priority_fee=PRIORITY_FEE,
    )
    return request_frame(nonce, "eth_sendRawTransaction", ["0x" + signed.hex()])


def measure(node: Node, burst: Burst) -> Figures:
    """Send a burst and return what came of it.

    Raises:
        ConnectionError: The node did not reply, or not all was mined in time.
    """
    with ExitStack() as stack:
        asker = stack.enter_context(NodeReader(node.url))
        peers = [stack.enter_context(closing(Peer(node.url))) for _ in burst.connections]
        height, computed = height_of(asker), cpu_of(node)
        began = time.perf_counter()
        replies = list(sent_and_answered(peers, burst))
        taken = time.perf_counter() - began
        refusals = [str(reply["error"].get("message")) for reply in replies if "error" in reply]
        if not refusals:
            wait_mined(asker, burst.senders)
        mined = time.perf_counter() - began
        cpu = (cpu_of(node) - computed) / burst.size * 1e6
        blocks = height_of(asker) - height
    return Figures(burst.size / taken, burst.size / mined, cpu, blocks, refusals)


def sent_and_answered(peers: Sequence[Peer], burst: Burst) -> Iterator[dict[str, Any]]:
    """Send everything, and yield each reply.

    Raises:
        ConnectionError: A reply is missing.
    """
    for peer, frames in zip(peers, burst.connections, strict=True):
        peer.send(b"".join(frames))
    for peer, frames in zip(peers, burst.connections, strict=True):
        missing = len(frames)
        while missing:
            arrived = peer.replies(REPLY_SECONDS)
            if not arrived:
                raise ConnectionError(f"{missing} of {len(frames)} replies missing after {REPLY_SECONDS:g} s")
            yield from arrived
            missing -= len(arrived)


def wait_mined(asker: NodeReader, senders: Sequence[str]) -> None:
    """Wait until the chain has all transactions.

    Raises:
        ConnectionError: It does not within two minutes.
    """
    end = time.monotonic() + MINING_SECONDS
    for sender in senders:
        while int(asker.ask("eth_getTransactionCount", sender, "latest"), 16) < NONCES:
            if time.monotonic() > end:
                raise ConnectionError(f"transactions of {sender} are in no block after {MINING_SECONDS:g} s")
            time.sleep(POLL_SECONDS)


def height_of(asker: NodeReader) -> int:
    """Return the head's number."""
    return int(asker.ask("eth_blockNumber"), 16)


def cpu_of(node: Node) -> float:
    """Return the CPU seconds of a node so far, none where its process is unknown."""
    return cpu_seconds(node.process) if node.process else 0.0


def text_of(figures: Figures) -> str:
    """Return the figures of a burst in a line."""
    text = f"taken {figures.taken:8,.0f}/s, mined {figures.mined:8,.0f}/s, {figures.cpu:8.1f} us CPU each"
    text += f", {figures.blocks} blocks"
    return text + (f", {len(figures.refusals)} refused: {figures.refusals[0]}" if figures.refusals else "")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ConnectionError, StartError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
