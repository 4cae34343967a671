"""What a command loads when it starts: nothing that it does not need."""

import re
import subprocess
from collections.abc import Set
from pathlib import Path

import pytest

from tests.node_process import COMMAND, PATIENCE

pytestmark = pytest.mark.slow

INTERPRETER, *ARGUMENTS = COMMAND
IMPORTED = re.compile(r"^import time: +\d+ \| +\d+ \| +(\S+)$", re.M)
NOT_FOR_HELP = {"trio", "msgspec", "wsnode._native", "rich", "websockets", "hashlib", "logging"}
NOT_FOR_A_NODE = {
    *("rich", "trio_websocket", "wsproto", "prometheus_client", "http.client", "httpcore", "redis"),
    *("asyncio", "multiprocessing", "hypothesis", "pytest", "numpy", "xml"),
    *("wsnode.starknet", "wsnode.ethereum.networks", "wsnode.ethereum.payloads.engine_chain"),
    *("wsnode.ethereum.rpc.engine.methods", "wsnode.sync.follow", "wsnode.sync.proofs"),
    *(
        "wsnode.cluster.redis_journal",
        "wsnode.cluster.publisher",
        "wsnode.cluster.replica",
        "wsnode.cluster.pool",
    ),
    *(
        "wsnode.node.workers",
        "wsnode.node.services.sync",
        "wsnode.node.services.fork",
        "wsnode.upstream.client",
    ),
    *("wsnode.load", "wsnode.verify", "wsnode.doctor", "wsnode.snapshots", "wsnode.demo.traffic"),
    *("wsnode.demo.anvil.init_file", "wsnode.demo.starknet_chain"),
    *(
        "wsnode.cli.bench",
        "wsnode.cli.verify",
        "wsnode.cli.follow",
        "wsnode.cli.data_folders",
        "wsnode.cli.anvil",
    ),
}
NOT_FOR_STORED_CHAINS = {
    *("wsnode.demo", "wsnode.ethereum.development", "wsnode.ethereum.rpc.development.methods"),
    *("wsnode.cli.development", "wsnode.server.observability.printing"),
}


def loaded(text: str) -> Set[str]:
    """Return the modules that an interpreter says it has loaded, and the packages around them."""
    names = IMPORTED.findall(text)
    assert "wsnode.cli.main" in names
    return {".".join(name.split(".")[:end]) for name in names for end in range(1, 1 + name.count(".") + 1)}


def loaded_by_node(errors: Path, *arguments: str) -> Set[str]:
    """Return the modules that a node has loaded once it serves; `errors` is where it writes their names."""
    command = [INTERPRETER, "-X", "importtime", *ARGUMENTS, *arguments, "--listen", "127.0.0.1:0"]
    with (
        errors.open("w") as stderr,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready ")
        process.terminate()
        process.communicate(timeout=PATIENCE)
    return loaded(errors.read_text())


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("--version",), ("dev", "--help"), ("import", "eth", "--help"), ("serve", "--port", "x")],
    ids=" ".join,
)
def test_what_only_reads_the_command_line_loads_no_node(arguments: tuple[str, ...]) -> None:
    command = [INTERPRETER, "-X", "importtime", *ARGUMENTS, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert not loaded(ended.stderr) & NOT_FOR_HELP


def test_nodes_load_nothing_of_other_commands(tmp_path: Path) -> None:
    folder = str(tmp_path / "chain")
    development = loaded_by_node(tmp_path / "dev", "dev", "--data", folder)
    assert not development & NOT_FOR_A_NODE
    stored = loaded_by_node(tmp_path / "serve", "serve", "--data", folder)
    assert not stored & (NOT_FOR_A_NODE | NOT_FOR_STORED_CHAINS)
