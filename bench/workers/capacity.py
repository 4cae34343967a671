"""What a larger machine would do: a model of figures that are measured here, and its assumptions."""

import asyncio
import math
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from bench.idle import open_more
from bench.lib.compiled import compiled
from bench.lib.load import LoadError, finished
from bench.workers.processes import Started, running
from bench.workers.speed import notice_delays, speed_of
from wsnode.load.machine import cpu_seconds, resident_bytes

CASES: Final = {"eth_blockNumber": (64, 1), "eth_call balanceOf": (8, 16)}
"""Connections to each process, and calls in flight on each of them."""
MACHINES: Final = (4, 8, 16, 32)
"""Cores."""
BLOCK_TIME: Final = 0.1
FEW, MANY = 2, 6
"""Workers between which the cost of a block for one of them is told apart from what a block costs once."""
CLIENTS: Final = 100_000
SUBSCRIBE: Final = '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'
MINE: Final = '{"jsonrpc":"2.0","id":2,"method":"evm_mine","params":[]}'
PAUSE_MS: Final = 20
MAX_RUN: Final = 300.0
ASSUMPTIONS: Final = """\
assumed: one core is the writer's, the parent's and the kernel's; each other core has a worker. The
  network and the memory keep up. Clients are elsewhere, and spread evenly. `at best` a call costs with any
  number of workers what it costs with two; `at worst` each doubling costs again what the first one did."""


class Costs(NamedTuple):
    """What was measured: CPU in microseconds, memory in bytes."""

    calls: dict[str, tuple[float, float]]
    """Of a call, with one process and with two of the same load each."""
    parent: float
    """Of a connection that arrives, in the parent, which is one process whatever the number of workers."""
    arrival: float
    """The same in its worker."""
    connection: float
    """Memory of an idle connection."""
    block: float
    """Of a block, for a worker without subscribers."""
    notification: float
    """Of a head, for each of its subscribers."""


def measured(
    folder: Path,
    data: Path,
    seconds: float,
    cases: Mapping[str, tuple[int, int]] = CASES,
    arrivals: int = 2_000,
    blocks: int = 30,
) -> Costs:
    """Return what things cost here, on the stored chain in `data` and on development chains.

    Raises:
        LoadError: A node refused connections, or there is no C compiler.
    """
    return Costs(
        {case: call_costs(data, case, shape, seconds) for case, shape in cases.items()},
        *arrival_costs(data, arrivals),
        block_cost(folder, int(seconds / BLOCK_TIME)),
        notification_cost(folder, arrivals, blocks),
    )


def call_costs(data: Path, case: str, shape: tuple[int, int], seconds: float) -> tuple[float, float]:
    """Return the CPU of a call with one process, and with two."""
    connections, depth = shape
    one, two = (speed_of(data, count, case, (count * connections, depth), seconds) for count in (1, 2))
    return one.cpu, two.cpu


def arrival_costs(data: Path, arrivals: int) -> tuple[float, float, float]:
    """Return the CPU of a connection that arrives, in parent and worker, and the memory that it takes."""
    with running("serve", "--data", str(data), "--open", "--workers", str(FEW)) as node:
        opened: list[socket.socket] = []
        open_more(node.url, FEW, opened, 0)
        before = _state_of(node)
        open_more(node.url, FEW + arrivals, opened, 0)
        after = _state_of(node)
        for connected in opened:
            connected.close()
    parent, workers, memory = ((new - old) / arrivals for old, new in zip(before, after, strict=True))
    return parent * 1e6, workers * 1e6, memory


def _state_of(node: Started) -> tuple[float, float, float]:
    workers = node.workers()
    computed, memory = sum(map(cpu_seconds, workers)), sum(map(resident_bytes, workers))
    return cpu_seconds(node.process.pid), computed, memory


def block_cost(folder: Path, blocks: int) -> float:
    """Return the CPU of a block for each worker, by how much more it is for many than for few."""
    few, many = (_cost_for(folder / f"{workers} workers", workers, blocks) for workers in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def _cost_for(data: Path, workers: int, blocks: int) -> float:
    with (
        running("dev", "--data", str(data), "--block-time", str(BLOCK_TIME)) as writer,
        running("serve", "--data", str(data), "--open", "--workers", str(workers)) as reader,
    ):
        before = reader.cpu_seconds()
        asyncio.run(notice_delays(writer.url, reader.url, blocks))
        return (reader.cpu_seconds() - before) / blocks * 1e6


def notification_cost(folder: Path, subscribers: int, blocks: int) -> float:
    """Return the CPU of all workers for a head, by its subscribers."""
    if (program := compiled("fan_out")) is None:
        raise LoadError("the client has to be compiled")
    data = folder / "notifications"
    with (
        running("dev", "--data", str(data)) as writer,
        running("serve", "--data", str(data), "--open", "--workers", str(FEW)) as reader,
    ):
        place, ports = urlsplit(writer.url), f"{writer.port},{reader.port}"
        command = [program, place.hostname, ports, place.path, subscribers, blocks, 1, SUBSCRIBE, MINE]
        before = reader.cpu_seconds()
        # Those who subscribe arrive in this time as well, and what they cost is left out.
        finished([*command[:4], subscribers, 1, *command[6:], PAUSE_MS, 0], MAX_RUN)
        between = reader.cpu_seconds()
        finished([*command, PAUSE_MS, 0], MAX_RUN)
        more = reader.cpu_seconds() - between - (between - before)
    return more / (subscribers * (blocks - 1)) * 1e6


def lines(costs: Costs, machines: Sequence[int] = MACHINES) -> Iterator[str]:
    """Yield what was measured, the assumptions, and what follows from both."""
    for case, (one, two) in costs.calls.items():
        yield f"{case}: {one:.2f} us CPU with one process, {two:.2f} with two of the same load each"
    yield (
        f"a connection: {costs.parent:.0f} us in the parent, {costs.arrival:.0f} us in its worker, "
        f"{costs.connection / 1024:.1f} KiB; a block {costs.block:.0f} us for each worker; "
        f"a notification of a head {costs.notification:.1f} us"
    )
    yield ASSUMPTIONS
    for cores in machines:
        yield f"{cores} cores: " + "; ".join(
            f"{case} {_rate(cost, cores, at_worst=True):,.0f} to {_rate(cost, cores, at_worst=False):,.0f}/s"
            for case, cost in costs.calls.items()
        )
    yield from _crowd(costs, machines)


def _rate(cost: tuple[float, float], cores: int, *, at_worst: bool) -> float:
    one, two = cost
    workers = cores - 1
    rise = max(1.0, two / one) ** (math.log2(workers) if at_worst else 1)
    return workers * 1e6 / (one * rise)


def _crowd(costs: Costs, machines: Sequence[int]) -> Iterator[str]:
    yield f"{CLIENTS:,} clients: {CLIENTS * costs.connection / 2**30:.2f} GiB while they are idle"
    for cores in machines:
        workers = cores - 1
        head = (CLIENTS * costs.notification / workers + costs.block) / 1e6
        back = CLIENTS * max(costs.parent, costs.arrival / workers) / 1e6
        yield f"  {cores} cores: {head:.2f} s until all have a head; {back:.1f} s until all have come back"
