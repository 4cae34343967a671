"""What a second core brings: one process and one client share a core, two and two have two.

With a core and a client for each process all of them are as busy, so CPU for a reply says what a second
process costs. Without that, two workers wait for clients that share their cores, and serve fewer replies a
turn. geth and anvil are one process with threads, on the first core or on both.
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
    """A node's URL, and its processes, each with the cores that it may use."""

    url: str
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
    """A node on the first core and on both."""

    name: str
    one: Placed
    both: Placed


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
    alone, several = (
        stack.enter_context(running("serve", "--data", str(data), "--open", "--workers", count))
        for count in ("1", "2")
    )
    first, second = several.workers()
    together = [(first, {0}), (second, {1}), (several.process.pid, {0, 1})]
    return Scaled("wsnode", Placed(alone.url, [(alone.process.pid, {0})]), Placed(several.url, together))


def _peer(stack: ExitStack, program: Path, folder: Path, temporary: Path) -> Scaled:
    if program.name == "anvil":
        node = stack.enter_context(anvil(program, temporary, mines=False))
        fill(node)
    else:
        node = stack.enter_context(geth_with(program, folder, temporary))
    assert node.process is not None, "it was started here"
    one, both = (Placed(node.url, [(node.process, cores)]) for cores in ({0}, {0, 1}))
    return Scaled(program.name, one, both)


def _compare(node: Scaled, case: str, shape: tuple[int, int], seconds: float, repeats: int) -> None:
    # Both are of one chain.
    messages = questions(node.one.url, case)
    speeds = [
        (measured(node.one, messages, shape, 1, seconds), measured(node.both, messages, shape, 2, seconds))
        for _ in range(repeats)
    ]
    one, both = (_median([pair[place] for pair in speeds]) for place in (0, 1))
    ratios = sorted(two.cpu / first.cpu for first, two in speeds)
    print(
        f"{node.name} {case} {shape[0]}x{shape[1]}: {one.rate:,.0f} a second on one core, "
        f"{one.cpu:.2f} us CPU; {both.rate:,.0f} on two, {both.cpu:.2f} us; "
        f"{both.rate / one.rate:.2f} times, CPU {both.cpu / one.cpu:.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})",
        flush=True,
    )


def _median(speeds: Sequence[Speed]) -> Speed:
    return Speed(
        statistics.median(speed.rate for speed in speeds), statistics.median(speed.cpu for speed in speeds)
    )


def measured(
    node: Placed, messages: Sequence[Message], shape: tuple[int, int], clients: int, seconds: float
) -> Speed:
    """Return what a node does for clients that have a core each.

    Raises:
        RuntimeError: A call failed.
    """
    node.pin()
    _load(node.url, messages, shape, clients, WARM_UP)
    began, cpu = time.perf_counter(), node.cpu_seconds()
    rate = _load(node.url, messages, shape, clients, seconds)
    took = time.perf_counter() - began
    return Speed(rate, (node.cpu_seconds() - cpu) / (rate * took) * 1e6)


def _load(
    url: str, messages: Sequence[Message], shape: tuple[int, int], clients: int, seconds: float
) -> float:
    """Return the replies a second of all clients together."""
    rates: list[float] = []

    def run(core: int) -> None:
        # Of this thread, and of the program that it starts.
        os.sched_setaffinity(0, {core})
        load = run_load(Node("node", url, None), messages, shape, seconds)
        if not load.errors:
            rates.append(load.rate)

    threads = [threading.Thread(target=run, args=(core,)) for core in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(rates) < clients:
        raise RuntimeError("calls failed")
    return sum(rates)
