"""A node of several processes, started for a benchmark, and its processes as the kernel sees them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from wsnode.load.machine import children_of, cpu_seconds

CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
STOPPING_SECONDS = 60.0
ESTABLISHED = "01"
SLOT_BYTES, PID_OFFSET = 64, 8
"""Of LMDB's table of readers."""


class Started(NamedTuple):
    """A node's first process, and the URL of its bare path."""

    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        """Return the port that it listens on."""
        return int(self.url.rstrip("/").rpartition(":")[2])

    def workers(self) -> list[int]:
        """Return the ids of the node's other processes."""
        return children_of(self.process.pid)

    def shares(self) -> list[int]:
        """Return how many connections each worker has."""
        return [connections_of(worker, self.port) for worker in self.workers()]

    def cpu_seconds(self) -> float:
        """Return the time that all its processes have computed."""
        return sum(map(cpu_seconds, [self.process.pid, *self.workers()]))


@contextmanager
def running(*arguments: str) -> Iterator[Started]:
    """Run a command of wsnode that serves, until the end.

    Raises:
        RuntimeError: It ended before it was ready.
    """
    command = [sys.executable, "-m", "wsnode", *arguments, "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None, "it is a pipe"
    try:
        line = next((line for line in process.stdout if line.startswith("ready ")), "")
        if not line:
            raise RuntimeError(f"{' '.join(arguments)}: ended before it was ready")
        yield Started(process, line.split()[1].split("/ws/")[0] + "/")
    finally:
        process.terminate()
        process.wait(STOPPING_SECONDS)
        process.stdout.close()


def connections_of(process: int, port: int) -> int:
    """Return how many connections to `port` a process has open."""
    sockets = set[str]()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].rpartition(":")[2], 16) == port and fields[3] == ESTABLISHED:
            sockets.add(f"socket:[{fields[9]}]")
    return sum(target in sockets for target in _targets(Path(f"/proc/{process}/fd")))


def _targets(folder: Path) -> Iterator[str]:
    for name in os.listdir(folder):
        try:
            yield os.readlink(folder / name)
        except FileNotFoundError:
            continue


def readers_of(store: Path) -> set[int]:
    """Return the processes, living or not, that have a place in the table of readers of an LMDB folder."""
    table = (store / "lock.mdb").read_bytes()
    places = range(4 * SLOT_BYTES, len(table), SLOT_BYTES)
    found = (int.from_bytes(table[place + PID_OFFSET : place + PID_OFFSET + 4], "little") for place in places)
    return {process for process in found if process}


def skew(counts: list[int]) -> float:
    """Return how many times the mean the largest number is."""
    return max(counts) * len(counts) / sum(counts)
