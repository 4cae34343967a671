"""geth itself, as a development node on a genesis of ours."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

GETH = shutil.which("geth")
ENDPOINT = re.compile(r"HTTP server started .*endpoint=(127\.0\.0\.1:\d+) .*auth=false")


STARTING_SECONDS = 120
"""A geth that takes longer for anything hangs."""


class Addresses(NamedTuple):
    """Where a node answers."""

    http: str
    websocket: str


@contextmanager
def started_geth(folder: Path, genesis: Path, *options: str) -> Iterator[Addresses]:
    """Run `geth --dev` on the chain of `genesis` until the end.

    It takes a free port by itself: one that a test finds free may be another program's a moment later.
    """
    assert GETH is not None
    subprocess.run(
        [GETH, "init", "--datadir", folder, str(genesis)],
        check=True,
        capture_output=True,
        timeout=STARTING_SECONDS,
    )
    command = (
        *(GETH, "--dev", "--datadir", str(folder), "--nodiscover", "--ipcdisable", "--port", "0"),
        *("--http", "--http.addr", "127.0.0.1", "--http.port", "0", "--authrpc.port", "0"),
        *("--ws", "--ws.addr", "127.0.0.1", "--ws.port", "0", *options),
    )
    log = folder / "geth.log"
    with log.open("wb") as output:
        node = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=output)
    try:
        yield _addresses(node, log)
    finally:
        node.terminate()
        node.wait(timeout=STARTING_SECONDS)


def _addresses(node: subprocess.Popen[bytes], log: Path) -> Addresses:
    end = time.monotonic() + STARTING_SECONDS
    while (started := ENDPOINT.search(log.read_text())) is None:
        assert node.poll() is None, f"geth ended: {log.read_text()}"
        assert time.monotonic() < end, f"geth does not start: {log.read_text()}"
        time.sleep(0.05)
    return Addresses(f"http://{started[1]}", f"ws://{started[1]}")
