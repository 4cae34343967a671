"""What does an innocent client notice of ten hostile ones, and what do they cost the node?

    python -m bench.hostile wsnode=ws://127.0.0.1:8545/@PID [geth=ws://127.0.0.1:8546/@PID …]
    python -m bench.hostile --start [--geth PATH] [--anvil PATH] [--only TEXT,…] [--seconds 5]

Ten clients attack for `--seconds`, one class of attack (bench/lib/attacks.py) after another, while a probe in
a process of its own asks for `eth_chainId` every 20 ms. A line for each class says what the probe waited (ms)
and how many of its requests failed; the node's resident memory before, at its highest and once it has nothing
left to do (MiB); the most snapshots of the chain that were open at once, where its metrics tell; what the
attackers sent (what waits in buffers of the system too), how often the node closed a connection or refused
one, and the most that were open. An attack ends early, marked with *, when the node has more than `--memory`
MiB. What follows is skipped when a node has ended, or has not answered the probe for a minute.

With --start the nodes are `wsnode dev`, `geth --dev` and anvil, those that are found, with some blocks full
of logs.
Only nodes of this machine are attacked. PID is that of the node; without it nothing is said of memory.
"""

import argparse
import http.client
import ipaddress
import math
import re
import resource
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from bench.lib.attackers import Outcome, attacking
from bench.lib.attacks import ATTACKS, CLIENTS, Target
from bench.lib.contracts import burst_creation, deploy, wait_receipt
from bench.lib.development import started_nodes
from bench.lib.nodes import (
    Node,
    allow_many_files,
    forget_peak,
    parser_of,
    peak_bytes,
    print_ratios,
    wait_settled,
)
from bench.lib.probe import Probe, probing
from bench.lib.started import StartError
from wsnode.load.machine import resident_bytes
from wsnode.load.node import Asker

LOGS = 4_000
BLOCKS = 3
TRANSACTION_GAS = hex(10_000_000)
"""Within a block of `geth --dev`."""
OTHER_FILES = 1_000
GRACE_SECONDS = 5.0
LOOK_SECONDS = 0.05
METRICS_SECONDS = 0.5
_SNAPSHOTS = re.compile(rb"^wsnode_(?:snapshots|versions)\w*(?:\{[^}]*\})? (\S+)$", re.MULTILINE)
HEADING = (
    f"  {'':22} {'p50':>8} {'p99':>9} {'longest':>9} {'errors':>7} {'before':>8} {'peak':>8} {'after':>8} "
    f"{'snapshots':>10} {'sent MB':>8} {'closed':>7} {'open':>7}"
)


class Seen(NamedTuple):
    """What was seen of a node under attack; memory in MiB, nan where its process is unknown."""

    before: float
    peak: float
    after: float
    snapshots: int | None
    was_stopped: bool


def attack(node: Node, name: str, options: argparse.Namespace) -> float:
    """Print a line for one attack on one node, and return the probe's percentile 99.

    Raises:
        ConnectionError: The node has ended, or does not answer any more.
    """
    place = urlsplit(node.url)
    prepared = ATTACKS[name](
        Target(place.netloc, place.path.replace("/ws/", "/") or "/", options.connections)
    )
    wait_settled(node.process)
    before = memory_of(node)
    if node.process:
        forget_peak(node.process)
    with probing(node.url) as probe, attacking(node.url, prepared, options.seconds) as controller:
        was_stopped, snapshots = watch(node, controller, options)
        outcome = received_outcome(controller, was_stopped)
    # What has been asked may still be growing.
    wait_settled(node.process)
    peak = peak_bytes(node.process) / 2**20 if node.process else float("nan")
    seen = Seen(before, peak, memory_of(node), snapshots, was_stopped)
    print(line_of(name, probe, seen, outcome), flush=True)
    return probe.percentile(0.99)


def watch(node: Node, controller: Connection, options: argparse.Namespace) -> tuple[bool, int | None]:
    """Return, once the attack is over, if it took too much memory, and the most snapshots at once."""
    began = asked = time.monotonic()
    counts = [open_snapshots(node)]
    while not controller.poll(LOOK_SECONDS) and time.monotonic() < began + options.seconds + GRACE_SECONDS:
        if node.process and resident_bytes(node.process) > options.memory * 2**20:
            return True, counts[-1]
        if counts[0] is not None and time.monotonic() > asked + METRICS_SECONDS:
            counts.append(open_snapshots(node))
            asked = time.monotonic()
    return False, max((count for count in counts if count is not None), default=None)


def received_outcome(controller: Connection, was_stopped: bool) -> Outcome | None:
    """Return what the attackers say of their attack, None if it was stopped or has failed."""
    try:
        return controller.recv() if not was_stopped and controller.poll() else None
    except EOFError:
        return None


def open_snapshots(node: Node) -> int | None:
    """Return how many snapshots of its chain a node has open, None if it does not tell."""
    place = urlsplit(node.url)
    asked = http.client.HTTPConnection(place.hostname or "localhost", place.port, timeout=METRICS_SECONDS)
    try:
        asked.request("GET", "/metrics")
        counts = _SNAPSHOTS.findall(asked.getresponse().read())
    except (OSError, http.client.HTTPException):
        return None
    finally:
        asked.close()
    return int(sum(map(float, counts))) if counts else None


def memory_of(node: Node) -> float:
    """Return the resident MiB of a node."""
    return resident_bytes(node.process) / 2**20 if node.process else float("nan")


def line_of(name: str, probe: Probe, seen: Seen, outcome: Outcome | None) -> str:
    """Return a line of the table; what is unknown is a dash."""
    waits = (f"{probe.percentile(part):>{width}.1f}" for part, width in ((0.5, 8), (0.99, 9), (1, 9)))
    sizes = (f"{'-' if math.isnan(size) else format(size, '.0f'):>8}" for size in seen[:3])
    snapshots = "-" if seen.snapshots is None else seen.snapshots
    label = name + " *" * seen.was_stopped
    line = f"  {label:22} {' '.join(waits)} {probe.errors:>7} {' '.join(sizes)} {snapshots:>10}"
    if outcome is None:
        return f"{line} {'-':>8} {'-':>7} {'-':>7}"
    return f"{line} {outcome.megabytes:>8,.1f} {outcome.closed:>7,} {outcome.open:>7,}"


def measure(node: Node, names: Sequence[str], options: argparse.Namespace) -> list[float]:
    """Print a table of one node, and return the probe's percentiles 99, nan once the node is gone."""
    print(node.name)
    print(HEADING, flush=True)
    figures = list[float]()
    try:
        for name in names:
            figures.append(attack(node, name, options))
    except OSError as error:
        # Its files in /proc have gone with it.
        print(f"  {names[len(figures)]}: the node has ended or does not answer: {error}", flush=True)
    return figures + [float("nan")] * (len(names) - len(figures))


@contextmanager
def attacked_nodes(options: argparse.Namespace) -> Iterator[Sequence[Node]]:
    """Yield the nodes that were given, or those that are started, with blocks full of logs."""
    if options.nodes:
        yield options.nodes
        return
    with started_nodes(found(options.geth), found(options.anvil)) as nodes:
        for node in nodes:
            fill(node)
        yield nodes


def found(program: str) -> Path | None:
    """Return where a program is, None with a line of notice if it is not there."""
    path = shutil.which(program)
    if path is None:
        print(f"{program} was not found, and is left out", file=sys.stderr)
    return Path(path) if path else None


def fill(node: Node) -> None:
    """Have a node that mines make some blocks full of logs.

    Raises:
        ConnectionError: It refused.
    """
    with Asker(node.url) as asker:
        sender = asker.ask("eth_accounts")[0]
        contract = deploy(asker, sender, burst_creation())
        call = {"from": sender, "to": contract, "data": f"0x{LOGS:064x}", "gas": TRANSACTION_GAS}
        for _ in range(BLOCKS):
            wait_receipt(asker, asker.ask("eth_sendTransaction", call))


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what was given on the command line."""
    parser = parser_of(__doc__, nodes="*")
    parser.add_argument("--start", action="store_true", help="start the nodes")
    parser.add_argument("--geth", default="geth", metavar="PATH", help="of its program, if not on the path")
    parser.add_argument("--anvil", default="anvil", metavar="PATH", help="of its program, if not on the path")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each attack")
    parser.add_argument("--only", default="", metavar="TEXT,…", help="attacks whose names hold one of these")
    parser.add_argument(
        "--connections", type=int, default=20_000, help="at most, as the limit of open files allows"
    )
    parser.add_argument(
        "--memory", type=int, default=4096, metavar="MIB", help="of a node, to stop an attack at"
    )
    options = parser.parse_args(arguments)
    if bool(options.nodes) == options.start:
        parser.error("give nodes, or --start to start them")
    for node in options.nodes:
        if not is_local(node):
            parser.error(f"{node.name}: only nodes of this machine are attacked, at ws://127.0.0.1:PORT/")
    return options


def is_local(node: Node) -> bool:
    """Return whether a node is reached by loopback, in the clear."""
    place = urlsplit(node.url)
    host = place.hostname or ""
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    return is_loopback and place.scheme == "ws"


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack each node."""
    options = options_of(arguments)
    allow_many_files()
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    options.connections = max(CLIENTS, min(options.connections, most_files - OTHER_FILES))
    names = [name for name in ATTACKS if any(text in name for text in options.only.split(","))]
    with attacked_nodes(options) as nodes:
        figures = [measure(node, names, options) for node in nodes]
    print_ratios([f"p99 {name}" for name in names], nodes, figures)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ConnectionError, StartError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
