"""The processes of a node with workers, as the kernel sees them."""

import os
import re
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.node_process import PATIENCE, Node
from wsnode.load.machine import children_of


def workers_of(node: Node) -> list[int]:
    """Return the ids of a node's workers, the oldest first."""
    return children_of(node.process.pid)


def command_of(process: int) -> list[str]:
    """Return how a process was started, nothing once it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text().split("\0")
    return []


def connections_of(process: int, port: int) -> int:
    """Return how many connections to `port` of this machine a process has open."""
    inodes = set[str]()
    for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].rpartition(":")[2], 16) == port and fields[3] == "01":
            inodes.add(f"socket:[{fields[9]}]")
    return sum(
        _target(Path(f"/proc/{process}/fd/{name}")) in inodes for name in os.listdir(f"/proc/{process}/fd")
    )


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except FileNotFoundError:
        return ""


def port_of(node: Node) -> int:
    """Return the port that a node listens on."""
    return int(node.http_url.split("/v3/")[0].rpartition(":")[2])


def shares(node: Node) -> list[int]:
    """Return how many connections each worker has."""
    port = port_of(node)
    return [connections_of(worker, port) for worker in workers_of(node)]


def wait_until(is_so: Callable[[], bool]) -> None:
    """Return once it is so; another process decides when.

    Raises:
        TimeoutError: It is not within two minutes.
    """
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.02)


def skew(counts: list[int]) -> float:
    """Return how much more the largest number is than the mean."""
    return max(counts) * len(counts) / sum(counts)


def samples(node: Node) -> dict[str, float]:
    """Return what the page of metrics says."""
    with urllib.request.urlopen(node.bare(node.http_url) + "metrics", timeout=PATIENCE) as page:
        return samples_of(page.read().decode())


def samples_of(text: str) -> dict[str, float]:
    """Return the values of a page of metrics, by their names and labels."""
    return {name: float(value) for name, value in re.findall(r"^(\w+(?:\{.*\})?) (\S+)$", text, re.M)}


def wait_for_samples(node: Node, wanted: dict[str, float]) -> dict[str, float]:
    """Return what the page of metrics says, once that is in it.

    A process that has no turn for half a second is summed up by what it has reported before.
    """
    found: dict[str, float] = {}

    def is_told() -> bool:
        found.update(samples(node))
        return wanted.items() <= found.items()

    wait_until(is_told)
    return found


def has_replaced(node: Node, workers: int) -> bool:
    """Return whether a worker has ended, and as many as before serve again."""
    found = samples(node)
    # A worker that the parent does not answer in time tells of itself alone.
    return (found.get("wsnode_workers"), found.get("wsnode_workers_ended_total")) == (workers, 1)
