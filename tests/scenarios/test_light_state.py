"""The state of `wsnode follow --light` as a whole process: proved by geth, equal to geth's, behind a liar."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.geth_process import GETH, Addresses, started_geth
from tests.node_process import PATIENCE, Node, started, until
from tests.peers.anvil import ask_url
from tests.peers.geth_market import wait_for_receipts
from tests.scenarios.test_following import head, lying, plain, result, websocket
from tests.scenarios.test_forks import EXCHANGE, STRANGER, TOKEN, answered, calls, pinned, rounds_of
from wsnode.demo import token
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import development_genesis
from wsnode.demo.traffic import scripted_blocks
from wsnode.ethereum.state import sign_transaction

pytestmark = [pytest.mark.slow, pytest.mark.skipif(GETH is None, reason="no `geth` on the path")]


@pytest.fixture(scope="module")
def genesis(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("genesis") / "genesis.json"
    file.write_bytes(development_genesis([account.address for account in ACCOUNTS], 10**24, 1_700_000_000))
    return file


@pytest.fixture(scope="module")
def geth(tmp_path_factory: pytest.TempPathFactory, genesis: Path) -> Iterator[Addresses]:
    """Return the addresses of a geth with the demo's token and exchange, in many blocks."""
    apis = "eth,net,debug,web3"
    options = ("--http.api", apis, "--ws.api", apis, "--gcmode", "archive")
    with started_geth(tmp_path_factory.mktemp("geth") / "geth", genesis, *options) as geth:
        for transactions in scripted_blocks():
            sent = [result(geth.http, "eth_sendRawTransaction", f"0x{each.hex()}") for each in transactions]
            wait_for_receipts(geth.http, sent)
        yield geth


@contextmanager
def following(folder: Path, genesis: Path, *upstreams: str) -> Iterator[Node]:
    """Start a node on a light folder, and wait until it is at the head."""
    told = [part for upstream in upstreams for part in ("--upstream", upstream)]
    window = ("--light", "--window", "300", "--data", str(folder), "--genesis", str(genesis))
    command = ("follow", *window, *told, "--agree", "1", "--listen", "127.0.0.1:0", "--open")
    with started(*command) as node:
        yield node


def caught_up(node: Node, geth: Addresses, blocks_back: int = 10) -> int:
    """Return the head's number once the node has it and `blocks_back` more below."""
    number = head(geth.http)[0]
    until("the head", lambda: head(plain(node)) == head(geth.http))

    def is_filled() -> bool:
        return int(result(plain(node), "wsnode_status")["earliest"], 16) <= max(1, number - blocks_back)

    until("the window", is_filled)
    return number


def reads(block: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for address in (*(f"0x{account.address.hex()}" for account in ACCOUNTS[:5]), TOKEN, EXCHANGE, STRANGER):
        yield "eth_getBalance", (address, block)
        yield "eth_getTransactionCount", (address, block)
        yield "eth_getCode", (address, block)
        for slot in range(4):
            yield "eth_getStorageAt", (address, hex(slot), block)
        yield "eth_getProof", (address, ["0x0", "0x7"], block)


def require_equal(node: Node, geth: Addresses, number: int, *, with_calls: bool = True) -> None:
    block = hex(number)
    asked = [*reads(block), *(calls(number) if with_calls else ())]
    for method, params in asked:
        ours, theirs = (answered(url, method, *pinned(params, block)) for url in (plain(node), geth.http))
        assert ours == theirs, (method, params, block)


def test_state_and_calls_of_a_light_folder_are_equal_to_geths(
    tmp_path: Path, genesis: Path, geth: Addresses
) -> None:
    with following(tmp_path / "ours", genesis, websocket(geth.http)) as node:
        number = caught_up(node, geth)
        for each in (number, number - 10):
            require_equal(node, geth, each)
        rounds = rounds_of(plain(node))
        for each in (number, number - 10):
            require_equal(node, geth, each)
        assert rounds_of(plain(node)) == rounds


@pytest.mark.parametrize("lie", ["proof-byte", "proof-node", "code"])
def test_a_liar_beside_an_honest_upstream_changes_nothing(
    lie: str, tmp_path: Path, genesis: Path, geth: Addresses
) -> None:
    with (
        lying(geth.websocket, lie) as liar,
        following(tmp_path / "ours", genesis, liar, websocket(geth.http)) as node,
    ):
        number = caught_up(node, geth)
        require_equal(node, geth, number, with_calls=False)


def test_a_liar_alone_gets_nothing_served_and_the_node_ends_at_once(
    tmp_path: Path, genesis: Path, geth: Addresses
) -> None:
    with (
        lying(geth.websocket, "proof-byte") as liar,
        following(tmp_path / "ours", genesis, liar) as node,
    ):
        number = caught_up(node, geth)
        error = ask_url(plain(node), "eth_getBalance", TOKEN, hex(number))["error"]
        assert error["code"] == -32002
        assert "wrong" in next(iter(error["data"]["upstreams"].values()))
        assert result(plain(node), "eth_blockNumber") == hex(number)
        began = time.monotonic()
        node.process.send_signal(signal.SIGTERM)
        node.process.wait(PATIENCE)
        print(f"ended after {time.monotonic() - began:.1f} s")


def test_watched_values_of_a_light_folder_are_those_of_geths_blocks(
    tmp_path: Path, genesis: Path, geth: Addresses
) -> None:
    sender = f"0x{ACCOUNTS[0].address.hex()}"
    nonce = int(result(geth.http, "eth_getTransactionCount", sender, "latest"), 16)
    with following(tmp_path / "ours", genesis, websocket(geth.http)) as node:
        caught_up(node, geth)
        with connect(node.socket_url) as client:
            watched = {"accounts": [sender, TOKEN], "slots": {TOKEN: [hex(0)]}}
            request = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["state", watched]}
            client.send(json.dumps(request))
            assert "result" in json.loads(client.recv(PATIENCE))
            held: dict[str, dict[str, Any]] = {sender: {}, TOKEN: {}}
            for number in range(3):
                told = json.loads(client.recv(PATIENCE))["params"]["result"]
                for address, members in told["accounts"].items():
                    held[address.lower()] |= members
                for address, values in held.items():
                    slots = [hex(0)] if address == TOKEN else []
                    proof = result(
                        geth.http, "eth_getProof", address, slots, {"blockHash": told["blockHash"]}
                    )
                    assert values["balance"] == proof["balance"]
                    assert values["nonce"] == proof["nonce"]
                    assert [int(each["value"], 16) for each in proof["storageProof"]] == [
                        int(value, 16) for value in values.get("slots", {}).values()
                    ]
                if number < 2:
                    pay(geth.http, nonce + number)


def pay(url: str, nonce: int) -> None:
    """Have a block in which a token is moved."""
    signed = sign_transaction(
        ACCOUNTS[0].secret,
        chain_id=int(result(url, "eth_chainId"), 16),
        nonce=nonce,
        to=token.ADDRESS,
        value=0,
        input=token.transfer(ACCOUNTS[1].address, 5),
        gas=100_000,
        max_fee=10**11,
        max_priority_fee=10**9,
    )
    result(url, "eth_sendRawTransaction", f"0x{signed.hex()}")
