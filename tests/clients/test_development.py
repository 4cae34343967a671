"""Wallets, bots and test suites against a development chain: viem, ethers and web3.py."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import RunScript
from tests.clients.nodes import ADDRESSES
from tests.clients.subscribers.program import go_program
from tests.clients.web3_session import connected
from tests.node_process import Node, started

pytestmark = pytest.mark.slow

STRANGER = "0x0000000000000000000000000000000000001111"


@pytest.fixture(scope="module")
def development() -> Iterator[Node]:
    with started("dev", "--listen", "127.0.0.1:0") as node:
        yield node


@pytest.mark.parametrize("address", ["bare http", "websocket"])
@pytest.mark.parametrize("script", ["development.mjs", "development_ethers.mjs"])
def test_scripts_control_the_chain(
    script: str, address: str, run_script: RunScript, development: Node
) -> None:
    snapshot = "evm_snapshot"
    with connected(pytest.importorskip("web3"), "HTTPProvider", ADDRESSES["http"](development)) as session:
        taken = session.w3.provider.make_request(snapshot, [])["result"]
        run_script(script, ADDRESSES[address](development))
        assert session.w3.provider.make_request("evm_revert", [taken])["result"] is True


@pytest.mark.parametrize(
    ("kind", "address"),
    [("HTTPProvider", "bare http"), ("AsyncHTTPProvider", "http"), ("WebSocketProvider", "websocket")],
)
def test_web3_sends_waits_and_signs(kind: str, address: str, development: Node) -> None:
    with connected(pytest.importorskip("web3"), kind, ADDRESSES[address](development)) as session:
        eth = session.eth
        sender, recipient = session.wait(eth.accounts)[:2]
        before = session.wait(eth.get_balance(recipient))
        sent = session.wait(eth.send_transaction({"from": sender, "to": recipient, "value": 3}))
        assert session.wait(eth.wait_for_transaction_receipt(sent))["status"] == 1
        assert session.wait(eth.get_balance(recipient)) == before + 3
        assert len(session.wait(eth.sign(sender, text="hello"))) == 65


def test_web3_travels_and_changes_accounts(development: Node) -> None:
    with connected(
        pytest.importorskip("web3"), "HTTPProvider", ADDRESSES["bare http"](development)
    ) as session:

        def ask(method: str, *params: object) -> object:
            return session.w3.provider.make_request(method, list(params))["result"]

        taken = ask("evm_snapshot")
        ask("anvil_setBalance", STRANGER, hex(10**18))
        ask("anvil_impersonateAccount", STRANGER)
        sent = session.eth.send_transaction({"from": STRANGER, "to": STRANGER, "value": 1})
        assert session.eth.get_transaction_receipt(sent)["from"] == STRANGER
        ask("evm_increaseTime", 3600)
        ask("evm_mine")
        assert ask("evm_revert", taken) is True
        assert session.eth.get_balance(STRANGER) == 0


def test_go_ethereums_client_reads_blocks_of_impersonated_accounts(development: Node, tmp_path: Path) -> None:
    program = go_program("./blocks", tmp_path)
    with connected(
        pytest.importorskip("web3"), "HTTPProvider", ADDRESSES["bare http"](development)
    ) as session:

        def ask(method: str, *params: object) -> object:
            return session.w3.provider.make_request(method, list(params))["result"]

        ask("evm_setAutomine", False)
        price: dict[str, Any] = {"gasPrice": hex(2 * 10**9)}
        listed = [{"address": STRANGER, "storageKeys": []}]
        fees = [price, {**price, "accessList": listed}, {"maxFeePerGas": hex(2 * 10**9)}]
        sent = {}
        for sender in ("0x" + "00" * 20, "0x" + "ab" * 20):
            ask("anvil_setBalance", sender, hex(10**18))
            for nonce, each in enumerate(fees):
                call = {"from": sender, "to": STRANGER, "nonce": hex(nonce), **each}
                sent[ask("eth_sendUnsignedTransaction", call)] = (sender, nonce, 1)
        ask("evm_mine")
        ask("evm_setAutomine", True)
    url = ADDRESSES["bare http"](development)
    told = json.loads(subprocess.run([program, url], capture_output=True, text=True, check=True).stdout)
    read = {each["hash"]: (each["from"], each["type"], each["status"]) for each in told["transactions"]}
    assert read == sent
    assert len(sent) == 2 * len(fees)
