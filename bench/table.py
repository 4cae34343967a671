"""A table of requests: every case on every node, by turns, in one run.

    python -m bench.table NODE [NODE …]
    python -m bench.table --standard FOLDER [--geth PATH] [--anvil PATH] [--markdown FILE]

A NODE is `[NAME=]URL[@PID]`, any number of them; the first one is compared with each other. What is asked is
read from each node's own chain: they need not have the same one. With --standard the nodes are started here:
wsnode and geth import the folder's chain (genesis.json, chain.rlp or chain.rlp.gz, meta.json), anvil gets
one of like size. Each case runs --repeats times on each node, and the run of median CPU counts (of median
rate, where the node's process is unknown); the table has the least and the most CPU of them as well.

CPU is that of the node's process, which must run on this machine; it says more than rates where the client
shares the cores. `others` are cores that neither of both used: on a busy machine believe the CPU only. --idle
opens that number of idle connections before anything else, beside a client whose latency is printed, and
measures their memory. --limit measures in each case what a server in C takes that does nothing but send a
reply of the same size to each request (bench/clients/echo.c): no node can take less. --beside has another
client ask for the block number a hundred times a second meanwhile, and prints how long it waits, with what a
late reply delays. --difficult asks the same nodes what bench.head_of_line and bench.slow_reader ask; --import
and --fan-out run those scripts on nodes of their own. The client is bench/clients/load.c, compiled when first
needed; without a C compiler it is Python, which is slower than a fast node and sends no batches.
"""

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path

from bench import fan_out, head_of_line, idle, import_chain, slow_reader
from bench.lib import started
from bench.lib.anvil_chain import fill
from bench.lib.cases import Case, Shape, query_cases, small_cases
from bench.lib.development import started_nodes
from bench.lib.limits.echo import LIMIT, echoing
from bench.lib.load import Load, LoadError, run_load
from bench.lib.markdown import Row, ratio_text, table_text
from bench.lib.material import Material, UnfitChainError, read_material
from bench.lib.nodes import Node, allow_many_files, parser_of, wait_settled
from bench.lib.peer import Steady, steady_client
from bench.lib.started import StartError

OTHERS_SHOWN = 0.1
HEADS = 10_000


def main() -> int:
    """Measure, and print the table."""
    options = options_of()
    allow_many_files()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary, ExitStack() as stack:
        nodes = options.nodes or list(standard_nodes(options, Path(temporary), stack))
        # Before any load: afterwards a node has memory to spare.
        memory = idle_memory(nodes, options.idle)
        rows = list(measured(nodes, options))
        if options.markdown:
            options.markdown.write_text(table_text(columns_of(nodes, options), rows, memory))
        if options.difficult:
            difficult(nodes)
    print(f"{(time.monotonic() - began) / 60:.1f} minutes in all", flush=True)
    more(options)
    return 0


def options_of() -> argparse.Namespace:
    """Return what was given on the command line."""
    parser = parser_of(__doc__, nodes="*")
    parser.add_argument("--standard", type=Path, metavar="FOLDER", help="start nodes with this chain")
    parser.add_argument("--geth", type=Path, metavar="PATH", help="of its program, to start it as well")
    parser.add_argument("--anvil", type=Path, metavar="PATH", help="of its program, to start it as well")
    parser.add_argument("--patterns", default="1x1,1x16,8x16,256x1", help="CONNECTIONSxDEPTH of small calls")
    parser.add_argument("--queries", default="8x16", help="CONNECTIONSxDEPTH of the other calls")
    parser.add_argument("--seconds", type=float, default=1.5, help="of a run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", metavar="TEXT,…", help="cases whose names hold one of these")
    parser.add_argument(
        "--idle", type=int, default=10_000, metavar="COUNT", help="idle connections, 0 for none"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there")
    parser.add_argument("--limit", action="store_true", help="measure what no node can take less than")
    parser.add_argument("--beside", action="store_true", help="measure the waits of another client meanwhile")
    parser.add_argument("--difficult", action="store_true", help="measure difficult clients as well")
    parser.add_argument("--fan-out", action="store_true", help="measure subscriptions as well")
    parser.add_argument("--import", dest="imports", action="store_true", help="measure the import as well")
    options = parser.parse_args()
    if bool(options.nodes) == bool(options.standard):
        parser.error("give nodes, or --standard to start them")
    return options


def standard_nodes(options: argparse.Namespace, temporary: Path, stack: ExitStack) -> Iterator[Node]:
    """Start the nodes that have the standard chain, or anvil's."""
    print("wsnode imports and starts", flush=True)
    yield stack.enter_context(started.wsnode_with(options.standard, temporary))
    if options.geth:
        print("geth imports, starts and indexes: half a minute", flush=True)
        yield stack.enter_context(started.geth_with(options.geth, options.standard, temporary))
    if options.anvil:
        print("anvil starts and makes its chain", flush=True)
        node = stack.enter_context(started.anvil(options.anvil, temporary, mines=False))
        fill(node)
        yield node


def rare_topic(options: argparse.Namespace) -> str | None:
    """Return the topic that the standard chain's makers made rare."""
    if options.standard is None:
        return None
    topic: str = json.loads((options.standard / "meta.json").read_text())["rareTopic"]
    return topic


def measured(nodes: Sequence[Node], options: argparse.Namespace) -> Iterator[Row]:
    """Yield each case with what the nodes took for it."""
    topic = rare_topic(options)
    columns = [cases_of(read_material(node.url, topic), options) for node in nodes]
    turns = options.repeats * len(nodes) * options.seconds * sum(case.length for case in columns[0])
    print(f"{len(columns[0])} cases on {len(nodes)} nodes: {turns / 60:.1f} minutes", flush=True)
    for cases in zip(*columns, strict=True):
        yield cases[0].name, by_turns(nodes, cases, options)


def cases_of(material: Material, options: argparse.Namespace) -> list[Case]:
    """Return the cases that were asked for."""
    shapes = [shape_of(text) for text in options.patterns.split(",")]
    cases = small_cases(shapes) + query_cases(material, shape_of(options.queries))
    wanted = options.only.split(",")
    return [case for case in cases if any(text in case.name for text in wanted)]


def columns_of(nodes: Sequence[Node], options: argparse.Namespace) -> list[Node]:
    """Return what has a column in the table: the nodes, and the limit if it was asked for."""
    return [*nodes, LIMIT] if options.limit else list(nodes)


def shape_of(text: str) -> Shape:
    """Return the two numbers of CONNECTIONSxDEPTH."""
    connections, depth = map(int, text.split("x"))
    return connections, depth


def by_turns(nodes: Sequence[Node], cases: Sequence[Case], options: argparse.Namespace) -> list[Load | None]:
    """Return the median run of each node, None of one that failed; print a line for each."""
    runs: list[list[Load]] = [[] for _ in nodes]
    others = [Steady() for _ in nodes]
    for _ in range(options.repeats):
        for node, case, done, other in zip(nodes, cases, runs, others, strict=True):
            wait_settled(node.process)
            try:
                with steady_client(node.url) if options.beside else nullcontext(Steady()) as steady:
                    done.append(run_load(node, case.messages, case.shape, options.seconds * case.length))
                other.latencies += steady.latencies
            except (OSError, LoadError) as error:
                print(f"{case.name}: {node.name}: {error}", file=sys.stderr, flush=True)
    loads = [median(done) for done in runs]
    if options.limit:
        loads.append(limit_of(cases[0], loads[0], options))
    say(columns_of(nodes, options), cases[0].name, loads)
    say_waits(nodes, others)
    return loads


def median(done: Sequence[Load]) -> Load | None:
    """Return the run of median CPU, of median rate where that is unknown; None of none."""
    if not done:
        return None
    spent = sorted(load.cpu for load in done if load.cpu is not None)
    middle = sorted(done, key=lambda load: load.rate if load.cpu is None else load.cpu)[len(done) // 2]
    return middle._replace(spread=(spent[0], spent[-1])) if len(spent) > 1 else middle


def limit_of(case: Case, first: Load | None, options: argparse.Namespace) -> Load | None:
    """Return what the least server takes for replies of the size of the first node's, None without one."""
    if first is None or math.isnan(first.bytes):
        return None
    with echoing(round(first.bytes)) as node:
        if node is None:
            return None
        seconds = options.seconds * case.length
        return median([run_load(node, case.messages, case.shape, seconds) for _ in range(options.repeats)])


def say(nodes: Sequence[Node], name: str, loads: Sequence[Load | None]) -> None:
    """Print a line for each node, with ratios of the first one."""
    first = loads[0]
    for node, load in zip(nodes, loads, strict=True):
        if load is None:
            continue
        ratios = "" if first is None or load is first else f"  {nodes[0].name}: {ratio_text(first, load)}"
        print(f"{name:26} {node.name:>8} {load_text(load)}{ratios}", flush=True)


def say_waits(nodes: Sequence[Node], others: Sequence[Steady]) -> None:
    """Print how long the client beside each node's runs has waited, if there was one."""
    for node, other in zip(nodes, others, strict=True):
        if other.latencies:
            print(f"{'':26} {node.name:>8} another client meanwhile: {other}", flush=True)


def load_text(load: Load) -> str:
    """Return the figures of a run in columns."""
    cpu = f"{load.cpu * 1000:10.1f} us" if load.cpu is not None else " " * 13
    text = f"{load.rate:11,.1f}/s p50 {load.p50:8.3f} p99 {load.p99:8.3f} ms {cpu} {load.bytes:11,.0f} B"
    others = f"  others {load.others:.2f}" if load.others >= OTHERS_SHOWN else ""
    return text + others + (f"  {load.errors} errors" if load.errors else "")


def idle_memory(nodes: Sequence[Node], count: int) -> list[float | None]:
    """Return KiB of each node for an idle connection, None where its process is unknown."""
    if not count:
        return [None for _ in nodes]
    results = idle.compare(nodes, [count], over=0.0)
    return [result.kib if node.process else None for node, result in zip(nodes, results, strict=True)]


def difficult(nodes: Sequence[Node]) -> None:
    """Measure heavy calls before cheap ones, and a client that does not read."""
    texts = [f"{node.name}={node.url}@{node.process or 0}" for node in nodes]
    for script in (head_of_line, slow_reader):
        print(script.__name__, flush=True)
        try:
            script.main(texts)
        except ConnectionError as error:
            print(error, file=sys.stderr, flush=True)


def more(options: argparse.Namespace) -> None:
    """Run the other scripts that were asked for."""
    if options.fan_out:
        with started_nodes(options.geth, options.anvil) as nodes:
            fan_out.compare(nodes, fan_out.scenes(HEADS, long=False))
    if options.imports:
        import_chain.compare(options.standard, options.geth, 1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ConnectionError, StartError, UnfitChainError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
