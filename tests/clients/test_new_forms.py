"""Blocks of Amsterdam, and transactions that no public chain takes: clients read them unmodified."""

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
from tests.ethereum.pool.steps import plain
from tests.node_process import Node, started
from tests.peers.anvil import ask_url
from wsnode.demo.accounts import ACCOUNTS

pytestmark = pytest.mark.slow
STRANGER = "0x" + "ab" * 20


@pytest.fixture
def chain() -> Iterator[Node]:
    """Return a chain under Amsterdam's rules, with one transaction of each form in a block of its own."""
    with started("dev", "--listen", "127.0.0.1:0", "--hardfork", "amsterdam") as node:

        def ask(method: str, *params: Any) -> Any:
            reply = ask_url(ADDRESSES["bare http"](node), method, *params)
            assert "error" not in reply, reply
            return reply["result"]

        # Signed for no chain, as before EIP-155.
        unprotected = plain(ACCOUNTS[0], 0, chainId=None, gasPrice=2 * 10**9, gas=100_000)
        ask("eth_sendRawTransaction", "0x" + unprotected.hex())
        # Of an account without a key or funds, without a fee.
        ask("anvil_setNextBlockBaseFeePerGas", "0x0")
        ask("anvil_impersonateAccount", STRANGER)
        ask("eth_sendTransaction", {"from": STRANGER, "to": STRANGER, "gasPrice": "0x0", "gas": "0x186a0"})
        # With a tip of zero.
        ask(
            "eth_sendTransaction",
            {"from": ask("eth_accounts")[1], "to": STRANGER, "maxPriorityFeePerGas": "0x0"},
        )
        yield node


def test_javascript_clients_read_them(chain: Node, run_script: RunScript) -> None:
    run_script("new_forms.mjs", ADDRESSES["bare http"](chain), ADDRESSES["bare websocket"](chain))


@pytest.mark.parametrize("kind", ["HTTPProvider", "WebSocketProvider"])
def test_web3_reads_them(kind: str, chain: Node) -> None:
    address = ADDRESSES["bare http" if kind == "HTTPProvider" else "bare websocket"](chain)
    with connected(pytest.importorskip("web3"), kind, address) as session:
        last = session.wait(session.eth.block_number)
        assert last == 3
        for number in range(1, last + 1):
            block = session.wait(session.eth.get_block(number, full_transactions=True))
            assert session.wait(session.eth.get_block(block["hash"]))["number"] == number
            for sent in block["transactions"]:
                assert session.wait(session.eth.get_transaction(sent["hash"]))["from"] == sent["from"]
                assert session.wait(session.eth.get_transaction_receipt(sent["hash"]))["status"] == 1


def test_web3_subscribes_to_blocks_and_mined_transactions(chain: Node) -> None:
    """web3.py passes on kinds of subscriptions that it does not know."""
    with connected(
        pytest.importorskip("web3"), "WebSocketProvider", ADDRESSES["bare websocket"](chain)
    ) as session:
        eth = session.eth
        blocks = session.wait(eth.subscribe("newBlocks", {"transactions": True, "receipts": True}))
        mined = session.wait(eth.subscribe("alchemy_minedTransactions", {"hashesOnly": True}))
        sender = session.wait(eth.accounts)[0]
        # What it does not know stays as it was sent.
        sent = session.wait(eth.send_transaction({"from": sender, "to": sender, "value": 1})).to_0x_hex()
        told = dict[str, Any]()

        async def hear() -> None:
            async for message in session.w3.socket.process_subscriptions():
                told[message["subscription"]] = message["result"]
                if len(told) == 2:
                    return

        session.wait(hear())
        assert [each["hash"].to_0x_hex() for each in told[blocks]["transactions"]] == [sent]
        assert [each["transactionHash"] for each in told[blocks]["receipts"]] == [sent]
        assert told[mined] == {"removed": False, "transaction": {"hash": sent}}


def test_web3_subscribes_to_values_of_the_state(chain: Node) -> None:
    with connected(
        pytest.importorskip("web3"), "WebSocketProvider", ADDRESSES["bare websocket"](chain)
    ) as session:
        eth = session.eth
        sender, other = session.wait(eth.accounts)[:2]
        name = session.wait(eth.subscribe("state", {"accounts": [sender]}))
        # It passes on one argument, so not the third parameter of newPendingTransactions.
        of_sender = {"toAddress": sender, "hashesOnly": True}
        selected = session.wait(eth.subscribe("alchemy_pendingTransactions", of_sender))
        told: dict[str, list[Any]] = {name: [], selected: []}

        async def hear(*wanted: str) -> None:
            """Return once there is something new of each subscription."""
            before = {each: len(told[each]) for each in wanted}
            async for message in session.w3.socket.process_subscriptions():
                told[message["subscription"]].append(message["result"])
                if all(len(told[each]) > count for each, count in before.items()):
                    return

        # The first values may be those of a block that is mined before they are told.
        session.wait(hear(name))
        sent = session.wait(eth.send_transaction({"from": sender, "to": sender, "value": 1}))
        session.wait(eth.send_transaction({"from": other, "to": other}))
        session.wait(hear(name, selected))
        first, last = told[name]
        assert first["complete"] is True
        held = {**first["accounts"][sender.lower()], **last["accounts"][sender.lower()]}
        assert held["balance"] == hex(session.wait(eth.get_balance(sender, last["blockHash"])))
        assert told[selected] == [sent]


def test_web3_subscribes_to_outcomes_of_calls(chain: Node) -> None:
    with connected(
        pytest.importorskip("web3"), "WebSocketProvider", ADDRESSES["bare websocket"](chain)
    ) as session:
        eth = session.eth
        sender = session.wait(eth.accounts)[0]
        # The balance of an account, and a revert.
        calls = [{"data": f"0x73{sender[2:].lower()}315f5260205ff3"}, {"data": "0x5f5ffd"}]
        name = session.wait(eth.subscribe("calls", {"calls": calls}))

        async def hear() -> Any:
            message = await anext(aiter(session.w3.socket.process_subscriptions()))
            assert message["subscription"] == name
            return message["result"]

        # The first outcomes may be those of a block that is mined before they are told.
        first = session.wait(hear())
        session.wait(eth.send_transaction({"from": sender, "to": sender, "value": 1}))
        last = session.wait(hear())
        assert (first["complete"], first["results"][1]["error"]["code"]) == (True, 3)
        assert [entry["index"] for entry in last["results"]] == [0]
        for result in (first, last):
            balance = session.wait(eth.get_balance(sender, result["blockHash"]))
            assert int(result["results"][0]["result"], 16) == balance


def test_go_ethereums_client_subscribes_to_kinds_that_it_does_not_know(chain: Node, tmp_path: Path) -> None:
    url, socket = ADDRESSES["bare http"](chain), ADDRESSES["bare websocket"](chain)
    program = go_program("./subscriptions", tmp_path)
    read = subprocess.run([program, socket], capture_output=True, text=True, check=True)
    told = json.loads(read.stdout)
    sender = ask_url(url, "eth_accounts")["result"][0]
    first, last = told["first"], told["last"]
    assert first["complete"] is True
    held = {**first["accounts"][sender], **last["accounts"][sender]}
    proof = ask_url(url, "eth_getProof", sender, [], {"blockHash": last["blockHash"]})["result"]
    assert held == {name: proof[name] for name in ("nonce", "balance", "codeHash")}
    assert told["pending"]["from"] == sender
    (sent,) = told["block"]["transactions"]
    assert [each["transactionHash"] for each in told["block"]["receipts"]] == [sent["hash"]]
    assert told["mined"] == {"removed": False, "transaction": {"hash": sent["hash"]}}


def test_go_ethereums_client_reads_them(chain: Node, tmp_path: Path) -> None:
    program, url = go_program("./blocks", tmp_path), ADDRESSES["bare http"](chain)
    numbers = [hex(number) for number in (1, 2, 3)]
    for number in numbers:
        block = ask_url(url, "eth_getBlockByNumber", number, True)["result"]
        read = subprocess.run([program, url, number], capture_output=True, text=True, check=True)
        told = json.loads(read.stdout)
        # It computes the hash from the header's members.
        assert told["hash"] == block["hash"]
        senders = [(each["hash"], each["from"], 1) for each in block["transactions"]]
        assert [(each["hash"], each["from"], each["status"]) for each in told["transactions"]] == senders
