"""How soon do all subscribers have what a block brings, and what does that cost the node?

    python -m bench.fan_out NODE [NODE …]
    python -m bench.fan_out --dev [--durable] [--geth PATH] [--anvil PATH] [--long] [--repeats 5]

A NODE is `[NAME=]URL[@PID]` that mines at once on `eth_sendTransaction` from an account of its own: `wsnode
dev`, anvil, `geth --dev`. With --dev they are started here, with --durable wsnode on a folder that it keeps:
each block is on the disk before it is published, after two syncs in a row, and what one costs is printed
too. Every block has one transaction with 100 logs. By turns: logs to 1, 100 and 1,000 subscribers, newHeads
to 10,000, logs to 1,000 and 100 beside one that reads nothing. Lag is the time from sending the transaction
to the last notification of the block at the last subscriber; a block that is not complete after 15 s counts
as 15 s. CPU and memory (before, subscribed, at most) are of the node's process. With --repeats each scene is
measured so often on each node, by turns, and medians are compared; in brackets are the least and the most.
The client is bench/clients/fan_out.c, which needs a C compiler.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bench.lib import started
from bench.lib.compiled import compiled
from bench.lib.contracts import burst_creation, deploy
from bench.lib.development import development_nodes, development_parser
from bench.lib.disk import sync_milliseconds
from bench.lib.load import LoadError, finished
from bench.lib.nodes import Node, wait_settled
from wsnode.load.node_reader import NodeReader

LOGS = 100
GAS = hex(1_000_000)
MAX_RUN = 900.0
COMPARED = ("last_p50", "last_p99", "cpu")
Figures = dict[str, Any]


class Scene(NamedTuple):
    """A kind of subscription, how many, how many blocks, and how many subscribers that do not read."""

    name: str
    kind: str
    subscribers: int
    blocks: int
    stalled: int = 0


class Ready(NamedTuple):
    """A node with its contract."""

    node: Node
    contract: str
    sender: str


def scenes(most_heads: int, *, long: bool) -> list[Scene]:
    """Return what is measured, with or without what takes a slow node minutes."""
    measured = [
        Scene("logs to 1", "logs", 1, 40),
        Scene("logs to 100", "logs", 100, 40),
        Scene("logs to 1,000", "logs", 1000, 20),
        Scene(f"newHeads to {most_heads:,}", "newHeads", most_heads, 20),
        Scene("logs to 1,000 beside one that stalls", "logs", 1000, 30, stalled=1),
        # Enough to fill every buffer between the node and a client that does not read: 30 MB.
        Scene("logs to 100 beside one that stalls for long", "logs", 100, 400, stalled=1),
    ]
    if long:
        measured += [
            Scene("logs to 1,000 for long", "logs", 1000, 400),
            Scene("logs to 1,000 for long beside one that stalls", "logs", 1000, 400, stalled=1),
        ]
    return measured


def main() -> int:
    """Measure, and print figures and ratios."""
    parser = development_parser(__doc__)
    parser.add_argument(
        "--only", default="", metavar="TEXT,…", help="scenes with such names, or names that hold one"
    )
    parser.add_argument(
        "--long", action="store_true", help="fill the buffers of who stalls among 1,000 as well"
    )
    parser.add_argument("--heads", type=int, default=10_000, help="subscribers of newHeads")
    parser.add_argument("--repeats", type=int, default=1, help="of each scene on each node")
    options = parser.parse_args()
    with development_nodes(parser, options) as nodes:
        compare(nodes, chosen(options), options.repeats)
    if options.durable:
        print(f"a page synced: {sync_milliseconds():.2f} ms", flush=True)
    return 0


def chosen(options: argparse.Namespace) -> list[Scene]:
    """Return the scenes that were asked for."""
    texts = options.only.split(",")
    wanted = scenes(options.heads, long=options.long)
    exact = [scene for scene in wanted if scene.name in texts]
    return exact or [scene for scene in wanted if any(text in scene.name for text in texts)]


def compare(nodes: Sequence[Node], wanted: Sequence[Scene], repeats: int = 1) -> None:
    """Print figures of each scene on each node, and ratios of the first node to each other."""
    ready = [prepared(node) for node in nodes]
    for scene in wanted:
        print(scene.name, flush=True)
        runs: dict[str, list[Figures]] = {}
        for _ in range(repeats):
            for name, figures in measure_all(ready, scene):
                runs.setdefault(name, []).append(figures)
        if repeats > 1:
            print_medians(runs)
        print_ratios([(name, medians(done)) for name, done in runs.items()])


def medians(done: Sequence[Figures]) -> Figures:
    """Return the median of each figure that nodes are compared by."""
    return {key: statistics.median(figures[key] for figures in done) for key in COMPARED}


def print_medians(runs: dict[str, list[Figures]]) -> None:
    """Print medians of several runs of each node, and the least and the most of each figure."""
    for name, done in runs.items():
        middle = medians(done)
        texts = []
        for key in COMPARED:
            values = [figures[key] for figures in done]
            texts.append(f"{key} {middle[key]:.2f} ({min(values):.2f}-{max(values):.2f})")
        print(f"  {name:>8} of {len(done)}: {', '.join(texts)}", flush=True)


def prepared(node: Node) -> Ready:
    """Return a node with a contract that logs as often as asked to."""
    with NodeReader(node.url) as asker:
        sender = asker.ask("eth_accounts")[0]
        return Ready(node, deploy(asker, sender, burst_creation()), sender)


def measure_all(ready: Sequence[Ready], scene: Scene) -> Iterator[tuple[str, Figures]]:
    """Yield what each node took, where it came to an end."""
    for each in ready:
        wait_settled(each.node.process)
        try:
            figures = measure(each, scene)
        except LoadError as error:
            print(f"  {each.node.name}: {error}", file=sys.stderr, flush=True)
            continue
        print(f"  {each.node.name:>8} {text_of(figures, scene)}", flush=True)
        yield each.node.name, figures


def measure(ready: Ready, scene: Scene) -> Figures:
    """Return what the client in C printed, with `cpu`, microseconds of the node for a notification.

    Raises:
        LoadError: Not all could subscribe, or there is no C compiler.
    """
    program = compiled("fan_out")
    if program is None:
        raise LoadError("the client has to be compiled")
    node, place = ready.node, urlsplit(ready.node.url)
    expected = LOGS if scene.kind == "logs" else 1
    command = [program, place.hostname, place.port or 80, place.path or "/", scene.subscribers, scene.blocks]
    command += [expected, subscription(ready, scene), trigger(ready), 20, scene.stalled, node.process or 0]
    figures = finished(command, MAX_RUN)
    return figures | {"cpu": figures["node_cpu"] / max(1, figures["notifications"]) * 1e6}


def subscription(ready: Ready, scene: Scene) -> str:
    """Return the request of a subscriber."""
    params: list[object] = [scene.kind]
    if scene.kind == "logs":
        params.append({"address": ready.contract})
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": params})


def trigger(ready: Ready) -> str:
    """Return the request that makes a block."""
    sent = transaction(ready)
    return json.dumps({"jsonrpc": "2.0", "id": 2, "method": "eth_sendTransaction", "params": [sent]})


def transaction(ready: Ready) -> dict[str, str]:
    """Return the transaction that logs."""
    return {"from": ready.sender, "to": ready.contract, "gas": GAS, "data": f"0x{LOGS:064x}"}


def text_of(figures: Figures, scene: Scene) -> str:
    """Return the figures of a node in a line."""
    text = f"last p50 {figures['last_p50']:9.2f} p99 {figures['last_p99']:9.2f} ms"
    text += f"  {figures['cpu']:7.2f} us each of {figures['notifications']:,}"
    memory = (figures[f"memory_{when}"] for when in ("before", "subscribed", "peak"))
    text += f"  memory {' -> '.join(f'{mebibytes:.0f}' for mebibytes in memory)} MiB"
    if figures["missing"] or figures["notices"] or figures["ended"]:
        text += f"  missing {figures['missing']:,}, notices {figures['notices']}, cut off {figures['ended']}"
    if scene.stalled:
        text += f"  the stalled one: {figures['stalled_notifications']:,} notifications,"
        text += f" {figures['stalled_notices']} notices, {'' if figures['stalled_ended'] else 'not '}cut off"
    return text


def print_ratios(measured: Sequence[tuple[str, Figures]]) -> None:
    """Print how many times another node's figures those of the first one are."""
    for name, figures in measured[1:]:
        own, mine = measured[0]
        ratios = (f"{key} {mine[key] / figures[key]:.2f}" for key in COMPARED if figures[key] > 0)
        print(f"  {own} / {name}: {', '.join(ratios)}", flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ConnectionError, started.StartError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
