"""geth itself, on the playground's chain, making no blocks."""

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

GETH = shutil.which("geth")
STARTING_SECONDS = 60


class Geth(NamedTuple):
    """A node that was started."""

    url: str
    socket_url: str

    def ask(self, method: str, *params: Any) -> dict[str, Any]:
        """Return a reply without its envelope."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        posted = urllib.request.Request(
            self.url, json.dumps(request).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(posted, timeout=10) as reply:
            members: dict[str, Any] = json.load(reply)
        return {name: members[name] for name in members.keys() & {"result", "error"}}


@contextmanager
def geth(folder: Path, *, period: int = 100_000) -> Iterator[Geth]:
    """Run geth until the end; it has one empty block on the genesis.

    It makes a block every `period` seconds, or of each transaction where that is 0.
    """
    assert GETH is not None
    genesis = files("wsnode.demo") / "genesis.json"
    subprocess.run(
        [GETH, "init", "--datadir", folder, str(genesis)], check=True, capture_output=True, timeout=60
    )
    http, sockets, engine = _free_port(), _free_port(), _free_port()
    options = (
        *("--dev", "--dev.period", str(period), "--datadir", str(folder), "--nodiscover", "--ipcdisable"),
        *("--http", "--http.addr", "127.0.0.1", "--http.port", str(http), "--port", "0"),
        *("--ws", "--ws.addr", "127.0.0.1", "--ws.port", str(sockets)),
        *("--http.api", "eth,txpool,debug", "--authrpc.port", str(engine), "--verbosity", "1"),
    )
    node = subprocess.Popen([GETH, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield _started(
            Geth(f"http://127.0.0.1:{http}", f"ws://127.0.0.1:{sockets}"), "0x1" if period else "0x0"
        )
    finally:
        node.terminate()
        node.wait(timeout=30)


def _started(node: Geth, first: str) -> Geth:
    end = time.monotonic() + STARTING_SECONDS
    while True:
        try:
            if node.ask("eth_blockNumber") == {"result": first}:
                return node
        except OSError:
            pass
        assert time.monotonic() < end, "geth does not start"
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
