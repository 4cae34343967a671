"""What a second core brings: one process and one client share a core, two and two have two.

With a core and a client for each process all of them are as busy, so CPU for a reply says what a second
process costs. Without that, two workers wait for clients that share their cores, and serve fewer replies a
turn. geth and anvil are one process with threads, on the first core or on both. A packet from core to core
costs more than one that stays, whatever the node: two nodes that share nothing, and half of each client's
connections at each of them, say how much.
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


class Scaled(NamedTuple):
    """A node on the first core and on both, and two nodes, a core each."""

    name: str
    one: Placed
    both: Placed
    apart: Placed | None = None


def compare_cores(
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
    return Scaled(
        "wsnode",
        Placed([alone.url], [(one, {0})]),
        Placed([several.url], [(first, {0}), (second, {1}), (several.process.pid, {0, 1})]),
        Placed([alone.url, other.url], [(one, {0}), (two, {1})]),
    )


def _peer(stack: ExitStack, program: Path, folder: Path, temporary: Path) -> Scaled:
    if program.name == "anvil":
        node = stack.enter_context(anvil(program, temporary, mines=False))
        fill(node)
    else:
        node = stack.enter_context(geth_with(program, folder, temporary))
    assert node.process is not None, "it was started here"
    one, both = (Placed([node.url], [(node.process, cores)]) for cores in ({0}, {0, 1}))
    return Scaled(program.name, one, both)


def _compare(node: Scaled, case: str, shape: tuple[int, int], seconds: float, repeats: int) -> None:
    # All are of one chain.
    messages = questions(node.one.urls[0], case)
    placed = [place for place in (node.one, node.both, node.apart) if place is not None]
    clients = (1, 2, 2)
    speeds = [
        [measured(*turn, messages, shape, seconds) for turn in zip(placed, clients, strict=False)]
        for _ in range(repeats)
    ]
    one, both, *apart = (Speeds([turn[place] for turn in speeds]) for place in range(len(placed)))
    print(
        f"{node.name} {case} {shape[0]}x{shape[1]}: {one.told()} on one core; {both.told()} on two, "
        + both.beside("one", one)
        + "".join(f"; two nodes {other.told()}, {both.beside('theirs', other)}" for other in apart),
        flush=True,
    )


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

    def beside(self, whose: str, other: "Speeds") -> str:
        """Return how these compare to runs of the same turns: the rate, and CPU's median and range."""
        ratios = sorted(mine.cpu / their.cpu for mine, their in zip(self.runs, other.runs, strict=True))
        cpu = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"
        return f"{self.rate / other.rate:.2f} times {whose}, CPU {cpu}"


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
