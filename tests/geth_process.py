"""geth itself, as a development node on a genesis of ours."""

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

GETH = shutil.which("geth")
ENDPOINT = r"HTTP server started .*endpoint=(127\.0\.0\.1:\d+) .*auth=%s"


STARTING_SECONDS = 120
"""A geth that takes longer for anything hangs."""

SPARING = ("--cache", "64", "--datadir.minfreedisk", "0")
"""With its usual memory geth reserves a gigabyte of disk for a log, and ends where there is less."""


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
        *(*SPARING, "--http", "--http.addr", "127.0.0.1", "--http.port", "0", "--authrpc.port", "0"),
        *("--ws", "--ws.addr", "127.0.0.1", "--ws.port", "0", *options),
    )
    with running(command, folder / "geth.log") as endpoint:
        yield Addresses(f"http://{endpoint('false')}", f"ws://{endpoint('false')}")


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[Callable[[str], str]]:
    """Run geth until the end, and give a function: its address with authentication, `true`, or without.

    What it says is in `log`.
    """
    with log.open("wb") as output:
        node = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=output)
    try:
        yield partial(_endpoint, node, log)
    finally:
        node.terminate()
        try:
            node.wait(timeout=STARTING_SECONDS)
        except subprocess.TimeoutExpired:
            node.kill()
            raise


def _endpoint(node: subprocess.Popen[bytes], log: Path, authenticated: str) -> str:
    pattern, end = re.compile(ENDPOINT % authenticated), time.monotonic() + STARTING_SECONDS
    # A line may be there in part, and end within a character.
    while (found := pattern.search(text := log.read_text(errors="replace"))) is None:
        assert node.poll() is None, f"geth ended: {text}"
        assert time.monotonic() < end, f"geth does not start: {text}"
        time.sleep(0.05)
    return found[1]
