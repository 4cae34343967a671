"""starknet.js and starknet.py, as their users run them, against the server."""

import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.clients.nodes import keyed
from tests.node_process import PATIENCE, started
from tests.starknet.conftest import Call
from tests.starknet.models import state_updates
from wsnode.demo.starknet_chain import BLOCKS
from wsnode.server.accepting import serve
from wsnode.server.access.directory import Network
from wsnode.server.server import Server
from wsnode.server.transport.sockets import open_tcp
from wsnode.starknet.chain import Chain
from wsnode.starknet.rpc.methods import build_registry

CLIENTS = Path(__file__).parent / "clients"
ADDRESS = "0x20cfa74ee3564b4cd5435cdace0f9c4d43b939620e4a0bb5076105df0a626c6"
CLASS = "0x10455c752b86932ce552f2b0fe81a880746649b9aee7e0d842bf3f52378f9f8"
CHAIN_ID = "0x" + b"SN_MAIN".hex()
ASKED = (ADDRESS, "0x5", CLASS)


@pytest.fixture
async def port(chain: Chain, classes: Path) -> AsyncIterator[int]:
    """Serve the main network's first blocks, classes included, and return where."""
    server = Server([Network("main", build_registry(), lambda _caller: chain.snapshot())])
    listeners = open_tcp("127.0.0.1", 0)
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, server, listeners)
        yield listeners[0].getsockname()[1]
        nursery.cancel_scope.cancel()


async def run_client(command: Sequence[str]) -> Any:
    with trio.fail_after(PATIENCE):
        ended = await trio.run_process(command, capture_stdout=True, capture_stderr=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    return json.loads(ended.stdout)


def node_command(script: str = "starknet_js.mjs") -> list[str]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("starknet.js needs node")
    modules = Path(os.environ.get("WSNODE_STARKNET_JS", CLIENTS))
    if not (modules / "node_modules" / "starknet").is_dir():
        pytest.skip(f"starknet.js is not installed: npm ci --prefix {CLIENTS}, or set WSNODE_STARKNET_JS")
    return [node, str(CLIENTS / script)]


def python_command(script: str = "starknet_py_client.py") -> list[str]:
    python = os.environ.get("WSNODE_STARKNET_PY", sys.executable if find_spec("starknet_py") else None)
    if python is None:
        pytest.skip("starknet.py is not installed: name a Python that has it in WSNODE_STARKNET_PY")
    return [python, str(CLIENTS / script)]


async def test_starknet_js_reads_the_chain_over_both_transports(port: int, call: Call) -> None:
    urls = (f"http://127.0.0.1:{port}/v3/key", f"ws://127.0.0.1:{port}/ws/v3/key")
    answers = await run_client([*node_command(), *urls, *ASKED])
    assert answers["chainId"] == CHAIN_ID
    assert answers["specVersion"] == "0.10.3"
    assert answers["blockNumber"] == 9
    assert answers["latest"] == call("starknet_blockHashAndNumber")
    assert answers["classHashAt"] == CLASS
    assert answers["classAt"]["program"] == call("starknet_getClassAt", ["latest", ADDRESS])["program"]
    assert answers["classByHash"] == answers["classAt"]
    assert answers["storageAt"] == {"value": "0x22b", "last_update_block": 0}
    assert answers["lastWrite"] == {"value": "0x0", "last_update_block": 9}
    assert answers["nonce"] == "0x0"
    assert answers["stateUpdate"] == call("starknet_getStateUpdate", [{"block_number": 9}])
    assert answers["pending"] == call("starknet_getStateUpdate", ["pending"])
    assert answers["refused"] == 20
    assert answers["overWebSocket"] == answers["stateUpdate"]
    assert answers["classOverWebSocket"] == call("starknet_getClassAt", ["latest", ADDRESS])


async def test_starknet_py_reads_the_chain(port: int, call: Call, mainnet: Path) -> None:
    answers = await run_client([*python_command(), f"http://127.0.0.1:{port}/v3/key", *ASKED])
    update = state_updates(mainnet)[9]
    head = call("starknet_blockHashAndNumber")
    assert answers == {
        "chain_id": CHAIN_ID,
        "spec_version": "0.10.3",
        "block_number": 9,
        "latest": [head["block_hash"], head["block_number"]],
        "class_hash": CLASS,
        "same_class": True,
        "kind": "DeprecatedContractClass",
        "program": call("starknet_getClassAt", ["latest", ADDRESS])["program"],
        "storage": "0x22b",
        "nonce": 0,
        "new_root": update["new_root"],
        "storage_diffs": {
            address: {entry["key"]: entry["value"] for entry in entries}
            for address, entries in update["state_diff"]["storage_diffs"].items()
        },
        "pending_old_root": update["new_root"],
        "refused": 20,
    }


COUNT = 3
"""Two blocks that the demo's chain begins with, and one that it makes while it is watched."""


@pytest.mark.slow
async def test_starknet_js_watches_the_demo() -> None:
    command = node_command("starknet_js_heads.mjs")
    with started("demo", "--listen", "127.0.0.1:0") as node:
        answers = await run_client([*command, keyed(node.socket_url), str(BLOCKS - 2), str(COUNT)])
    numbers = [header["block_number"] for header in answers["whole"]]
    assert numbers == [BLOCKS - 2, BLOCKS - 1, BLOCKS]
    assert answers["live"] == answers["whole"][2:]
    assert answers["whole"][2]["parent_hash"] == answers["whole"][1]["block_hash"]
    assert answers["unsubscribed"] == [True, True]


@pytest.mark.slow
async def test_starknet_py_watches_the_demo() -> None:
    command = python_command("starknet_py_heads.py")
    with started("demo", "--listen", "127.0.0.1:0") as node:
        answers = await run_client([*command, keyed(node.socket_url), str(BLOCKS - 2), str(COUNT)])
    assert [number for number, _hash in answers["whole"]] == [BLOCKS - 2, BLOCKS - 1, BLOCKS]
    assert answers["unsubscribed"] is True
