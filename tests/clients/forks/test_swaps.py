"""viem, ethers, Hardhat and cast swap on the exchange of a forked geth, and once more without it."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.hardhat.test_hardhat import workplace
from tests.clients.node_modules import require_modules, require_node
from tests.clients.nodes import ADDRESSES
from tests.geth_process import GETH, Addresses
from tests.node_process import PATIENCE, Node, started
from tests.peers.anvil import require
from tests.peers.geth_market import geth_with_market
from tests.scenarios.test_following import lying, plain, result
from wsnode.demo import exchange, token
from wsnode.demo.accounts import ACCOUNTS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(GETH is None, reason="no `geth` on the path")]

FOLDER = Path(__file__).parent
TRADER = ACCOUNTS[3]
EXCHANGE, TOKEN = f"0x{exchange.ADDRESS.hex()}", f"0x{token.ADDRESS.hex()}"

__all__ = ["workplace"]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def geth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    with geth_with_market(tmp_path_factory.mktemp("geth")) as geth:
        yield geth


@pytest.fixture(scope="module")
def number(geth: Addresses) -> int:
    """Return the block that is forked."""
    return int(result(geth.http, "eth_blockNumber"), 16)


@pytest.fixture
def fork(geth: Addresses, number: int) -> Iterator[Node]:
    with forking(geth.http, number) as node:
        yield node


def forking(upstream: str, number: int) -> Any:
    options = ("--fork", upstream, "--fork-block", str(number))
    return started("dev", "--quiet", "--listen", "127.0.0.1:0", *options)


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the scripts, and the modules beside them."""
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "node_modules").symlink_to(require_modules().resolve(), target_is_directory=True)
    for path in FOLDER.glob("*.mjs"):
        shutil.copy(path, folder)
    return folder


def run(folder: Path, *command: str, **environment: str) -> str:
    """Return what a command says, which must succeed."""
    ended = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout


@pytest.mark.parametrize(
    ("script", "address"),
    [
        ("viem.mjs", "bare http"),
        ("ethers.mjs", "bare websocket"),
        pytest.param("viem.mjs", "bare websocket", marks=pytest.mark.nightly),
        pytest.param("ethers.mjs", "bare http", marks=pytest.mark.nightly),
    ],
)
def test_a_swap_in_javascript(script: str, address: str, scripts: Path, fork: Node) -> None:
    run(scripts, require_node(), "--test-reporter=spec", script, ADDRESSES[address](fork))


def test_a_swap_with_hardhat(workplace: tuple[str, Path], geth: Addresses, number: int, fork: Node) -> None:
    node, folder = workplace
    for path in FOLDER.glob("*.mjs"):
        shutil.copy(path, folder)
    told = {"UPSTREAM": geth.http, "BLOCK": str(number), "HARDHAT_DISABLE_TELEMETRY_PROMPT": "true"}
    run(folder, node, "--test-reporter=spec", "hardhat.mjs", plain(fork), HOME=str(folder), **told)


def test_a_swap_with_cast(tmp_path: Path, fork: Node) -> None:
    cast, rpc = require("cast"), ("--rpc-url", plain(fork))
    trader, wallet = f"0x{TRADER.address.hex()}", ("--private-key", f"0x{TRADER.secret.hex()}")

    def tokens() -> int:
        told = run(tmp_path, cast, "call", TOKEN, "balanceOf(address)(uint256)", trader, *rpc)
        return int(told.split()[0])

    def send(*call: str) -> Any:
        receipt = json.loads(run(tmp_path, cast, "send", "--json", *wallet, *rpc, *call))
        assert receipt["status"] == "0x1"
        return receipt

    before = tokens()
    quoted = run(
        tmp_path,
        cast,
        "call",
        "--from",
        trader,
        "--value",
        "0.1ether",
        *rpc,
        EXCHANGE,
        "buy(uint256)(uint256)",
        "0",
    )
    receipt = send(EXCHANGE, "--value", "0.1ether", "buy(uint256)", "0")
    assert len(receipt["logs"]) == 3
    assert tokens() - before == int(quoted.split()[0]) > 0
    send(TOKEN, "approve(address,uint256)", EXCHANGE, str(2**255))
    send(EXCHANGE, "sell(uint256,uint256)", quoted.split()[0], "0")
    assert tokens() == before


def test_a_swap_without_the_node_that_was_forked(geth: Addresses, number: int, scripts: Path) -> None:
    """What the first swap has fetched is on the disk."""
    command = (require_node(), "--test-reporter=spec", "ethers.mjs")
    with lying(geth.websocket) as upstream, forking(upstream, number) as node:
        run(scripts, *command, plain(node))
    with forking(upstream, number) as node:
        run(scripts, *command, plain(node))
