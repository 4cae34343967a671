"""Does it help subscribers to be spread over replicas with workers, instead of being at one process?

    python -m bench.cluster.spread [--subscribers 10000] [--replicas 3] [--workers 2] [--blocks 30]

Starts `wsnode dev` and has all subscribers of `newHeads` there; then `wsnode dev --journal`, a Redis and the
replicas, and spreads the subscribers over these. A block is made as soon as a transfer arrives at `dev`, and
once all have the notification of the one before. Lag is the time from sending that transfer to the
notification, of each subscriber and block; `last` is that of the last subscriber of a block. A block that is
not complete after 15 s counts as 15 s. All of it runs on this machine, the client too
(bench/clients/fan_out.c, which needs a C compiler), so the ratio is what more processes cost there until
there are cores for them.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.cluster.journal import redis
from bench.cluster.replica import KEY, RECIPIENT, asked
from bench.lib.compiled import compiled
from bench.lib.load import LoadError, finished
from tests.node_process import Node, started

MAX_RUN = 900.0
STARTING_SECONDS = 60.0
PAUSE_MS = 20
FIGURES = ("lag_p50", "lag_p99", "last_p50", "last_p99")
LISTEN = ("--listen", "127.0.0.1:0")
SUBSCRIPTION = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]})
Figures = dict[str, Any]


@contextmanager
def writer(folder: Path, *options: str) -> Iterator[Node]:
    """Run a development chain."""
    with started("dev", "--quiet", "--data", str(folder / "writer"), *LISTEN, *options) as node:
        yield node


@contextmanager
def spread(folder: Path, replicas: int, workers: int) -> Iterator[Sequence[Node]]:
    """Yield a writer, and replicas with workers that have its head."""
    with ExitStack() as opened:
        journal = ("--journal", f"unix://{opened.enter_context(redis(folder))}")
        first = opened.enter_context(writer(folder, *journal))
        genesis = ("--genesis", str(folder / "writer/eth/genesis.json"))
        more = ("--open", "--workers", str(workers), *genesis, *journal, *LISTEN)
        copies = [
            opened.enter_context(started("replica", "--data", str(folder / f"replica {number}"), *more))
            for number in range(1, replicas + 1)
        ]
        wait_block(first, copies)
        yield [first, *copies]


def wait_block(first: Node, copies: Sequence[Node]) -> None:
    """Return once all have a block that was made now.

    Raises:
        LoadError: One has not.
    """
    asked(first, "evm_mine")
    until = time.monotonic() + STARTING_SECONDS
    while any(asked(copy, "eth_blockNumber") != "0x1" for copy in copies):
        if time.monotonic() > until:
            raise LoadError("a replica has not the first block")
        time.sleep(0.05)


def measure(nodes: Sequence[Node], subscribers: int, blocks: int) -> Figures:
    """Return what the client in C printed: the first node makes the blocks, the others notify of them.

    Raises:
        LoadError: Not all could subscribe, or there is no C compiler.
    """
    program = compiled("fan_out")
    if program is None:
        raise LoadError("the client has to be compiled")
    places = [urlsplit(node.socket_url.replace(KEY, "any")) for node in nodes]
    ports = ",".join(str(place.port) for place in places)
    command = [program, places[0].hostname, ports, places[0].path, subscribers, blocks, 1, SUBSCRIPTION]
    return finished([*command, transfer(nodes[0]), PAUSE_MS, 0], MAX_RUN)


def transfer(node: Node) -> str:
    """Return the request that makes a block."""
    sent = {"from": asked(node, "eth_accounts")[0], "to": RECIPIENT, "value": "0x1", "gas": "0x5208"}
    return json.dumps({"jsonrpc": "2.0", "id": 2, "method": "eth_sendTransaction", "params": [sent]})


def row(name: str, figures: Figures) -> str:
    """Return a line of the table."""
    lost = f"{figures['missing']} missing, {figures['ended']} cut off"
    return f"| {name} | {' | '.join(f'{figures[each]:.1f} ms' for each in FIGURES)} | {lost} |"


def main() -> int:
    """Measure, and print a table, and how many times a lone process's lags those of the replicas are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--subscribers", type=int, default=10_000)
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=30)
    options = parser.parse_args()
    print(f"{options.subscribers:,} subscribers, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print("| where | lag p50 | p99 | last p50 | last p99 | lost |\n|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="scale") as folder, writer(Path(folder)) as lone:
        alone = measure([lone], options.subscribers, options.blocks)
    print(row("one process", alone), flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="scale") as folder,
        spread(Path(folder), options.replicas, options.workers) as nodes,
    ):
        many = measure(nodes, options.subscribers, options.blocks)
    print(row(f"{options.replicas} replicas of {options.workers} workers", many))
    ratios = (f"{many[each] / alone[each]:.2f}" for each in FIGURES)
    print(f"| ratio | {' | '.join(ratios)} | |\nload {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LoadError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
