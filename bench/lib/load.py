"""One run of load on a node: by the client in C, or without a compiler by that of `wsnode bench`."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bench.lib.compiled import compiled
from bench.lib.nodes import Node
from wsnode.load.machine import cpu_seconds, machine_time
from wsnode.load.mix.requests import Request
from wsnode.load.mix.window import WARM_UP, LoadSettings, run_window

Message = dict[str, Any] | list[dict[str, Any]]
FIRST_ID = 100_000
"""The id that the client in C replaces by others of the same length."""
MAX_RUN = 120.0


class Load(NamedTuple):
    """Replies a second, percentiles and the node's CPU for one in milliseconds, its bytes."""

    rate: float
    p50: float
    p99: float
    cpu: float | None
    bytes: float
    errors: int
    others: float
    """Cores that neither the node nor the client used, where the node's process is known."""
    spread: tuple[float, float] | None = None
    """The least and the most CPU of several runs, of which this is the median."""


class LoadError(ConnectionError):
    """A run did not end with figures; the message says why."""


def request(method: str, *params: object, identity: int = FIRST_ID) -> dict[str, Any]:
    """Return a request whose id the client may replace."""
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def run_load(node: Node, messages: Sequence[Message], shape: tuple[int, int], seconds: float) -> Load:
    """Return what `connections` with `depth` messages in flight on each measured.

    Raises:
        LoadError: The node refused or closed a connection, or did not answer.
    """
    program = compiled("load") if node.url.startswith("ws://") else None
    if program is None:
        return _run_in_python(node, messages, shape, seconds)
    return _run_in_c(program, node, messages, shape, seconds)


def _run_in_c(
    program: Path, node: Node, messages: Sequence[Message], shape: tuple[int, int], seconds: float
) -> Load:
    place = urlsplit(node.url)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(message, separators=(",", ":")) + "\n" for message in messages)
        file.flush()
        command = [program, place.hostname or "", str(place.port or 80), place.path or "/"]
        command += [*map(str, shape), str(seconds), file.name, str(node.process or 0)]
        began, before = time.perf_counter(), _busy_elsewhere(node)
        figures = finished(command)
        others = (_busy_elsewhere(node) - before) / (time.perf_counter() - began)
    replies = figures["replies"]
    return Load(
        rate=replies / figures["seconds"],
        p50=figures["p50"],
        p99=figures["p99"],
        cpu=figures["node_cpu"] / replies * 1000 if node.process else None,
        bytes=figures["bytes"] / replies,
        errors=figures["errors"] + figures["lost"],
        others=max(0.0, others) if node.process else float("nan"),
    )


def _busy_elsewhere(node: Node) -> float:
    """Return the seconds that all cores computed so far, but for the node and the clients that have ended."""
    clients = os.times()
    own = clients.children_user + clients.children_system + clients.user + clients.system
    return machine_time().busy - own - (cpu_seconds(node.process) if node.process else 0)


def finished(command: Sequence[object], seconds: float = MAX_RUN) -> dict[str, Any]:
    """Return the line of JSON that a client in C printed.

    Raises:
        LoadError: It printed none.
    """
    try:
        ended = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise LoadError(f"no end in {seconds:g} s") from None
    if ended.stderr:
        print(f"    {ended.stderr.splitlines()[0][:200]}", file=sys.stderr, flush=True)
    if not ended.stdout:
        raise LoadError(ended.stderr.strip()[:200] or f"exit status {ended.returncode}")
    figures: dict[str, Any] = json.loads(ended.stdout)
    return figures


def _run_in_python(node: Node, messages: Sequence[Message], shape: tuple[int, int], seconds: float) -> Load:
    requests = [Request(each["method"], list(each["params"])) for each in messages if isinstance(each, dict)]
    if len(requests) < len(messages):
        raise LoadError("the client in Python sends no batches")
    before = cpu_seconds(node.process) if node.process else 0.0
    # A list with at least the requests in flight: each is identified by its index.
    repeated = requests * (1 + 2 * shape[1] // len(requests))
    measured = run_window(node.url, repeated, LoadSettings(*shape, seconds=seconds))
    if measured.failure is not None:
        raise LoadError(measured.failure)
    if not measured.replies:
        raise LoadError(f"no reply in {seconds:g} s")
    cpu = cpu_seconds(node.process) - before if node.process else 0.0
    p50, _p90, p99, _p999 = measured.all_percentiles()
    return Load(
        rate=measured.rate,
        p50=p50,
        p99=p99,
        cpu=cpu / (measured.replies / (1 - WARM_UP)) * 1000 if node.process else None,
        bytes=float("nan"),
        errors=sum(measured.errors.values()),
        others=float("nan"),
    )
