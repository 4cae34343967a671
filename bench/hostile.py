"""What does an innocent client notice of ten hostile ones, and what do they cost the node?

    python -m bench.hostile wsnode=ws://127.0.0.1:8545/@PID [geth=ws://127.0.0.1:8546/@PID …]
    python -m bench.hostile --start [--geth PATH] [--anvil PATH] [--only TEXT,…] [--seconds 5]
                            [--memory-limit GIB] [--markdown FILE]

Ten clients attack for `--seconds`, one class of attack (bench/lib/attacks.py) after another, while a probe in
a process of its own asks for `eth_chainId` every 20 ms. A line for each class says what the probe waited
(ms), how much of its longest wait a core stood still, as it does where the host of a virtual machine takes
it, and how many of its requests failed; the node's resident memory before, at its highest and once it has
nothing left to do (MiB); the most snapshots of the chain that were open at once, where its metrics tell; what
the attackers sent (what waits in buffers of the system too), how often the node closed a connection or
refused one, and the most that were open. An attack ends early, marked with *, when the node has more than
`--memory` MiB. What follows is skipped when a node has ended, or has not answered the probe for a minute. The
last thing that is printed is a Markdown table of all nodes.

With --start the nodes are `wsnode dev`, `geth --dev` and anvil, those that are found, with some blocks full
of logs, one after another. One that has more than `--memory-limit` GiB is killed at once, so that the machine
does not swap, and its row says so. For the next attack a node begins anew that was killed, has ended by
itself, does not answer or has more than `--memory`.
Only nodes of this machine are attacked. PID is that of the node; without it nothing is said of memory.
"""

import argparse
import http.client
import ipaddress
import re
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from bench.attacked.keeping import Kept
from bench.attacked.probe import probing
from bench.attacked.rows import HEADING, Row, Seen, table_text
from bench.attacked.stalls import watching_cores
from bench.lib.attackers import Outcome, attacking
from bench.lib.attacks import ATTACKS, CLIENTS, Target
from bench.lib.contracts import burst_creation, deploy, wait_receipt
from bench.lib.nodes import (
    Node,
    allow_many_files,
    forget_peak,
    parser_of,
    peak_bytes,
    wait_settled,
)
from bench.lib.started import StartError, anvil, geth_that_mines, wsnode_that_mines
from wsnode.load.machine import resident_bytes
from wsnode.load.node_reader import NodeReader

LOGS = 4_000
BLOCKS = 3
TRANSACTION_GAS = hex(10_000_000)
"""Within a block of `geth --dev`."""
OTHER_FILES = 1_000
GRACE_SECONDS = 5.0
LOOK_SECONDS = 0.05
METRICS_SECONDS = 0.5
_SNAPSHOTS = re.compile(rb"^wsnode_(?:snapshots|versions)\w*(?:\{[^}]*\})? (\S+)$", re.MULTILINE)


def attack(node: Node, name: str, options: argparse.Namespace) -> Row:
    """Return what one attack did to one node.

    Raises:
        OSError: The node has ended, or does not answer any more.
    """
    prepared = ATTACKS[name](Target.of_url(node.url, options.connections))
    wait_settled(node.process)
    before = memory_of(node)
    if node.process:
        forget_peak(node.process)
    with (
        watching_cores() as stalls,
        probing(node.url) as probe,
        attacking(node.url, prepared, options.seconds) as controller,
    ):
        was_stopped, snapshots = watch(node, controller, options)
        outcome = received_outcome(controller, was_stopped)
    # What has been asked may still be growing.
    wait_settled(node.process)
    peak = peak_bytes(node.process) / 2**20 if node.process else float("nan")
    stalled = stalls.within(probe.longest()) * 1e3
    seen = Seen(before, peak, memory_of(node), snapshots, was_stopped, stalled)
    return Row(name, (probe, seen, outcome))


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


def measure(kept: Kept, names: Sequence[str], options: argparse.Namespace) -> Iterator[Row]:
    """Print a table of one node, and yield its rows; what follows its end is left out if it stays away."""
    print(kept.name)
    print(HEADING, flush=True)
    try:
        with kept:
            for name in names:
                row = row_of(kept, name, options)
                print(row.line(), flush=True)
                yield row
                if row.is_worn and not kept.begin_again() and row.measured is None:
                    return
    except (StartError, ConnectionError) as error:
        print(f"  {kept.name} does not start: {error}", flush=True)


def row_of(kept: Kept, name: str, options: argparse.Namespace) -> Row:
    """Attack a node in one way."""
    try:
        return attack(kept.node, name, options)
    except OSError as error:
        # Its files in /proc have gone with it.
        return Row(name, None, kept.what_happened(error))


def attacked_nodes(options: argparse.Namespace) -> list[Kept]:
    """Return the nodes that were given, or those to start, with blocks full of logs."""
    if options.nodes:
        return [Kept.given(node) for node in options.nodes]
    starts: dict[str, Callable[[Path], AbstractContextManager[Node]]] = {"wsnode": wsnode_that_mines}
    if (geth := found(options.geth)) is not None:
        starts["geth"] = partial(geth_that_mines, geth)
    if (program := found(options.anvil)) is not None:
        starts["anvil"] = partial(anvil, program, mines=True)
    return [Kept(name, partial(filled, start), options.memory_limit) for name, start in starts.items()]


@contextmanager
def filled(start: Callable[[Path], AbstractContextManager[Node]]) -> Iterator[Node]:
    """Run a node in a new folder, with blocks full of logs."""
    with tempfile.TemporaryDirectory(prefix="attacked-") as temporary, start(Path(temporary)) as node:
        fill(node)
        yield node


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
    with NodeReader(node.url) as asker:
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
    parser.add_argument(
        "--memory-limit",
        type=float,
        default=6.0,
        metavar="GIB",
        help="of a node that was started, to kill it at",
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there, too")
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
    columns = dict[str, list[Row]]()
    for kept in attacked_nodes(options):
        rows = columns.setdefault(kept.name, [])
        for row in measure(kept, names, options):
            rows.append(row)
            if options.markdown:
                options.markdown.write_text(table_text(names, columns))
    print(f"\n{table_text(names, columns)}", end="", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
