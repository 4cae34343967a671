"""A consensus client made of the executable consensus specification, which drives nodes slot by slot."""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.vector_files import require_vectors

PYTHON = os.environ.get("WSNODE_CONSENSUS_SPECIFICATION")
"""An interpreter that has `eth-consensus-specs`."""

Line = dict[str, Any]
"""What happened in a slot."""


class Endpoints(NamedTuple):
    """Where a node is driven, and where it is asked."""

    engine: str
    public: str


def require_consensus_client() -> tuple[str, Path]:
    """Return the interpreter and the program; the test is skipped where one is missing."""
    program = require_vectors("tools/consensus/driver.py")
    if PYTHON is None:
        pytest.skip("WSNODE_CONSENSUS_SPECIFICATION names no interpreter with eth-consensus-specs")
    return PYTHON, program


def genesis_file() -> Path:
    """Return the genesis that it drives, of every fork up to Osaka; the test is skipped without it."""
    return require_vectors("tools/consensus/genesis.json")


@contextmanager
def driven(nodes: Sequence[Endpoints], secret: Path, *options: str) -> Iterator[Iterator[Line]]:
    """Drive nodes, which build by turns, and give the slots as they are over.

    Reading on raises an AssertionError where a node refuses what the specification made.
    """
    python, program = require_consensus_client()
    named = [part for node in nodes for part in ("--engine", node.engine, "--eth", node.public)]
    command = [python, "-B", str(program), *named, "--jwt", str(secret), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield _slots(process)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _slots(process: "subprocess.Popen[str]") -> Iterator[Line]:
    assert process.stdout is not None
    for text in process.stdout:
        line = json.loads(text)
        assert "error" not in line, line["error"]
        yield line
        if "done" in line:
            return
    raise AssertionError("the consensus client ended early")
