"""A node of another program over a made chain, which answers the methods of both versions by itself.

It is told to grow, and to drop blocks; its blocks come as a dump.
"""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

from tests.node_process import PATIENCE
from tests.vector_files import require_vectors

CHAIN_ID: Final = "SN_TEST"
PROGRAM: Final = Path(__file__).with_name("program.py")


class ReferenceNode:
    """The running node."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, method: str, params: Any, version: str = "v0_10") -> Any:
        """Return the result of a method, or its error, an object with `code`."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = self._post(f"rpc/{version}", request)
        return reply["result"] if "result" in reply else reply["error"]

    def command(self, do: str, **more: Any) -> Any:
        """Have the node do something, and return the state that it is in then."""
        return self._post("control", {"do": do, **more})

    def dump(self, path: Path) -> Path:
        """Write all blocks with their receipts and state updates into a file, and return it."""
        head = self.ask("starknet_blockNumber", [])
        with path.open("w") as file:
            for number in range(head + 1):
                block_id = {"block_number": number}
                line = {
                    "block": self.ask("starknet_getBlockWithReceipts", [block_id]),
                    "state_update": self.ask("starknet_getStateUpdate", [block_id]),
                }
                line["classes"] = {
                    row["class_hash"]: self.ask("starknet_getClass", [block_id, row["class_hash"]])
                    for row in line["state_update"]["state_diff"]["declared_classes"]
                }
                file.write(json.dumps(line) + "\n")
        return path

    def _post(self, path: str, body: Any) -> Any:
        request = urllib.request.Request(f"{self.url}/{path}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            return json.loads(reply.read())


@contextmanager
def reference_node(
    blocks: int, seed: int = 1, *, block_time: float = 0, made: Path = Path(os.devnull)
) -> Iterator[ReferenceNode]:
    """Run the node, which begins with `blocks` above the first; the test is skipped where it is not there.

    It makes a block every `block_time` seconds, or none by itself, and writes each one to the file `made`.
    """
    folder = require_vectors("tools/starknet-node")
    python = os.environ.get("WSNODE_STARKNET_PY", sys.executable if find_spec("poseidon_py") else None)
    if python is None:
        pytest.skip("the reference node needs starknet.py: name a Python that has it in WSNODE_STARKNET_PY")
    options = ["--blocks", str(blocks), "--seed", str(seed), "--chain-id", CHAIN_ID]
    options += ["--block-time", str(block_time)]
    command = [python, str(PROGRAM), str(folder), str(made), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready = process.stdout.readline()
            assert ready.startswith("ready http://"), ready
            yield ReferenceNode(ready.split()[1].removesuffix("/rpc/v0_10"))
        finally:
            process.kill()
