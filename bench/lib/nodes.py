"""The nodes that a benchmark compares, and what /proc says of their processes."""

import argparse
import re
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from wsnode.load.machine import cpu_seconds

_NODE = re.compile(r"(?:(?P<name>[^=/:]+)=)?(?P<url>wss?://.+?)(?:@(?P<process>\d+))?")
SETTLED = 0.05
"""Of a core: a node that computes less has nothing left to do."""
MAX_SETTLING = 20.0


class Node(NamedTuple):
    """A name for tables, a WebSocket address, and the process if it runs here."""

    name: str
    url: str
    process: int | None

    @classmethod
    def parse(cls, text: str) -> "Node":
        """Return the node of `[NAME=]URL[@PID]`.

        Raises:
            argparse.ArgumentTypeError: It is no such text.
        """
        found = _NODE.fullmatch(text)
        if found is None:
            raise argparse.ArgumentTypeError(f"{text}: expected [NAME=]ws://HOST:PORT/PATH[@PID]")
        # Process 0 is one that is not known.
        process = int(found["process"] or 0) or None
        return cls(found["name"] or urlsplit(found["url"]).netloc, found["url"], process)


def parser_of(description: str | None, *, nodes: str = "+") -> argparse.ArgumentParser:
    """Return a parser of a script that takes nodes."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "nodes",
        nargs=nodes,
        metavar="[NAME=]URL[@PID]",
        type=Node.parse,
        help="the first one is compared with each other",
    )
    return parser


def print_ratios(names: Sequence[str], nodes: Sequence[Node], figures: Sequence[Sequence[float]]) -> None:
    """Print how many times each other node's figures those of the first one are."""
    for node, other in list(zip(nodes, figures, strict=True))[1:]:
        ratios = (
            f"{name} {mine / theirs:.2f}"
            for name, mine, theirs in zip(names, figures[0], other, strict=True)
            if theirs > 0
        )
        print(f"{nodes[0].name} / {node.name}: {', '.join(ratios)}", flush=True)


def allow_many_files() -> None:
    """Raise the limit of open files as far as it goes, for the nodes that are started from here too."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def anonymous_bytes(process: int) -> int:
    """Return how much memory a process has that is no file's."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def forget_peak(process: int) -> None:
    """Let the most memory that a process had be counted from now on."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


def peak_bytes(process: int) -> int:
    """Return the most memory that a process had since it began, or since its peak was forgotten.

    Raises:
        OSError: It has ended.
    """
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    # One that has ended is listed until it is waited for.
    raise ProcessLookupError(f"process {process} has ended")


def wait_settled(process: int | None) -> None:
    """Wait until a node has finished what a client that left had asked for; not for ever."""
    end = time.perf_counter() + MAX_SETTLING
    while process is not None and time.perf_counter() < end:
        before = cpu_seconds(process)
        time.sleep(0.2)
        if cpu_seconds(process) - before <= SETTLED * 0.2:
            return
