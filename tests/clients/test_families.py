"""Unmodified clients read blocks, receipts and logs of each family from a light folder."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import pytest

from tests.clients.conftest import RunScript
from tests.families.restated_blocks import (
    CAPTURED,
    OP_GETH,
    RestatedNode,
    captured_block,
    logged_block,
    op_geth,
    serving,
)
from tests.node_process import Node, started, until
from tests.peers.anvil import ask_url
from tests.scenarios.test_following import plain
from tests.vector_files import require_vectors
from wsnode.ethereum.networks.table import find_network

pytestmark = pytest.mark.slow

OP_STACK: Final = "op"
CHAINS: Final = (
    *(OP_STACK, "arbitrum", "bsc"),
    *(pytest.param(name, marks=pytest.mark.nightly) for name in ("polygon", "gnosis", "linea")),
)


@pytest.fixture(scope="module", params=CHAINS)
def followed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, RestatedNode, Node]]:
    """Return a chain's name, a node with a block of it, and a light folder that follows that."""
    name: str = request.param
    folder = tmp_path_factory.mktemp(name)
    with upstream(name, folder / "state") as node, serving(node) as url:
        options = ("--light", "--upstream", url, "--listen", "127.0.0.1:0", "--open")
        genesis = ("--genesis", str(write_genesis(folder, name)))
        with started("follow", "--data", str(folder / "light"), *genesis, *options) as light:
            until("the head", lambda: head(light) == node.head["hash"])
            yield name, node, light


def upstream(name: str, folder: Path) -> AbstractContextManager[RestatedNode]:
    if name == OP_STACK:
        return op_geth(folder, (53, 54))
    return captured_block(name, folder) if name in CAPTURED else logged_block(name, folder)


def write_genesis(folder: Path, name: str) -> Path:
    """Write the genesis of a chain whose genesis block the node does not have."""
    file = folder / "genesis.json"
    if name == OP_STACK:
        made = json.loads((require_vectors(OP_GETH) / "genesis.json").read_bytes())
        file.write_text(json.dumps({"config": made["config"]}))
        return file
    described = json.loads(find_network(name).genesis)
    described["config"]["wsnode"].pop("genesisHash")
    file.write_text(json.dumps(described))
    return file


def head(node: Node) -> str | None:
    found = ask_url(plain(node), "eth_getBlockByNumber", "latest", False).get("result")
    return None if found is None else str(found["hash"])


def test_viem_and_ethers_read_blocks_receipts_and_logs(
    run_script: RunScript, followed: tuple[str, RestatedNode, Node], tmp_path: Path
) -> None:
    name, node, light = followed
    file = tmp_path / "expected.json"
    told = {"chainId": hex(node.chain_id), "block": node.head, "receipts": node.receipts[-1]}
    file.write_text(json.dumps(told))
    run_script("families.mjs", plain(light), name, str(file))


def test_web3_reads_blocks_receipts_and_logs(followed: tuple[str, RestatedNode, Node]) -> None:
    web3 = pytest.importorskip("web3")
    middleware = pytest.importorskip("web3.middleware")
    _name, node, light = followed
    w3 = web3.Web3(web3.HTTPProvider(plain(light)))
    has_seal = len(node.head["extraData"]) > 2 + 64
    if has_seal:
        w3.middleware_onion.inject(middleware.ExtraDataToPOAMiddleware, layer=0)
    assert w3.eth.chain_id == node.chain_id
    block = w3.eth.get_block(node.head["hash"], full_transactions=True)
    assert block["number"] == int(node.head["number"], 16)
    # The middleware gives long extra data this name.
    extra = block["proofOfAuthorityData" if has_seal else "extraData"]
    assert bytes(extra).hex() == node.head["extraData"][2:]
    told = node.head["transactions"]
    assert [each["hash"].to_0x_hex() for each in block["transactions"]] == [each["hash"] for each in told]
    for receipt in node.receipts[-1][:10]:
        found = w3.eth.get_transaction_receipt(receipt["transactionHash"])
        assert found["gasUsed"] == int(receipt["gasUsed"], 16)
        assert len(found["logs"]) == len(receipt["logs"])
        if "l1Fee" in receipt:
            assert int(found["l1Fee"], 16) == int(receipt["l1Fee"], 16)
    logs = w3.eth.get_logs({"blockHash": node.head["hash"]})
    assert len(logs) == sum(len(each["logs"]) for each in node.receipts[-1]) > 0
