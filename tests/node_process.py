"""The real command line in processes of its own, for the tests that must not cheat."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec
from websockets.sync.client import connect

from wsnode.load.machine import children_of

COMMAND = (sys.executable, "-m", "wsnode")

WORKERS = "WSNODE_TEST_WORKERS"
"""The variable for the number of workers with which nodes of tests serve."""
PATIENCE = 120.0
"""A process that takes more seconds than these for an answer hangs."""

# The library gives up after ten or twenty seconds, in which a node that shares its cores may have no turn.
assert connect.__kwdefaults__ is not None
connect.__kwdefaults__ |= {"open_timeout": PATIENCE, "ping_timeout": PATIENCE}


class Node(msgspec.Struct, frozen=True):
    """A serving process, and the two addresses that it printed."""

    process: subprocess.Popen[str]
    socket_url: str
    http_url: str

    def bare(self, url: str) -> str:
        """Return `url` with the bare path `/`."""
        return url.split("/v3/")[0].removesuffix("/ws") + "/"

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Signal the process and return its exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """Kill the process, and return once those that it started have noticed, and hold nothing any more."""
        started = children_of(self.process.pid)
        self.stop(signal.SIGKILL)
        until("its processes have ended", lambda: not any(map(is_running, started)))


def is_running(process: int) -> bool:
    """Return whether a process is there, and not ended and waited for by nobody."""
    try:
        told = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return told.rpartition(")")[2].split()[0] not in "ZX"


def run(
    *arguments: str, stdin: IO[bytes] | None = None, seconds: float = 3 * PATIENCE
) -> subprocess.CompletedProcess[str]:
    """Return a finished command."""
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, stdin=stdin, timeout=seconds, check=False
    )


def import_chain(data: Path, genesis: Path, files: Sequence[Path]) -> subprocess.CompletedProcess[str]:
    """Return a finished `wsnode import eth`."""
    return run("import", "eth", "--data", str(data), "--genesis", str(genesis), *map(str, files))


@contextmanager
def started(*arguments: str, stderr: IO[str] | int | None = None) -> Iterator[Node]:
    """Start a command that serves, and stop it in the end."""
    command = [*COMMAND, *with_workers(arguments, os.environ.get(WORKERS))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
    try:
        assert process.stdout is not None
        line = next((line for line in process.stdout if line.startswith("ready ")), "")
        assert line, "the node ended before it was ready"
        _ready, socket_url, http_url = line.split()
        yield Node(process, socket_url, http_url)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            assert process.stdout is not None
            process.stdout.close()


def with_workers(arguments: Sequence[str], workers: str | None) -> Sequence[str]:
    """Return the arguments with a number of workers, where several can serve and they name none."""
    others = {"--config", "--engine", "--light", "--workers"}
    is_usable = arguments[0] in ("serve", "follow", "replica") and not others & set(arguments)
    return [*arguments, "--workers", workers] if is_usable and workers is not None else arguments


@contextmanager
def kept_address() -> Iterator[str]:
    """Return an address for servers that stop and start; its port stays reserved meanwhile."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{kept.getsockname()[1]}"


def post(url: str, text: str) -> str:
    """Return the body of the reply to a POST, whatever its status."""
    request = urllib.request.Request(url, text.encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            body: bytes = reply.read()
    except urllib.error.HTTPError as error:
        body = error.read()
    return body.decode()


@contextmanager
def conversation(url: str) -> Iterator[Callable[[str], str]]:
    """Open a WebSocket connection and give a function that sends one message and returns the next one."""
    with connect(url, max_size=None) as connection:

        def call(text: str) -> str:
            connection.send(text)
            reply = connection.recv()
            assert isinstance(reply, str)
            return reply

        yield call


def until(what: str, condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Return once a condition holds in other processes."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.05)
