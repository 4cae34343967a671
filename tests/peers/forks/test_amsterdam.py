"""The Amsterdam fork beside go-ethereum: followed, forked, and developed on."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.geth_process import GETH, SPARING
from tests.node_process import started, until
from tests.peers.geth import Geth, started_geth
from tests.scenarios.test_following import head, plain, result
from tests.vector_files import require_vectors
from wsnode.demo.accounts import ACCOUNTS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(GETH is None, reason="no `geth` on the path")]

SENDER = ACCOUNTS[0].address
NEW_ACCOUNT = "0x" + "11" * 19 + "12"
TRANSFERS = "0x" + "ff" * 19 + "fe"
"""Address of the logs of transfers of ether (EIP-7708)."""
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
CREATION = "0x620000038061000c5f395ff35f35ff"
"""Deploys three bytes of code."""


@pytest.fixture
def geth(tmp_path: Path) -> Iterator[Geth]:
    vectors = require_vectors("amsterdam")
    (tmp_path / "geth").mkdir()
    with started_geth(tmp_path / "geth", vectors / "genesis.json", vectors / "chain.rlp.gz") as node:
        yield node


@pytest.mark.parametrize("options", [(), ("--light",)], ids=["full", "light"])
def test_geths_chain_is_followed_across_the_fork(
    tmp_path: Path, geth: Geth, options: tuple[str, ...]
) -> None:
    genesis = require_vectors("amsterdam") / "genesis.json"
    command = ("--data", str(tmp_path / "ours"), "--genesis", str(genesis), "--upstream", geth.url)
    with started("follow", *command, *options, "--listen", "127.0.0.1:0", "--open") as node:
        until("the upstream's head", lambda: head(plain(node)) == head(geth.url))
        until("block 1", lambda: result(plain(node), "eth_getBlockByNumber", "0x1", False))
        for number in range(1, head(geth.url)[0] + 1):
            for method, params in (
                ("eth_getBlockByNumber", [hex(number), True]),
                ("eth_getBlockReceipts", [hex(number)]),
            ):
                assert result(plain(node), method, *params) == result(geth.url, method, *params)
        for criteria in ({"address": TRANSFERS}, {"topics": [TRANSFER]}, {}):
            span = {"fromBlock": "0x1", "toBlock": "latest", **criteria}
            logs = result(plain(node), "eth_getLogs", span)
            assert logs == result(geth.url, "eth_getLogs", span)
            assert logs


def test_a_development_chain_begins_on_a_block_of_the_fork(geth: Geth) -> None:
    with started("dev", "--fork", geth.url, "--listen", "127.0.0.1:0", "--quiet") as node:
        before = result(geth.url, "eth_getBlockByNumber", "latest", False)
        sent = {"from": f"0x{SENDER.hex()}", "to": NEW_ACCOUNT, "value": "0x5"}
        made = result(plain(node), "eth_sendTransaction", sent)
        receipt = result(plain(node), "eth_getTransactionReceipt", made)
        # A transfer that creates an account.
        assert (receipt["status"], int(receipt["gasUsed"], 16)) == ("0x1", 204_600)
        block = result(plain(node), "eth_getBlockByNumber", "latest", False)
        assert block["parentHash"] == before["hash"]
        assert int(block["slotNumber"], 16) == int(before["slotNumber"], 16) + 1
        touched = result(plain(node), "eth_getBlockAccessList", "latest")
        assert {SENDER.hex(), NEW_ACCOUNT[2:]} <= {account["address"][2:] for account in touched}


def test_geth_imports_the_blocks_of_a_development_chain(tmp_path: Path) -> None:
    command = ("--hardfork", "amsterdam", "--data", str(tmp_path / "ours"), "--listen", "127.0.0.1:0")
    with started("dev", *command, "--quiet") as node:
        for sent in ({"to": NEW_ACCOUNT, "value": "0x5"}, {"data": CREATION}):
            result(plain(node), "eth_sendTransaction", {"from": f"0x{SENDER.hex()}", **sent})
        last, name = head(plain(node))
        assert last == 2
        raw = [result(plain(node), "debug_getRawBlock", hex(number)) for number in range(1, last + 1)]
    (tmp_path / "chain.rlp").write_bytes(b"".join(bytes.fromhex(block[2:]) for block in raw))
    geth = shutil.which("geth")
    assert geth is not None
    shared = [geth, "--datadir", str(tmp_path / "geth"), "--state.scheme", "path", *SPARING]
    for task in (["init", str(tmp_path / "ours/eth/genesis.json")], ["import", str(tmp_path / "chain.rlp")]):
        ended = subprocess.run([*shared, *task], check=True, capture_output=True, timeout=300, text=True)
    assert f"number={last} hash={name[2:8]}" in ended.stderr
