"""`wsnode demo` and `wsnode dev` as processes of their own: they grow, and survive being killed."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.node_process import PATIENCE, Node, post, run, started
from tests.sync.forks import genesis
from wsnode.demo import exchange, token
from wsnode.demo.accounts import ACCOUNTS, derived, traders
from wsnode.demo.run import begin

CREATOR, RECIPIENT = (f"0x{account.address.hex()}" for account in ACCOUNTS[:2])
LISTEN = ("--listen", "127.0.0.1:0")
SWAP = "0x49926bbebe8474393f434dfa4f78694c0923efa07d19f2284518bfabd06eb737"
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def call(node: Node, method: str, *params: Any) -> Any:
    reply = post(node.http_url, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    return json.loads(reply)["result"]


def subscribe(connection: ClientConnection, *params: Any) -> Iterator[Any]:
    """Yield what a subscription tells."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": params}
    connection.send(json.dumps(request))
    assert "result" in json.loads(connection.recv(timeout=PATIENCE))
    while True:
        yield json.loads(connection.recv(timeout=PATIENCE))["params"]["result"]


def until_closed(connection: ClientConnection) -> Iterator[str | bytes]:
    """Yield the messages that are left."""
    with suppress(ConnectionClosed):
        while True:
            yield connection.recv(timeout=PATIENCE)


@contextmanager
def watched(node: Node, *params: Any) -> Iterator[Iterator[Any]]:
    with connect(node.socket_url, max_size=None) as connection:
        yield subscribe(connection, *params)


@pytest.fixture(scope="module")
def demo() -> Iterator[Node]:
    with started("demo", *LISTEN, "--block-time", "0.3") as node:
        yield node


def test_the_demo_makes_a_block_again_and_again(demo: Node) -> None:
    with watched(demo, "newHeads") as heads:
        numbers = [int(next(heads)["number"], 16) for _ in range(4)]
    assert numbers == list(range(numbers[0], numbers[0] + 4))
    assert numbers[0] > 42


def test_tokens_move_and_are_traded_in_the_demo(demo: Node) -> None:
    seen: dict[str, set[str]] = {}
    people = {f"0x{trader.address.hex()}" for trader in traders()} | {f"0x{exchange.ADDRESS.hex()}"}
    addresses = [f"0x{contract.hex()}" for contract in (token.ADDRESS, exchange.ADDRESS)]
    with watched(demo, "logs", {"address": addresses}) as logs:
        while len(seen.get(SWAP, ())) < 3 or len(seen.get(TRANSFER, ())) < 10:
            log = next(logs)
            kind = log["topics"][0]
            seen.setdefault(kind, set()).add(log["transactionHash"])
            assert kind not in (SWAP, TRANSFER) or "0x" + log["topics"][1][-40:] in people


def test_the_traffic_waits_in_the_pool_first(demo: Node) -> None:
    with watched(demo, "newPendingTransactions", True) as arrivals:
        pending = next(arrivals)
    assert pending["blockHash"] is None
    people = {f"0x{trader.address.hex()}" for trader in traders()}
    assert pending["from"] in people


def test_the_exchange_keeps_what_its_reserves_say(demo: Node) -> None:
    head = call(demo, "eth_blockNumber")
    address = f"0x{exchange.ADDRESS.hex()}"
    ether, tokens = (
        int(call(demo, "eth_call", {"to": address, "data": selector}, head), 16)
        for selector in ("0x44672793", "0xcbcb3171")
    )
    balance = {"to": f"0x{token.ADDRESS.hex()}", "data": "0x70a08231" + exchange.ADDRESS.hex().rjust(64, "0")}
    assert int(call(demo, "eth_getBalance", address, head), 16) == ether > 0
    assert int(call(demo, "eth_call", balance, head), 16) == tokens > 0


@pytest.mark.slow
def test_the_alt_chain_of_the_demo_grows(demo: Node) -> None:
    first = call(demo, "alt_blockNumber")
    with watched(demo, "newHeads") as heads:
        # Some twenty blocks of the one chain are one of the other.
        while call(demo, "alt_blockNumber") < first + 2:
            next(heads)
    asked = {"jsonrpc": "2.0", "id": 1, "method": "alt_getStateUpdate", "params": {"block_id": "latest"}}
    update = json.loads(post(demo.http_url, json.dumps(asked)))["result"]
    assert update["old_root"] != update["new_root"]


@pytest.mark.slow
def test_what_was_answered_is_there_after_a_kill(tmp_path: Path) -> None:
    arguments = ("dev", *LISTEN, "--data", str(tmp_path))
    transfer = {"from": CREATOR, "to": RECIPIENT, "value": "0x1"}
    with started(*arguments) as node:
        answered = [call(node, "eth_sendTransaction", transfer) for _ in range(5)]
        with connect(node.socket_url) as connection:
            # These are under way when the node dies. With nonces of ours, one that overtakes another would
            # be answered before it has a block.
            for number in range(50):
                params = [transfer | {"gas": "0x5208"}]
                request = {"jsonrpc": "2.0", "id": number, "method": "eth_sendTransaction", "params": params}
                connection.send(json.dumps(request))
            for _ in range(10):
                answered.append(json.loads(connection.recv(timeout=PATIENCE))["result"])
            node.process.kill()
            answered += [json.loads(reply)["result"] for reply in until_closed(connection)]
        assert node.process.wait(PATIENCE) == -signal.SIGKILL
    with started(*arguments) as node:
        receipts = [call(node, "eth_getTransactionReceipt", each) for each in answered]
        assert [receipt["status"] for receipt in receipts] == ["0x1"] * len(answered)
        nonce = int(call(node, "eth_getTransactionCount", CREATOR, "latest"), 16)
        assert nonce >= len(answered)
        head = int(call(node, "eth_blockNumber"), 16)
        call(node, "eth_sendTransaction", transfer)
        assert int(call(node, "eth_blockNumber"), 16) == head + 1


@pytest.mark.slow
def test_a_killed_demo_goes_on(tmp_path: Path) -> None:
    arguments = ("demo", *LISTEN, "--data", str(tmp_path), "--block-time", "0.2")
    with started(*arguments) as node:
        with watched(node, "newHeads") as heads:
            known = [next(heads) for _ in range(3)]
        node.process.kill()
        node.process.wait(PATIENCE)
    with started(*arguments) as node:
        for head in known:
            assert call(node, "eth_getBlockByNumber", head["number"], False)["hash"] == head["hash"]
        with watched(node, "newHeads") as heads:
            assert int(next(heads)["number"], 16) > int(known[-1]["number"], 16)


def test_subscribers_are_told_of_a_reorganisation_once() -> None:
    with started("dev", *LISTEN) as node:
        call(node, "anvil_mine", 3)
        with connect(node.socket_url) as connection:
            subscribed = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe"}
            connection.send(json.dumps(subscribed | {"params": ["newHeads", {"reorgs": True}]}))
            assert "result" in json.loads(connection.recv(timeout=PATIENCE))
            done = call(node, "wsnode_reorg", {"depth": 2})
            told = [json.loads(connection.recv(timeout=PATIENCE))["params"] for _ in range(3)]
            call(node, "evm_mine")
            after = json.loads(connection.recv(timeout=PATIENCE))["params"]["result"]
    assert {name: told[0]["reorg"][name] for name in done} == done
    assert [{name: head["result"][name] for name in ("number", "hash")} for head in told[1:]] == done["added"]
    assert after["number"] == "0x4"


def test_transactions_are_sent_while_blocks_are_replaced() -> None:
    rounds = 40
    transfer = {"from": CREATOR, "to": RECIPIENT, "value": "0x1"}
    with started("dev", *LISTEN) as node:
        call(node, "anvil_mine", 3)
        with connect(node.socket_url, max_size=None) as connection:
            for number in range(rounds):
                for method, param in (("eth_sendTransaction", transfer), ("wsnode_reorg", {"depth": 2})):
                    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": [param]}
                    connection.send(json.dumps(request))
            replies = [json.loads(connection.recv(timeout=PATIENCE)) for _ in range(2 * rounds)]
        assert [reply for reply in replies if "result" not in reply] == []
        call(node, "evm_mine")
        assert int(call(node, "eth_getTransactionCount", CREATOR, "latest"), 16) == rounds
        assert call(node, "txpool_status") == {"pending": "0x0", "queued": "0x0"}


@pytest.mark.slow
def test_a_folder_has_one_writer(tmp_path: Path) -> None:
    arguments = ("dev", *LISTEN, "--data", str(tmp_path))
    with started(*arguments) as node:
        ended = run(*arguments)
        assert ended.returncode == 1
        assert len(ended.stderr.splitlines()) == 1
        assert call(node, "eth_blockNumber") == "0x0"


@pytest.mark.slow
def test_no_block_is_made_on_somebodys_real_chain(tmp_path: Path) -> None:
    begin(tmp_path, genesis(merged=True))
    for command in ("dev", "demo"):
        ended = run(command, *LISTEN, "--data", str(tmp_path))
        assert (ended.returncode, ended.stdout) == (1, "")
        assert len(ended.stderr.splitlines()) == 1
    assert (
        "holds the chain 1, which `wsnode import eth` made: "
        in run("dev", *LISTEN, "--data", str(tmp_path)).stderr
    )


def test_accounts_balance_and_phrase_are_as_told(tmp_path: Path) -> None:
    phrase = "legal winner thank year wave sausage worth useful legal winner thank yellow"
    told = ("--accounts", "3", "--balance", "7", "--mnemonic", phrase)
    with started("dev", *LISTEN, *told, "--data", str(tmp_path)) as node:
        accounts = [f"0x{account.address.hex()}" for account in derived(phrase, 3)]
        assert call(node, "eth_accounts") == accounts
        assert [int(call(node, "eth_getBalance", each, "latest"), 16) for each in accounts] == [
            7 * 10**18
        ] * 3
        assert call(node, "eth_chainId") == "0x7a69"


def test_a_block_time_makes_blocks_without_transactions() -> None:
    with (
        started("dev", *LISTEN, "--block-time", "0.2") as node,
        watched(node, "newHeads") as heads,
    ):
        assert call(node, "anvil_getAutomine") is False
        first = next(heads)
        assert int(next(heads)["number"], 16) == int(first["number"], 16) + 1
        # The reply does not wait for the block.
        call(node, "eth_sendTransaction", {"from": CREATOR, "to": RECIPIENT, "value": "0x1"})
        while call(node, "eth_getTransactionCount", CREATOR, "latest") == "0x0":
            next(heads)
