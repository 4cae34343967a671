"""Lodestar as the only consensus client of a node: beacon node and all validators in one process.

Version 1.5.1, the last whose packages are all published: up to Capella, so the node's chain ends at Shanghai.
"""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.node_process import PATIENCE, kept_address
from tests.vector_files import require_vectors

MODULES = os.environ.get("WSNODE_LODESTAR")
"""A folder with `lodestar_modules`, after `npm ci --ignore-scripts` and `npm rebuild snappy bcrypto`."""
HERE = Path(__file__).parent / "lodestar_modules"
VALIDATORS = 8
SLOTS_PER_EPOCH = 8
BEGIN_SECONDS = 15
"""Before the first slot, for the start of both."""


def genesis_file() -> Path:
    """Return a genesis without Cancun; the test is skipped without it."""
    return require_vectors("tools/consensus/lodestar/genesis.json")


class Lodestar:
    """A beacon node that can be killed and started again; its validators forget what they signed."""

    def __init__(self, folder: Path, command: list[str], rest: str, preset: str) -> None:
        self.url = f"http://{rest}"
        self._folder = folder
        self._command = command
        self._preset = preset
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; `wait_until` waits for it."""
        environment = {**os.environ, "LODESTAR_PRESET": self._preset, "LC_ALL": "C"}
        with (self._folder / "lodestar.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, env=environment, cwd=self._folder
            )

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Return once it has ended."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(PATIENCE)
            self._process = None

    def finalized(self) -> int:
        """Return the last final epoch, 0 while it cannot say."""
        found = self.ask("/eth/v1/beacon/states/head/finality_checkpoints")
        return 0 if found is None else int(found["finalized"]["epoch"])

    def head(self) -> tuple[int, str] | None:
        """Return the slot of its head, and the hash of the payload there."""
        found = self.ask("/eth/v2/beacon/blocks/head")
        if found is None:
            return None
        message = found["message"]
        return int(message["slot"]), message["body"]["execution_payload"]["block_hash"]

    def ask(self, path: str) -> Any:
        """Return the data of an answer, None while there is none."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=10) as answer:
                return json.load(answer)["data"]
        except (OSError, HTTPException, ValueError):
            return None


@contextmanager
def started_lodestar(
    folder: Path, genesis_hash: str, engine: str, secret: Path, *, preset: str = "minimal", seconds: int = 4
) -> Iterator[Lodestar]:
    """Run it until the end on a chain whose execution begins with a block, with slots of `seconds`."""
    if MODULES is None:
        pytest.skip("WSNODE_LODESTAR names no folder with Lodestar's modules")
    program = Path(MODULES) / "node_modules/.bin/lodestar"
    with kept_address() as rest, kept_address() as peers:
        command = ["node", "--require", str(HERE / "with_resolvers.cjs"), str(program), "dev"]
        command += ["--dataDir", str(folder / "lodestar"), "--genesisValidators", str(VALIDATORS)]
        # With a time of genesis it keeps its data from one start to the next.
        command += ["--genesisTime", str(int(time.time()) + BEGIN_SECONDS)]
        command += ["--startValidators", f"0..{VALIDATORS - 1}", "--genesisEth1Hash", genesis_hash]
        for fork in ("ALTAIR", "BELLATRIX", "CAPELLA"):
            command += [f"--params.{fork}_FORK_EPOCH", "0"]
        command += ["--params.SECONDS_PER_SLOT", str(seconds)]
        command += ["--terminal-total-difficulty-override", "0"]
        command += ["--execution.urls", engine, "--jwt-secret", str(secret), "--eth1", "false"]
        command += ["--rest.port", rest.rpartition(":")[2], "--rest.namespace", "*"]
        command += ["--beaconNodes", f"http://{rest}", "--port", peers.rpartition(":")[2]]
        command += ["--discv5", "false", "--metrics", "false", "--suggestedFeeRecipient", "0x" + "fe" * 20]
        lodestar = Lodestar(folder, command, rest, preset)
        try:
            lodestar.start()
            yield lodestar
        finally:
            lodestar.stop(signal.SIGKILL)
