"""The commands of docs/tutorials/load.md run, against one node and against two."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import DOCS
from tests.node_process import COMMAND, Node, started

SCRIPT = DOCS / "tutorials/load.sh"
PAGES = {"limit.html", "ramp.html", "lag.html", "storm.html"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def nodes() -> Iterator[tuple[Node, Node]]:
    """Return two nodes with chains of their own."""
    demo = started("demo", "--listen", "127.0.0.1:0", "--block-time", "1", "--quiet")
    with demo as first, started("dev", "--listen", "127.0.0.1:0", "--quiet") as second:
        yield first, second


def ran(folder: Path, *urls: str) -> str:
    """Return what the script says, with short measurements."""
    (commands := folder / "bin").mkdir()
    (commands / "wsnode").write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    (commands / "wsnode").chmod(0o755)
    path = f"{commands}:{os.environ['PATH']}"
    short = {"LOAD_SECONDS": "0.5", "LOAD_RATES": "50,100", "PATH": path}
    ended = subprocess.run(
        ["sh", SCRIPT, *urls],
        cwd=folder,
        env={**os.environ, **short},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_hour_with_one_node(nodes: tuple[Node, Node], tmp_path: Path) -> None:
    said = ran(tmp_path, nodes[0].bare(nodes[0].socket_url))
    assert {path.name for path in (tmp_path / "load").iterdir()} == PAGES
    for words in (
        "head of line",
        "slow client",
        "p99 over 50 ms: ",
        "newHeads after the first",
        "500 of 500",
    ):
        assert words in said


def test_the_hour_with_two_nodes(nodes: tuple[Node, Node], tmp_path: Path) -> None:
    said = ran(tmp_path, *(node.bare(node.socket_url) for node in nodes))
    assert {path.name for path in (tmp_path / "load").iterdir()} == PAGES | {"against.html"}
    assert "  A / B" in said
