"""What a node looks like from outside while it is attacked."""

import http.client
import time
import urllib.request
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from bench.lib.nodes import anonymous_bytes, wait_settled
from tests.node_process import Node
from wsnode.load.machine import resident_bytes

METRICS_SECONDS = 5.0
QUIET_SECONDS = 60.0
"""The time of a node to give up what attackers left behind."""
FEW_VERSIONS = 2
MEBIBYTE = 1 << 20
COUNTS = ("outbox_bytes", "unfinished_bytes", "calls_in_flight", "versions", "connections")
SIZES = {
    "resident": "resident MiB",
    "anonymous": "no file MiB",
    "outbox": "replies MiB",
    "unfinished": "received MiB",
}
NUMBERS = {"calls": "calls", "versions": "versions", "connections": "connections"}
HEADING = "  minute " + " ".join(f"{title:>12}" for title in (SIZES | NUMBERS).values())


class Sample(msgspec.Struct, frozen=True):
    """What was seen at a moment: memory in bytes, None for counts that the node did not tell."""

    seconds: float
    resident: int
    anonymous: int
    """Of the resident memory, what is no file's."""
    outbox: int | None
    """Replies that wait to be read, and what calls hold of theirs."""
    unfinished: int | None
    """Messages of which a part came, or whose calls are in flight."""
    calls: int | None
    versions: int | None
    connections: int | None


def look(node: Node, seconds: float) -> Sample:
    """Return what a node looks like `seconds` after the beginning.

    Raises:
        OSError: It has ended.
    """
    process, told = node.process.pid, metrics(node)
    counts = (None if told is None else int(told[f"wsnode_{name}"]) for name in COUNTS)
    return Sample(seconds, resident_bytes(process), anonymous_bytes(process), *counts)


def metrics(node: Node) -> Mapping[str, float] | None:
    """Return the sum of each metric, None if the node does not tell."""
    try:
        with urllib.request.urlopen(node.bare(node.http_url) + "metrics", timeout=METRICS_SECONDS) as reply:
            lines = reply.read().decode().splitlines()
    except (OSError, http.client.HTTPException):
        return None
    sums = defaultdict[str, float](float)
    for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#")):
        sums[name.partition("{")[0]] += float(value)
    return sums


def look_settled(node: Node, seconds: float, before: Sample, most: int) -> Sample:
    """Return what a node looks like once nothing is left of attackers, or a minute after them.

    Of its memory `most` bytes more than `before` may stay.
    """
    end = time.monotonic() + QUIET_SECONDS
    wait_settled(node.process.pid)
    while not is_quiet(sample := look(node, seconds), before, most) and time.monotonic() < end:
        time.sleep(1)
    return sample


def is_quiet(sample: Sample, before: Sample, most: int) -> bool:
    """Return whether nothing is left of an attack."""
    is_released = sample.versions is not None and sample.versions <= FEW_VERSIONS
    is_small = sample.anonymous <= before.anonymous + most
    return is_released and is_small and sample.connections == before.connections


def row_of(samples: Sequence[Sample]) -> str:
    """Return a line with the most of each, and when that was."""
    most = partial(most_of, samples)
    sizes = (f"{most(name, MEBIBYTE):>12}" for name in SIZES)
    counts = (f"{most(name):>12}" for name in NUMBERS)
    return " ".join((f"{samples[-1].seconds / 60:>8.1f}", *sizes, *counts))


def most_of(samples: Sequence[Sample], name: str, unit: int = 1) -> int | str:
    """Return the most of a value, in units; a dash if it was never told."""
    found = [value for sample in samples if (value := getattr(sample, name)) is not None]
    return max(found) // unit if found else "-"
