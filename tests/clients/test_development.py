"""Wallets, bots and test suites against a development chain: viem, ethers and web3.py."""

from collections.abc import Iterator

import pytest

from tests.clients.conftest import RunScript
from tests.clients.nodes import ADDRESSES
from tests.clients.web3_session import connected
from tests.node_process import Node, started

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
