"""wsnode as the execution client of a consensus client, at addresses that survive it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.node_process import COMMAND, kept_address
from tests.peers.processes.consensus_client import Endpoints
from tests.peers.processes.daemon import Daemon


class DrivenNode(Daemon):
    """A node with an Engine API."""

    def __init__(self, command: list[str], endpoints: Endpoints, log: Path) -> None:
        super().__init__(command, endpoints.public, log)
        self.endpoints = endpoints


@contextmanager
def driven_wsnode(folder: Path, genesis: Path, secret: Path) -> Iterator[DrivenNode]:
    """Run a node on a new chain until the end."""
    with kept_address() as engine, kept_address() as public:
        command = [*COMMAND, "serve", "--data", str(folder / "ours"), "--genesis", str(genesis), "--open"]
        command += ["--listen", public, "--engine", engine, "--jwt-secret", str(secret)]
        endpoints = Endpoints(f"http://{engine}", f"http://{public}/")
        with DrivenNode(command, endpoints, folder / "ours.log") as node:
            yield node
