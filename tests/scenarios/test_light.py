"""`wsnode follow --light` as a whole process, behind geth."""

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.geth_process import GETH, started_geth
from tests.node_process import Node, started, until
from tests.peers.anvil import ask_url
from tests.scenarios.test_following import head, plain, result, websocket
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import development_genesis
from wsnode.ethereum.state import sign_transaction

pytestmark = [pytest.mark.slow, pytest.mark.skipif(GETH is None, reason="no `geth` on the path")]

EMITTER = bytes.fromhex(
    # Deploys the code behind it, which logs the second word of a call under the first.
    "600f80600b6000396000f3" + "60203560005260003560206000a100"
)
WINDOW = 128


class Traffic:
    """Transactions to geth, each of which makes a block, most of them with logs."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._chain_id = int(result(url, "eth_chainId"), 16)
        self._nonce = 0
        self.contracts: list[bytes] = []

    def deploy(self) -> None:
        sent = self._send(None, EMITTER, 200_000)
        until("a contract", lambda: self._receipt(sent) is not None)
        self.contracts.append(bytes.fromhex(self._receipt(sent)["contractAddress"][2:]))

    def _receipt(self, sent: str) -> Any:
        # An error as long as geth indexes.
        return ask_url(self.url, "eth_getTransactionReceipt", sent).get("result")

    def grow(self, blocks: int, chosen: random.Random) -> None:
        """Make this number of blocks, or a few less: geth may put two transactions into one."""
        for _ in range(blocks):
            topic = chosen.randrange(8).to_bytes(32, "big")
            self._send(chosen.choice(self.contracts), topic + os.urandom(32), 60_000)
        until("all mined", lambda: self._nonce == self._mined())

    def _mined(self) -> int:
        address = f"0x{ACCOUNTS[0].address.hex()}"
        return int(result(self.url, "eth_getTransactionCount", address, "latest"), 16)

    def send_to(self, url: str) -> str:
        """Return the hash of a transaction that another node takes."""
        return self._send(self.contracts[0], bytes(64), 60_000, url)

    def _send(self, to: bytes | None, data: bytes, gas: int, url: str | None = None) -> str:
        signed = sign_transaction(
            ACCOUNTS[0].secret,
            chain_id=self._chain_id,
            nonce=self._nonce,
            to=to,
            value=0,
            input=data,
            gas=gas,
            max_fee=10**11,
            max_priority_fee=10**9,
        )
        self._nonce += 1
        sent = str(result(url or self.url, "eth_sendRawTransaction", f"0x{signed.hex()}"))
        if self._nonce % 8 == 0:
            until("mined", lambda: self._nonce == self._mined())
        return sent

    def filters(self, chosen: random.Random, first: int, last: int) -> dict[str, Any]:
        """Return a random filter of blocks in this range."""
        begin = chosen.randint(first, last)
        found: dict[str, Any] = {"fromBlock": hex(begin), "toBlock": hex(chosen.randint(begin, last))}
        if chosen.random() < 0.6:
            some = chosen.sample(self.contracts, chosen.randint(1, len(self.contracts)))
            found["address"] = [f"0x{address.hex()}" for address in some]
        if chosen.random() < 0.6:
            found["topics"] = [[f"0x{chosen.randrange(9):064x}" for _ in range(chosen.randint(1, 3))]]
        return found


@pytest.fixture
def genesis(tmp_path: Path) -> Path:
    file = tmp_path / "genesis.json"
    file.write_bytes(development_genesis([account.address for account in ACCOUNTS], 10**24, 1_700_000_000))
    return file


@pytest.fixture
def traffic(tmp_path: Path, genesis: Path) -> Iterator[Traffic]:
    options = ("--http.api", "eth,net,debug,web3", "--ws.api", "eth,net,debug,web3")
    with started_geth(tmp_path / "geth", genesis, *options) as addresses:
        traffic = Traffic(addresses.http)
        for _ in range(4):
            traffic.deploy()
        yield traffic


def command(folder: Path, genesis: Path, upstream: str, window: int = WINDOW) -> list[str]:
    return [
        *("follow", "--light", "--window", str(window), "--data", str(folder), "--genesis", str(genesis)),
        *("--upstream", websocket(upstream), "--listen", "127.0.0.1:0", "--open"),
    ]


def earliest(node: Node) -> int:
    return int(result(plain(node), "wsnode_status")["earliest"], 16)


def wait_for_window(node: Node, upstream: str) -> None:
    """Return once the node is at the upstream's head, and has its window and not much more."""
    until("the upstream's head", lambda: head(plain(node)) == head(upstream))

    def is_there() -> bool:
        first, last = earliest(node), head(plain(node))[0]
        final = int(result(plain(node), "eth_getBlockByNumber", "finalized", False)["number"], 16)
        return first == max(0, min(last - WINDOW + 1, final))

    until("the window", is_there)


def require_equal(node: Node, traffic: Traffic, chosen: random.Random, filters: int) -> None:
    """Compare blocks, receipts and logs of the window with geth's."""
    first, last = earliest(node), head(plain(node))[0]
    for number in chosen.sample(range(first, last + 1), min(20, last - first + 1)):
        require_same(node, traffic, number, "eth_getBlockByNumber", hex(number), True)
        require_same(node, traffic, number, "eth_getBlockReceipts", hex(number))
    for _ in range(filters):
        asked = traffic.filters(chosen, earliest(node), last)
        require_same(node, traffic, int(asked["fromBlock"], 16), "eth_getLogs", asked)
    if first:
        error = ask_url(plain(node), "eth_getLogs", {"fromBlock": hex(first - 1)})["error"]
        assert (error["code"], error["data"]["requested"]) == (4444, hex(first - 1))


def require_same(node: Node, traffic: Traffic, number: int, method: str, *params: Any) -> None:
    """Compare a reply with geth's, unless the block has been pruned meanwhile, and the node says so."""
    reply = ask_url(plain(node), method, *params)
    if reply.get("error", {}).get("code") == 4444:
        assert int(reply["error"]["data"]["earliest"], 16) > number
        return
    assert reply["result"] == result(traffic.url, method, *params)


def folder_size(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def test_a_light_folder_is_at_the_head_of_geth_in_seconds_and_equal_to_it(
    tmp_path: Path, genesis: Path, traffic: Traffic
) -> None:
    chosen = random.Random(1)
    traffic.grow(300, chosen)
    began = time.monotonic()
    with started(*command(tmp_path / "ours", genesis, traffic.url)) as node:
        until("the upstream's head", lambda: head(plain(node)) == head(traffic.url))
        print(f"at the head after {time.monotonic() - began:.1f} s")
        wait_for_window(node, traffic.url)
        require_equal(node, traffic, chosen, 200)
        traffic.grow(50, chosen)
        wait_for_window(node, traffic.url)
        require_equal(node, traffic, chosen, 100)
        sent = traffic.send_to(plain(node))
        until("a receipt", lambda: result(plain(node), "eth_getTransactionReceipt", sent) is not None)
        theirs = result(traffic.url, "eth_getTransactionReceipt", sent)
        assert result(plain(node), "eth_getTransactionReceipt", sent) == theirs
        refusal = ask_url(plain(node), "eth_sendRawTransaction", "0x01")["error"]
        assert refusal["code"] == -32000


@pytest.mark.nightly
def test_the_folder_stops_growing_once_it_has_its_window(
    tmp_path: Path, genesis: Path, traffic: Traffic
) -> None:
    chosen, sizes = random.Random(2), []
    traffic.grow(WINDOW, chosen)
    with started(*command(tmp_path / "ours", genesis, traffic.url)) as node:
        for _ in range(20):
            traffic.grow(WINDOW // 2, chosen)
            wait_for_window(node, traffic.url)
            # So no round begins with more, however late pruning and the word of what is final come.
            until("only the window", lambda: head(plain(node))[0] - earliest(node) < WINDOW)
            sizes.append(folder_size(tmp_path / "ours"))
        require_equal(node, traffic, chosen, 1_000)
    print("bytes of the folder", sizes)
    # It never has more than one and a half windows, and the store's file is as large as it ever needed to be.
    # Of a chain that is eight times as long in the end, the first folder's size twice is far less.
    assert max(sizes) <= 2 * sizes[0]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 6))]
)
def test_a_light_folder_survives_being_killed(
    tmp_path: Path, genesis: Path, traffic: Traffic, seed: int
) -> None:
    chosen = random.Random(seed)
    traffic.grow(2 * WINDOW, chosen)
    for _ in range(5):
        with started(*command(tmp_path / "ours", genesis, traffic.url)) as node:
            # From before the first block on through backfilling, following and pruning.
            traffic.grow(chosen.randint(0, 40), chosen)
            time.sleep(chosen.random() ** 2 * 2)
            node.process.send_signal(signal.SIGKILL)
            node.process.wait()
    with started(*command(tmp_path / "ours", genesis, traffic.url)) as node:
        wait_for_window(node, traffic.url)
        require_equal(node, traffic, chosen, 100)
