"""What a second core brings: one process and one client share a core, two and two have two.

With a core and a client for each process all of them are as busy, so CPU for a reply says what a second
process costs. Where the kernel places them, two workers wait for clients on their cores, and serve fewer
replies a turn. geth and anvil are one process with threads, on the first core or on both. A packet from core
to core costs more than one that stays, whatever the node: two nodes that share nothing, and half of each
client's connections at each of them, say how much.
"""

import os
import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from bench.lib.anvil_chain import fill
from bench.lib.load import Message, run_load
from bench.lib.nodes import Node
from bench.lib.started import anvil, geth_with
from bench.workers.processes import running
from bench.workers.speed import Speed, questions
from wsnode.load.machine import cpu_seconds

CASES = ("eth_blockNumber", "eth_call balanceOf")
BOTH = {0, 1}
APART = "two nodes, half of each client at each"
SHAPES = ((8, 16), (64, 1))
"""Connections of each client, and calls in flight on each."""
WARM_UP = 0.5
"""Seconds."""


class Placed(NamedTuple):
    """The URLs of a node, or of nodes, and their processes, each with the cores that it may use."""

    urls: Sequence[str]
    processes: Sequence[tuple[int, set[int]]]

    def pin(self) -> None:
        """Have each process, with all its threads, use its cores alone."""
        for process, cores in self.processes:
            for thread in os.listdir(f"/proc/{process}/task"):
                os.sched_setaffinity(int(thread), cores)

    def cpu_seconds(self) -> float:
        """Return the time that all its processes have computed."""
        return sum(cpu_seconds(process) for process, _cores in self.processes)


class Arranged(NamedTuple):
    """Nodes on the cores, and how many clients they serve there, each of them on a core of its own."""

    what: str
    placed: Placed
    clients: int


class Scaled(NamedTuple):
    """What is measured of a node by turns; the first is what the others are held against."""

    name: str
    turns: Sequence[Arranged]


def compare(
    data: Path,
    folder: Path,
    temporary: Path,
    peers: Sequence[Path],
    seconds: float,
    repeats: int,
    cases: Sequence[str] = CASES,
) -> None:
    """Print what wsnode, and each of `peers` (programs: geth, anvil), does on one core and on two."""
    with ExitStack() as stack:
        nodes = [_wsnode(stack, data), *(_peer(stack, program, folder, temporary) for program in peers)]
        for case in cases:
            for shape in SHAPES:
                for node in nodes:
                    _compare(node, case, shape, seconds, repeats)


def _wsnode(stack: ExitStack, data: Path) -> Scaled:
    alone, other, several = (
        stack.enter_context(running("serve", "--data", str(data), "--open", "--workers", count))
        for count in ("1", "1", "2")
    )
    one, two = (node.process.pid for node in (alone, other))
    first, second = several.workers()
    workers = Placed([several.url], [(first, {0}), (second, {1}), (several.process.pid, BOTH)])
    apart = Placed([alone.url, other.url], [(one, {0}), (two, {1})])
    return Scaled(
        "wsnode",
        [*_of_a_process(alone.url, one), Arranged("two workers", workers, 2), Arranged(APART, apart, 2)],
    )


def _of_a_process(url: str, process: int) -> list[Arranged]:
    one, both = (Placed([url], [(process, cores)]) for cores in ({0}, BOTH))
    return [Arranged("on one core", one, 1), Arranged("a process on both", both, 2)]


def _peer(stack: ExitStack, program: Path, folder: Path, temporary: Path) -> Scaled:
    if program.name == "anvil":
        node = stack.enter_context(anvil(program, temporary, mines=False))
        fill(node)
    else:
        node = stack.enter_context(geth_with(program, folder, temporary))
    assert node.process is not None, "it was started here"
    return Scaled(program.name, _of_a_process(node.url, node.process))


def _compare(node: Scaled, case: str, shape: tuple[int, int], seconds: float, repeats: int) -> None:
    # All are of one chain.
    messages = questions(node.turns[0].placed.urls[0], case)
    speeds = [
        [measured(turn.placed, turn.clients, messages, shape, seconds) for turn in node.turns]
        for _ in range(repeats)
    ]
    alone, *others = (Speeds(runs) for runs in zip(*speeds, strict=True))
    told = [alone.told(), *(f"{other.told()}, {other.beside(alone)}" for other in others)]
    what = (f"{turn.what} {speed}" for turn, speed in zip(node.turns, told, strict=True))
    print(f"{node.name} {case} {shape[0]}x{shape[1]}: {'; '.join(what)}", flush=True)


class Speeds(NamedTuple):
    """The runs of a node, one of each turn."""

    runs: Sequence[Speed]

    @property
    def rate(self) -> float:
        """The median of replies a second."""
        return statistics.median(speed.rate for speed in self.runs)

    def told(self) -> str:
        """Return the medians."""
        cpu = statistics.median(speed.cpu for speed in self.runs)
        return f"{self.rate:,.0f} a second, {cpu:.2f} us CPU"

    def beside(self, other: "Speeds") -> str:
        """Return how these compare to runs of the same turns: the rate, and CPU's median and range."""
        ratios = sorted(mine.cpu / their.cpu for mine, their in zip(self.runs, other.runs, strict=True))
        cpu = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"
        return f"{self.rate / other.rate:.2f} times, CPU {cpu}"


def measured(
    node: Placed, clients: int, messages: Sequence[Message], shape: tuple[int, int], seconds: float
) -> Speed:
    """Return what a node does for clients that have a core each.

    Raises:
        RuntimeError: A call failed.
    """
    node.pin()
    _load(node.urls, messages, shape, clients, WARM_UP)
    began, cpu = time.perf_counter(), node.cpu_seconds()
    rate = _load(node.urls, messages, shape, clients, seconds)
    took = time.perf_counter() - began
    return Speed(rate, (node.cpu_seconds() - cpu) / (rate * took) * 1e6)


def _load(
    urls: Sequence[str], messages: Sequence[Message], shape: tuple[int, int], clients: int, seconds: float
) -> float:
    """Return the replies a second of all clients together."""
    rates: list[float] = []

    connections, in_flight = shape

    def run(core: int, url: str) -> None:
        # Of this thread, and of the program that it starts.
        os.sched_setaffinity(0, {core})
        load = run_load(Node("node", url, None), messages, (connections // len(urls), in_flight), seconds)
        if not load.errors:
            rates.append(load.rate)

    threads = [threading.Thread(target=run, args=(core, url)) for core in range(clients) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(rates) < len(threads):
        raise RuntimeError("calls failed")
    return sum(rates)
