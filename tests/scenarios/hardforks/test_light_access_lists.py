"""`wsnode follow --light` behind a full node after Amsterdam: access lists take the place of proofs."""

import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.node_process import PATIENCE, Node, started, until
from tests.scenarios.test_following import head, plain, result, websocket
from wsnode.demo.accounts import ACCOUNTS

pytestmark = pytest.mark.slow

BLOCKS = 100
SENDER, RECIPIENT, OTHER = (f"0x{account.address.hex()}" for account in ACCOUNTS[:3])
COUNTER = "0x600e600a5f39600e5ff35f54600101805f555f5260205ff3"
"""Deploys code that adds one to slot 0 and returns the sum."""


def proofs_asked(node: Node) -> int:
    """Return how many values the node has asked its upstreams to prove."""
    with urllib.request.urlopen(plain(node) + "metrics", timeout=PATIENCE) as reply:
        found = re.findall(r"^wsnode_proofs_total\S* (\d+)", reply.read().decode(), re.MULTILINE)
    return sum(map(int, found))


def sent(url: str, **members: str) -> dict[str, Any]:
    """Return the receipt of a transaction, which is alone in its block."""
    made = result(url, "eth_sendTransaction", {"from": SENDER, **members})
    receipt: dict[str, Any] = result(url, "eth_getTransactionReceipt", made)
    assert receipt["status"] == "0x1"
    return receipt


def reads(counter: str, block: str) -> list[tuple[str, tuple[Any, ...]]]:
    return [
        *(("eth_getBalance", (address, block)) for address in (SENDER, RECIPIENT, OTHER, counter)),
        ("eth_getTransactionCount", (SENDER, block)),
        ("eth_getCode", (counter, block)),
        ("eth_getStorageAt", (counter, "0x0", block)),
        ("eth_call", ({"from": OTHER, "to": counter}, block)),
        ("eth_estimateGas", ({"from": OTHER, "to": counter}, block)),
    ]


def test_the_same_calls_over_a_hundred_blocks_take_no_proof_after_the_first(tmp_path: Path) -> None:
    full = ("--hardfork", "amsterdam", "--data", str(tmp_path / "full"), "--listen", "127.0.0.1:0", "--quiet")
    with started("dev", *full) as source:
        upstream = plain(source)
        counter = sent(upstream, data=COUNTER)["contractAddress"]
        genesis = tmp_path / "full/eth/genesis.json"
        light = ("--light", "--data", str(tmp_path / "light"), "--genesis", str(genesis))
        options = ("--upstream", websocket(upstream), "--listen", "127.0.0.1:0", "--open")
        with started("follow", *light, *options) as node:
            until("the upstream's head", lambda: head(plain(node)) == head(upstream))
            asked = 0
            for number in range(BLOCKS + 1):
                sent(upstream, to=(counter, RECIPIENT)[number % 2], gas="0x20000")
                until("the upstream's head", lambda: head(plain(node)) == head(upstream))
                block = hex(head(upstream)[0])
                for method, params in reads(counter, block):
                    assert result(plain(node), method, *params) == result(upstream, method, *params)
                asked = asked or proofs_asked(node)
                assert proofs_asked(node) == asked > 0
            stranger = "0x" + "5a" * 20
            sent(upstream, to=stranger, value="0x7", gas="0x50000")
            until("the upstream's head", lambda: head(plain(node)) == head(upstream))
            # A list names it as new, with its balance; what else it is only a proof says.
            assert result(plain(node), "eth_getBalance", stranger, "latest") == "0x7"
            assert proofs_asked(node) > asked
