"""How long do nodes and commands take to start?

    python -m bench.start [--geth PATH] [--anvil PATH] [--runs 10]

Measures the time from a process's start to its first successful reply to eth_chainId over HTTP: of
`wsnode dev`, `wsnode demo`, `wsnode serve` with the demo's folder, and of `geth --dev` and anvil if their
programs are given; and how long `--help` takes from start to end. The first run of each is left out: it reads
the programs from the disk, and Python writes its bytecode then. The least of many runs is what says most
on a busy machine; CPU is what a process has computed by then, which depends less on others.
"""

import argparse
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.lib.started import StartError, free_port
from wsnode.load.machine import children_of, cpu_seconds

WSNODE = (sys.executable, "-m", "wsnode")
MAX_SECONDS = 60.0
PAUSE = 0.003
BODY = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
REQUEST = (
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
)

Command = Callable[[int, Path], Sequence[str]]
"""Returns the command line of a node on a port, with an empty folder of its own."""


class Start(NamedTuple):
    """Seconds until the reply, and seconds computed by then."""

    wall: float
    cpu: float


def main() -> None:
    """Measure what the command line asks for, and print a line for each."""
    options = parse_options()
    with tempfile.TemporaryDirectory(prefix="start-") as temporary:
        served = Path(temporary) / "served"
        make_demo(served)
        print(f"{'':24} {'least':>9} {'median':>9} {'least CPU':>10}")
        for name, help_command in helps(options):
            show(name, [ended(help_command) for _ in range(options.runs + 1)])
        for name, command in nodes(options, served):
            show(name, [measured(command) for _ in range(options.runs + 1)])


def parse_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--geth", type=Path, metavar="PATH", help="of its program, to start it as well")
    parser.add_argument("--anvil", type=Path, metavar="PATH", help="of its program, to start it as well")
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="of each")
    return parser.parse_args()


def helps(options: argparse.Namespace) -> list[tuple[str, Sequence[str]]]:
    """Return the commands that print help, by their names; a bare interpreter is what Python itself takes."""
    bare = [("python -c pass", (sys.executable, "-c", "pass")), ("wsnode --help", (*WSNODE, "--help"))]
    others = [("anvil --help", options.anvil), ("geth --help", options.geth)]
    return [*bare, *((name, (str(path), "--help")) for name, path in others if path)]


def nodes(options: argparse.Namespace, served: Path) -> list[tuple[str, Command]]:
    """Return the nodes to start, by their names."""
    found: list[tuple[str, Command]] = [
        ("wsnode dev", lambda port, _folder: (*WSNODE, "dev", "--listen", f"127.0.0.1:{port}")),
        ("wsnode demo", lambda port, _folder: (*WSNODE, "demo", "--listen", f"127.0.0.1:{port}")),
        ("wsnode serve", lambda port, _folder: serve_command(served, port)),
    ]
    if options.anvil:
        found.append(("anvil", lambda port, _folder: (str(options.anvil), "--port", str(port), "--silent")))
    if options.geth:
        found.append(("geth --dev", lambda port, folder: geth_command(options.geth, port, folder)))
    return found


def serve_command(folder: Path, port: int) -> Sequence[str]:
    """Return the command that serves a folder."""
    return (*WSNODE, "serve", "--data", str(folder), "--open", "--listen", f"127.0.0.1:{port}")


def geth_command(program: Path, port: int, folder: Path) -> Sequence[str]:
    """Return the command of a development node without peers."""
    flags = ["--dev", "--datadir", str(folder), "--nodiscover", "--maxpeers", "0", "--nat", "none"]
    flags += ["--port", "0", "--ipcdisable", "--http", "--http.addr", "127.0.0.1"]
    return [str(program), *flags, "--http.port", str(port)]


def make_demo(folder: Path) -> None:
    """Keep the demo's chain in a folder."""
    port = free_port()
    command = [*WSNODE, "demo", "--data", str(folder), "--listen", f"127.0.0.1:{port}"]
    process = started(command)
    try:
        wait_reply(process, port)
    finally:
        stop(process)


def measured(command: Command) -> Start:
    """Return how long a node takes to its first reply."""
    port, folder = free_port(), Path(tempfile.mkdtemp(prefix="start-"))
    began = time.perf_counter()
    process = started(command(port, folder))
    try:
        wait_reply(process, port)
        return Start(time.perf_counter() - began, computed(process.pid))
    finally:
        stop(process)
        shutil.rmtree(folder)


def ended(command: Sequence[str]) -> Start:
    """Return how long a command takes to its end."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(), check=False
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Start(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def started(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Return a process that prints nothing."""
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())


def environment() -> dict[str, str]:
    """Return the environment, with Python's usual way to keep bytecode."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def wait_reply(process: "subprocess.Popen[bytes]", port: int) -> None:
    """Return when a node has answered.

    Raises:
        StartError: It ended, or did not answer in time.
    """
    end = time.perf_counter() + MAX_SECONDS
    while time.perf_counter() < end and process.poll() is None:
        if b'"result":' in reply(port):
            return
        time.sleep(PAUSE)
    raise StartError(f"{process.args!r} did not answer")


def reply(port: int) -> bytes:
    """Return what a node answers, nothing if it does not listen yet."""
    try:
        with socket.create_connection(("127.0.0.1", port), MAX_SECONDS) as connection:
            connection.sendall(REQUEST)
            answer = b""
            while piece := connection.recv(4096):
                answer += piece
            return answer
    except OSError:
        return b""


def computed(process: int) -> float:
    """Return the seconds that a process and those that it has started have computed."""
    return cpu_seconds(process) + sum(map(computed, children_of(process)))


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a process."""
    process.terminate()
    process.wait(MAX_SECONDS)


def show(name: str, starts: Sequence[Start]) -> None:
    """Print a line of all runs but the first."""
    counted = starts[1:]
    walls = [each.wall for each in counted]
    least = min(each.cpu for each in counted)
    print(f"{name:24} {min(walls):7.3f} s {statistics.median(walls):7.3f} s {least:8.3f} s", flush=True)


if __name__ == "__main__":
    main()
