"""The whole measurement of a node, or of two by turns."""

from collections.abc import Callable, Sequence

import msgspec

from wsnode.load.head_of_line import HeadOfLine, measure_head_of_line
from wsnode.load.machine import machine_time
from wsnode.load.measured import Measured
from wsnode.load.mix import Request, make_requests
from wsnode.load.node import Asker
from wsnode.load.processes import runners
from wsnode.load.report import text
from wsnode.load.samples import Samples, take_samples
from wsnode.load.slow_client import SlowClient, measure_slow_client
from wsnode.load.window import WARM_UP, Pattern

REQUESTS = 4096
ROUNDS = 3
SLICES = 120
"""Points over time, at most."""
SHORTEST_SLICE = 0.25
SECTION_SECONDS = 2.0
"""Seconds for which cheap calls are measured, before and beside the load."""


class Plan(msgspec.Struct, frozen=True):
    """The plan of a measurement: methods, rates and durations."""

    mix: dict[str, float]
    pattern: Pattern
    seed: int = 1
    processes: int = 1
    """Of the client."""


class Node(msgspec.Struct, frozen=True):
    """A node under measurement, and what its chain holds."""

    url: str
    version: str
    samples: Samples


class Outcome(msgspec.Struct, frozen=True):
    """What was measured of one node, or of each of two."""

    nodes: list[Node]
    plan: Plan
    mix: list[Measured]
    head_of_line: list[HeadOfLine] = []
    slow_client: list[SlowClient] = []


def look_at(url: str) -> Node:
    """Return a node with samples of its chain.

    Raises:
        ConnectionError: It does not answer.
        RefusedError: It does not say where its chain ends.
    """
    with Asker(url) as asker:
        return Node(url, str(asker.try_ask("web3_clientVersion")), take_samples(asker))


def measure(urls: Sequence[str], plan: Plan, say: Callable[[str], None]) -> Outcome:
    """Measure each node and say the results as they come; for two nodes also the ratios of both.

    Over HTTP the mix is all, since the other sections are about what one connection does to another.

    Raises:
        ConnectionError: A node does not answer, or closed a connection.
    """
    nodes = [look_at(url) for url in urls]
    for number, node in enumerate(nodes):
        say(text.title(text.NAMES[number], node.url, node.version, node.samples.head))
    outcome = Outcome(nodes, plan, measure_mix(nodes, plan, say))
    if any(node.url.startswith("http") for node in nodes):
        return outcome
    seconds = min(SECTION_SECONDS, plan.pattern.seconds)
    say(text.HEAD_OF_LINE)
    outcome.head_of_line.extend(measure_head_of_line(node.url, seconds) for node in nodes)
    text.say_all(say, text.head_of_line, outcome.head_of_line)
    for line in text.heavy_answers(outcome.head_of_line):
        say(line)
    say(text.SLOW_CLIENT)
    outcome.slow_client.extend(measure_slow_client(node.url, node.samples, seconds) for node in nodes)
    text.say_all(say, text.slow_client, outcome.slow_client)
    return outcome


def measure_mix(nodes: Sequence[Node], plan: Plan, say: Callable[[str], None]) -> list[Measured]:
    """Return what the mix on each node gave, in turns, a share of the time each."""
    requests = requests_for(nodes, plan)
    rounds = ROUNDS if len(nodes) > 1 else 1
    turn = msgspec.structs.replace(plan.pattern, seconds=plan.pattern.seconds / rounds)
    slice_seconds = slices_of(turn.seconds * (1 - WARM_UP), SLICES // rounds)
    measured = [Measured(slice_seconds=slice_seconds) for _ in nodes]
    with runners(plan.processes) as run:
        for _ in range(rounds):
            for node, asked, taken in zip(nodes, requests, measured, strict=True):
                before = machine_time()
                found = run(node.url, asked, turn, slice_seconds)
                found.machine = machine_time().part_since(before)
                taken.follow(found)
    say(text.mix_title(plan.pattern))
    for line in text.mix(measured):
        say(line)
    return measured


def slices_of(seconds: float, most: int) -> float:
    """Return how long the equal slices of a turn are, at most so many."""
    return seconds / max(1, min(most, int(seconds / SHORTEST_SLICE)))


def requests_for(nodes: Sequence[Node], plan: Plan) -> list[list[Request]]:
    """Return the requests for each node; nodes with equal chains get equal requests."""
    first = nodes[0].samples
    same = all(node.samples.last_hash == first.last_hash for node in nodes)
    return [make_requests(plan.mix, first if same else node.samples, REQUESTS, plan.seed) for node in nodes]
