"""What a node looks like from outside while it is attacked."""

import http.client
import time
import urllib.request
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from bench.lib.nodes import anonymous_bytes, wait_settled
from tests.node_process import Node
from wsnode.load.machine import resident_bytes

METRICS_SECONDS = 5.0
QUIET_SECONDS = 60.0
"""The time of a node to give up what attackers left behind."""
FEW_VERSIONS = 2
MEBIBYTE = 1 << 20
HEADING = f"{'minute':>8} {'resident MiB':>13} {'no file MiB':>12} {'versions':>9} {'connections':>12}"


class Sample(msgspec.Struct, frozen=True):
    """What was seen at a moment: memory in bytes, None for counts that the node did not tell."""

    seconds: float
    resident: int
    anonymous: int
    """Of the resident memory, what is no file's."""
    versions: int | None
    connections: int | None


def look(node: Node, seconds: float) -> Sample:
    """Return what a node looks like `seconds` after the beginning.

    Raises:
        OSError: It has ended.
    """
    process, counts = node.process.pid, metrics(node)
    versions, connections = (
        None if counts is None else int(counts[f"wsnode_{name}"]) for name in ("versions", "connections")
    )
    return Sample(seconds, resident_bytes(process), anonymous_bytes(process), versions, connections)


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
    resident, anonymous = (max(sizes) / MEBIBYTE for sizes in zip(*map(sizes_of, samples), strict=True))
    counts = (
        max((count for count in found if count is not None), default="-")
        for found in ([each.versions for each in samples], [each.connections for each in samples])
    )
    versions, connections = counts
    minute = samples[-1].seconds / 60
    return f"{minute:>8.1f} {resident:>13.0f} {anonymous:>12.0f} {versions:>9} {connections:>12}"


def sizes_of(sample: Sample) -> tuple[int, int]:
    """Return the resident memory, and what of it is no file's."""
    return sample.resident, sample.anonymous
