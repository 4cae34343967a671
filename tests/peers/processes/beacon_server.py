"""The light-client API of a beacon node above a running execution node, honest or with a lie by name."""

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from tests.node_process import PATIENCE
from tests.vector_files import require_vectors

PYTHON = os.environ.get("WSNODE_BEACON_SERVER")
"""An interpreter that has `py_arkworks_bls12381` and `python-snappy`."""


class BeaconServer(msgspec.Struct, frozen=True):
    """Where it answers, and the root of the block that it began with."""

    url: str
    checkpoint: str

    def control(self, **members: Any) -> dict[str, Any]:
        """Change what it tells, and return what is true: slots and hashes of head, proved and final block."""
        request = urllib.request.Request(f"{self.url}/control", json.dumps(members).encode())
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            found: dict[str, Any] = json.load(reply)
        return found


@contextmanager
def started_beacon_server(execution: str, *options: str) -> Iterator[BeaconServer]:
    """Serve what a sync committee signs of an execution node's chain, minimal preset and slots of 2 s."""
    program = require_vectors("tools/beacon/server.py")
    if PYTHON is None:
        pytest.skip("WSNODE_BEACON_SERVER names no interpreter with py_arkworks_bls12381")
    command = [PYTHON, "-B", str(program), "--execution", execution, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline().split()
        assert line[:1] == ["ready"], "it ended before it was ready"
        yield BeaconServer(line[1], line[3])
    finally:
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()
