"""Nodes that a benchmark starts itself, on free ports of this machine, and stops in the end.

wsnode and geth get the chain of a folder that holds genesis.json, chain.rlp or chain.rlp.gz, and meta.json;
anvil cannot import one, and gets a chain of like size (`anvil_chain`). With `mines` they are development
nodes instead, which mine a block as soon as a transaction arrives.
"""

import gzip
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.lib.nodes import Node
from wsnode.load.machine import children_of

STARTING_SECONDS = 120.0
STOPPING_SECONDS = 30.0


class StartError(RuntimeError):
    """A node did not start or import; the message says what it printed last."""


@contextmanager
def wsnode_with(folder: Path, temporary: Path) -> Iterator[Node]:
    """Import the chain of `folder` and serve it."""
    data = temporary / "wsnode"
    command = [sys.executable, "-m", "wsnode", "import", "eth", "--data", str(data)]
    finish([*command, "--genesis", str(folder / "genesis.json"), str(chain_file(folder))], temporary)
    with wsnode_serving(data, temporary) as node:
        yield node


@contextmanager
def wsnode_serving(data: Path, temporary: Path) -> Iterator[Node]:
    """Serve a folder of wsnode's."""
    with _wsnode(["serve", "--data", str(data), "--open"], temporary) as node:
        yield node


@contextmanager
def wsnode_that_mines(temporary: Path, *, durable: bool = False) -> Iterator[Node]:
    """Run a development chain."""
    kept = ["--data", str(temporary / "kept")] if durable else []
    with _wsnode(["dev", *kept], temporary) as node:
        yield node


@contextmanager
def _wsnode(arguments: Sequence[str], temporary: Path) -> Iterator[Node]:
    port = free_port()
    command = [sys.executable, "-m", "wsnode", *arguments, "--listen", f"127.0.0.1:{port}"]
    with running("wsnode", command, port, temporary) as node:
        yield node


@contextmanager
def geth_with(program: Path, folder: Path, temporary: Path) -> Iterator[Node]:
    """Import the chain of `folder`, serve it, and wait until geth has indexed its logs."""
    data, plain, engine = temporary / "geth", temporary / "chain.rlp", free_port()
    unpack(chain_file(folder), plain)
    chain_id = json.loads((folder / "genesis.json").read_text())["config"]["chainId"]
    flags = [str(program), "--datadir", str(data), "--syncmode", "full", "--networkid", str(chain_id)]
    flags += ["--state.scheme", "path", "--datadir.minfreedisk", "0"]
    finish([*flags, "init", str(folder / "genesis.json")], temporary)
    finish([*flags, "import", "--nocompaction", str(plain)], temporary)
    flags += ["--authrpc.port", str(engine)]
    with _geth(flags, temporary):
        wait_for_log_index(temporary / "geth.log")
    # Once more, without the memory that indexing took: it would be there for idle connections.
    with _geth(flags, temporary) as node:
        yield node


@contextmanager
def geth_that_mines(program: Path, temporary: Path) -> Iterator[Node]:
    """Run `geth --dev`."""
    with _geth([str(program), "--dev", "--datadir", str(temporary / "geth")], temporary) as node:
        yield node


@contextmanager
def geth_on(program: Path, genesis: Path, temporary: Path, *flags: str) -> Iterator[Node]:
    """Run `geth --dev` on a genesis: unless `flags` differ, a block is made once there is a transaction."""
    data = str(temporary / "geth")
    finish([str(program), "init", "--datadir", data, str(genesis)], temporary)
    command = [str(program), "--dev", "--datadir", data, "--datadir.minfreedisk", "0", "--authrpc.port", "0"]
    with _geth([*command, *flags], temporary) as node:
        yield node


@contextmanager
def _geth(flags: Sequence[str], temporary: Path) -> Iterator[Node]:
    port = free_port()
    flags = [*flags, "--nodiscover", "--maxpeers", "0", "--nat", "none", "--port", "0", "--ipcdisable"]
    flags += ["--ws", "--ws.addr", "127.0.0.1", "--ws.port", str(port), "--ws.origins", "*"]
    flags += ["--ws.api", "eth,net,web3,debug,txpool", "--rpc.txfeecap", "0"]
    flags += ["--http", "--http.addr", "127.0.0.1", "--http.port", str(port)]
    with running("geth", flags, port, temporary) as node:
        yield node


def wait_for_log_index(log: Path) -> None:
    """Wait until geth says that its index of logs reaches the head; without it a search reads every block."""
    end = time.monotonic() + STARTING_SECONDS
    while "Log index head rendering finished" not in log.read_text():
        if time.monotonic() > end:
            print("geth did not say that its index of logs is complete", file=sys.stderr)
            return
        time.sleep(0.2)


@contextmanager
def anvil(program: Path, temporary: Path, *, mines: bool) -> Iterator[Node]:
    """Run anvil; unless it `mines` at once, it waits for `evm_mine`."""
    port = free_port()
    command = [str(program), "--port", str(port), "--silent"]
    with running("anvil", command if mines else [*command, "--no-mining"], port, temporary) as node:
        yield node


@contextmanager
def running(name: str, command: Sequence[str], port: int, temporary: Path) -> Iterator[Node]:
    """Run a node until its port answers, and stop it in the end.

    Raises:
        StartError: It ended, or did not answer in time.
    """
    log = temporary / f"{name}.log"
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        _wait_port(process, port, log)
        # A script that only starts the program is not what computes.
        yield Node(name, f"ws://127.0.0.1:{port}/", _last_descendant(process.pid))
    finally:
        process.terminate()
        try:
            process.wait(STOPPING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise StartError(f"{log.name}: {last_lines(log)}")


def _last_descendant(process: int) -> int:
    children = children_of(process)
    return _last_descendant(children[-1]) if children else process


def finish(command: Sequence[str], temporary: Path) -> None:
    """Run a command to its end.

    Raises:
        StartError: It failed.
    """
    log = temporary / "finished.log"
    with log.open("w") as output:
        status = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    if status:
        raise StartError(f"{Path(command[0]).name} ended with {status}: {last_lines(log)}")


def last_lines(log: Path) -> str:
    """Return what a node said last."""
    return " | ".join(log.read_text(errors="replace").splitlines()[-5:])


def free_port() -> int:
    """Return a port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def chain_file(folder: Path) -> Path:
    """Return the blocks in a folder."""
    return next(path for path in (folder / "chain.rlp", folder / "chain.rlp.gz") if path.exists())


def unpack(source: Path, target: Path) -> None:
    """Write blocks as plain RLP."""
    is_packed = source.suffix == ".gz"
    with gzip.open(source) if is_packed else source.open("rb") as packed, target.open("wb") as plain:
        shutil.copyfileobj(packed, plain)
