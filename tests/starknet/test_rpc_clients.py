"""starknet.js and starknet.py, as their users run them, against the server."""

import itertools
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
from tests.vector_files import CHECKOUT
from wsnode.demo.starknet_chain import BLOCKS
from wsnode.server.accepting import serve
from wsnode.server.access.router import Network
from wsnode.server.server import Server
from wsnode.server.transport.sockets import open_tcp
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.rpc.methods import build_registry
from wsnode.starknet.snapshot import SPEC_VERSIONS
from wsnode.sync.starknet_folder import import_folder

pytestmark = pytest.mark.slow

CLIENTS = Path(__file__).parent / "clients"
ADDRESS = "0x20cfa74ee3564b4cd5435cdace0f9c4d43b939620e4a0bb5076105df0a626c6"
CLASS = "0x10455c752b86932ce552f2b0fe81a880746649b9aee7e0d842bf3f52378f9f8"
CHAIN_ID = "0x" + b"SN_MAIN".hex()
ASKED = (ADDRESS, "0x5", CLASS)


@pytest.fixture
async def port(chain: StarknetChain, classes: Path) -> AsyncIterator[int]:
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


@pytest.fixture
async def made(tmp_path: Path, fresh: StarknetChain) -> AsyncIterator[tuple[str, Any]]:
    """Serve a block with a transaction of each kind, and return where, and the block as it was imported."""
    text, update = (CHECKOUT / "fuzz/corpus/starknet/seed-poseidon").read_bytes().split(b"\0")
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "block.json").write_bytes(text)
    (folder / "update.json").write_bytes(update)
    await import_folder(fresh, folder, first_block=9, chain_id="SN_TEST")
    versions = tuple(SPEC_VERSIONS)
    server = Server([Network("made", build_registry(), fresh.snapshot, rpc_versions=versions)])
    listeners = open_tcp("127.0.0.1", 0)
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, server, listeners)
        yield f"http://127.0.0.1:{listeners[0].getsockname()[1]}/v3/key", json.loads(text)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(("end", "version"), [("", "0.10.3"), ("/rpc/v0_9", "0.9.0")])
async def test_starknet_js_reads_blocks_and_transactions(
    made: tuple[str, Any], end: str, version: str
) -> None:
    url, block = made
    told = [item["receipt"] for item in block["transactions"]]
    answers = await run_client([*node_command("starknet_js_blocks.mjs"), url + end, "9", version])
    hashes = [receipt["transaction_hash"] for receipt in told]
    assert answers["version"] == version
    assert ("event_count" in answers["hashes"]) is (version != "0.9.0")
    assert answers["hashes"]["transactions"] == hashes
    assert answers["count"] == len(hashes)
    assert answers["byHash"] == answers["byIndex"] == answers["transactions"]["transactions"]
    assert [item["receipt"] for item in answers["receipts"]["transactions"]] == told
    assert [status["execution_status"] for status in answers["statuses"]] == [
        receipt["execution_status"] for receipt in told
    ]
    assert answers["succeeded"] == [receipt["execution_status"] == "SUCCEEDED" for receipt in told]
    assert [event["data"] for event in answers["page"]["events"]] == [
        event["data"] for receipt in told for event in receipt["events"]
    ]
    assert answers["refused"] == 29


async def test_starknet_py_reads_blocks_and_transactions(made: tuple[str, Any]) -> None:
    url, block = made
    told = [item["receipt"] for item in block["transactions"]]
    answers = await run_client([*python_command("starknet_py_blocks.py"), url, "9"])
    assert answers == {
        "block_hash": block["block_hash"],
        "hashes": [receipt["transaction_hash"] for receipt in told],
        "count": 4,
        "same": True,
        "kinds": [
            "InvokeTransactionV3",
            "DeclareTransactionV3",
            "DeployAccountTransactionV3",
            "L1HandlerTransaction",
        ],
        "fees": [receipt["actual_fee"]["amount"] for receipt in told],
        "blocks": [9] * 4,
        "events": 1,
        "outcomes": [receipt["execution_status"] for receipt in told],
        "page": [[event["from_address"], event["keys"]] for receipt in told for event in receipt["events"]],
        "refused": True,
    }


COUNT = 3
"""Two blocks that the demo's chain begins with, and one that it makes while it is watched."""


def assert_one_after_another(numbers: list[int]) -> None:
    """Assert that no block is missing or twice; the demo makes further ones while a slow client ends."""
    assert len(numbers) >= COUNT
    assert numbers == list(range(BLOCKS - 2, BLOCKS - 2 + len(numbers)))


async def test_starknet_js_watches_the_demo() -> None:
    command = node_command("starknet_js_heads.mjs")
    with started("demo", "--listen", "127.0.0.1:0") as node:
        answers = await run_client([*command, keyed(node.socket_url), str(BLOCKS - 2), str(COUNT)])
    whole, live = answers["whole"], answers["live"]
    assert_one_after_another([header["block_number"] for header in whole])
    for parent, child in itertools.pairwise(whole):
        assert child["parent_hash"] == parent["block_hash"]
    # Each may have heard of a block more than the other by the end.
    after = [header for header in whole if header["block_number"] >= live[0]["block_number"]]
    common = min(len(after), len(live))
    assert live[0]["block_number"] >= BLOCKS
    assert common > 0
    assert live[:common] == after[:common]
    assert answers["unsubscribed"] == [True, True]


async def test_starknet_py_watches_the_demo() -> None:
    command = python_command("starknet_py_heads.py")
    with started("demo", "--listen", "127.0.0.1:0") as node:
        answers = await run_client([*command, keyed(node.socket_url), str(BLOCKS - 2), str(COUNT)])
    assert_one_after_another([number for number, _hash in answers["whole"]])
    assert answers["unsubscribed"] is True
