"""The whole measurement of a node, or of two by turns."""

from collections.abc import Callable, Sequence

import msgspec

from wsnode.load import report
from wsnode.load.head_of_line import measure_head_of_line
from wsnode.load.measured import Measured
from wsnode.load.mix import Request, make_requests
from wsnode.load.node import Asker
from wsnode.load.samples import Samples, take_samples
from wsnode.load.slow_client import measure_slow_client
from wsnode.load.window import Pattern, run_window

REQUESTS = 4096
ROUNDS = 3
SECTION_SECONDS = 2.0
"""Seconds for which cheap calls are measured, before and beside the load."""


class Plan(msgspec.Struct, frozen=True):
    """The plan of a measurement: methods, rates and durations."""

    mix: dict[str, float]
    pattern: Pattern
    seed: int = 1


class Node(msgspec.Struct, frozen=True):
    """A node under measurement, and what its chain holds."""

    url: str
    version: str
    samples: Samples


def look_at(url: str) -> Node:
    """Return a node with samples of its chain.

    Raises:
        ConnectionError: It does not answer.
        RefusedError: It does not say where its chain ends.
    """
    with Asker(url) as asker:
        return Node(url, str(asker.try_ask("web3_clientVersion")), take_samples(asker))


def measure(urls: Sequence[str], plan: Plan, say: Callable[[str], None]) -> None:
    """Measure each node and report the results; for two nodes also the ratios of the first to the second.

    Raises:
        ConnectionError: A node does not answer, or closed a connection.
    """
    nodes = [look_at(url) for url in urls]
    for number, node in enumerate(nodes):
        say(report.title(report.NAMES[number], node.url, node.version, node.samples.head))
    measure_mix(nodes, plan, say)
    seconds = min(SECTION_SECONDS, plan.pattern.seconds)
    say(report.HEAD_OF_LINE)
    waited = [measure_head_of_line(node.url, seconds) for node in nodes]
    report.say_all(say, report.head_of_line, waited)
    for line in report.heavy_answers(waited):
        say(line)
    say(report.SLOW_CLIENT)
    found = [measure_slow_client(node.url, node.samples, seconds) for node in nodes]
    report.say_all(say, report.slow_client, found)


def measure_mix(nodes: Sequence[Node], plan: Plan, say: Callable[[str], None]) -> None:
    """Run the mix on each node in turns, a share of the time each."""
    requests = requests_for(nodes, plan)
    rounds = ROUNDS if len(nodes) > 1 else 1
    turn = msgspec.structs.replace(plan.pattern, seconds=plan.pattern.seconds / rounds)
    measured = [Measured() for _ in nodes]
    for _ in range(rounds):
        for node, asked, taken in zip(nodes, requests, measured, strict=True):
            run_window(node.url, asked, turn, taken)
    say(report.mix_title(plan.pattern))
    for line in report.mix(measured):
        say(line)


def requests_for(nodes: Sequence[Node], plan: Plan) -> list[list[Request]]:
    """Return the requests for each node; nodes with equal chains get equal requests."""
    first = nodes[0].samples
    same = all(node.samples.last_hash == first.last_hash for node in nodes)
    return [make_requests(plan.mix, first if same else node.samples, REQUESTS, plan.seed) for node in nodes]
