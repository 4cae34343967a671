"""geth as the execution client of a consensus client, at addresses that survive it."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.geth_process import GETH, SPARING, STARTING_SECONDS
from tests.node_process import kept_address
from tests.peers.processes.consensus_client import Endpoints
from tests.peers.processes.daemon import Daemon


class DrivenGeth(Daemon):
    """geth with an Engine API."""

    def __init__(self, command: list[str], endpoints: Endpoints, log: Path) -> None:
        super().__init__(command, endpoints.public, log)
        self.endpoints = endpoints

    def restart(self) -> None:
        """Have it end by itself, and start it again.

        When a SIGKILL falls between a block's rows and its state, geth goes on saying VALID of that block and
        ACCEPTED of its children (`InsertBlockWithoutSetHead`), which no consensus client here can mend.
        """
        self.stop()
        self.start()


@contextmanager
def driven_geth(folder: Path, genesis: Path, secret: Path) -> Iterator[DrivenGeth]:
    """Run geth on a new chain until the end, with the state of all blocks."""
    if GETH is None:
        pytest.skip("no `geth` on the path")
    # By path it forgets the state of so young a chain when it is killed.
    data = ["--datadir", str(folder / "geth"), "--state.scheme", "hash"]
    subprocess.run(
        [GETH, *data, "init", str(genesis)], check=True, capture_output=True, timeout=STARTING_SECONDS
    )
    network = str(json.loads(genesis.read_text())["config"]["chainId"])
    with kept_address() as engine, kept_address() as public:
        port = public.rpartition(":")[2]
        command = [
            *(GETH, *data, *SPARING, "--gcmode", "archive", "--syncmode", "full", "--networkid", network),
            *("--nodiscover", "--maxpeers", "0", "--nat", "none", "--port", "0", "--ipcdisable"),
            *("--http", "--http.port", port, "--http.api", "debug,eth,net,web3"),
            *("--ws", "--ws.port", port, "--ws.api", "debug,eth,net,web3", "--ws.origins", "*"),
            *("--authrpc.port", engine.rpartition(":")[2], "--authrpc.jwtsecret", str(secret)),
        ]
        endpoints = Endpoints(f"http://{engine}", f"http://{public}")
        with DrivenGeth(command, endpoints, folder / "geth.log") as geth:
            yield geth
