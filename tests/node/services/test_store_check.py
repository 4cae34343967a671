"""A store whose file is not in its place any more, or that LMDB has given up, is not served as ready."""

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trio
from trio.testing import MockClock

from tests.node_process import PATIENCE, Node, post, run, started
from tests.store.failing_writes import FAULTS, ORDER, PAGES, build_library, needs_compiler, order_failure
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.run import build_ethereum
from wsnode.demo.starknet_chain import build_starknet
from wsnode.ethereum.chain import Chain
from wsnode.node.assembly import open_network
from wsnode.node.config import Config, NetworkConfig
from wsnode.node.services.store_check import CHECK_SECONDS, StoreCheck
from wsnode.server.access.router import Network
from wsnode.store.environment import StoreMovedError

pytestmark = pytest.mark.slow

MOVED = "data.mdb: the file that is open was deleted, moved or replaced; put it back, or restart"
SENDER = "0x" + ACCOUNTS[0].address.hex()
NOT_WRITTEN = {"code": -32603, "message": "the chain cannot be written at the moment"}


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    build_ethereum(tmp_path / "data")
    build_starknet(tmp_path / "data")
    told = NetworkConfig(str(tmp_path / "data"))
    with open_network("one", told, Config(networks={"one": told}, open=True)) as network:
        yield network


@pytest.mark.parametrize("store", ["eth/chain", "alt/chain"])
def test_a_network_is_not_ready_while_a_file_of_its_stores_is_elsewhere(
    network: Network, tmp_path: Path, store: str
) -> None:
    assert network.not_ready_reason() is None
    folder, aside = tmp_path / "data" / store, tmp_path / "aside"
    folder.rename(aside)
    assert network.not_ready_reason() == f"{folder}/{MOVED}"
    shutil.copytree(aside, folder)
    assert network.not_ready_reason() == f"{folder}/{MOVED}", "the copy is another file"
    shutil.rmtree(folder)
    aside.rename(folder)
    assert network.not_ready_reason() is None


async def test_what_became_of_the_files_is_logged_once(
    tmp_path: Path, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    build_ethereum(tmp_path)
    caplog.set_level(logging.WARNING, "wsnode.node")
    told: list[str] = []
    with Chain.open(tmp_path / "eth", writer=False) as chain:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(StoreCheck([chain], told.append, lambda: None).run)
            await trio.sleep(3 * CHECK_SECONDS)
            assert caplog.messages == []
            (tmp_path / "eth").rename(tmp_path / "aside")
            await trio.sleep(3 * CHECK_SECONDS)
            (tmp_path / "aside").rename(tmp_path / "eth")
            await trio.sleep(3 * CHECK_SECONDS)
            nursery.cancel_scope.cancel()
    assert caplog.messages == [f"{tmp_path}/eth/chain/{MOVED}", "the files of the store are back"]
    assert told == [], "other processes see the same folder"


def test_a_closed_network_has_no_fault_of_its_files(tmp_path: Path) -> None:
    build_ethereum(tmp_path)
    told = NetworkConfig(str(tmp_path))
    with open_network("one", told, Config(networks={"one": told}, open=True)) as network:
        pass
    assert network.not_ready_reason() is None


def test_nothing_is_written_to_files_that_are_elsewhere(tmp_path: Path) -> None:
    build_ethereum(tmp_path / "data")
    with Chain.open(tmp_path / "data/eth", writer=True) as chain:
        (tmp_path / "data").rename(tmp_path / "aside")
        with pytest.raises(StoreMovedError, match=r"chain/data\.mdb"):
            chain.mark_final(chain.head)
        (tmp_path / "aside").rename(tmp_path / "data")
        chain.mark_final(chain.head)


def sent(node: Node) -> dict[str, object]:
    transaction = {"from": SENDER, "to": SENDER, "value": "0x1"}
    request = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendTransaction", "params": [transaction]}
    reply: dict[str, object] = json.loads(post(node.http_url, json.dumps(request)))
    return reply


def readiness(node: Node) -> tuple[int, str]:
    with closing(HTTPConnection(urlsplit(node.http_url).netloc, timeout=PATIENCE)) as connection:
        connection.request("GET", "/readyz")
        reply = connection.getresponse()
        return reply.status, reply.read().decode()


@pytest.mark.parametrize("is_replaced", [False, True], ids=["deleted", "replaced"])
def test_a_development_chain_without_its_folder_takes_no_transactions(
    tmp_path: Path, is_replaced: bool
) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    with started("dev", "-q", "--data", str(data), "--listen", "127.0.0.1:0") as node:
        assert "result" in sent(node)
        assert readiness(node) == (200, "ready\n")
        shutil.copytree(data, other)
        shutil.rmtree(data)
        if is_replaced:
            other.rename(data)
        assert sent(node)["error"] == NOT_WRITTEN
        assert readiness(node) == (503, f"{data}/eth/chain/{MOVED}\n")


@contextmanager
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Node, Path]]:
    """A development chain, and the file that orders a write of it to fail; its log is `log`."""
    order, library = tmp_path / "order", build_library(tmp_path)
    with monkeypatch.context() as environment, (tmp_path / "log").open("w") as log:
        environment.setenv("LD_PRELOAD", str(library))
        environment.setenv(ORDER, str(order))
        data = str(tmp_path / "data")
        with started("dev", "-q", "--data", data, "--listen", "127.0.0.1:0", stderr=log) as node:
            yield node, order


@needs_compiler
def test_a_node_whose_store_has_failed_opens_it_again_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with failing(tmp_path, monkeypatch) as (node, order):
        assert "result" in sent(node)
        for fault, pages in product(FAULTS, PAGES):
            order_failure(order, "/chain/data.mdb", fault, pages)
            assert sent(node)["error"] == NOT_WRITTEN
            assert not order.exists(), f"no write has failed: {fault}, {pages}"
            assert "result" in sent(node)
            assert readiness(node) == (200, "ready\n")
    assert run("doctor", "--data", str(tmp_path / "data")).returncode == 0


@needs_compiler
def test_a_node_whose_store_cannot_be_opened_again_ends_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    lock = data / "eth/chain/lock.mdb"
    with failing(tmp_path, monkeypatch) as (node, order):
        assert "result" in sent(node)
        lock.unlink()
        lock.mkdir()
        order_failure(order, "/chain/data.mdb")
        assert sent(node)["error"] == NOT_WRITTEN
        assert node.process.wait(PATIENCE) == 1
    lock.rmdir()
    last = (tmp_path / "log").read_text().splitlines()[-1]
    assert last.startswith(f"error: {data}/eth/chain: a write of its first pages failed")
    with started("dev", "-q", "--data", str(data), "--listen", "127.0.0.1:0") as node:
        assert "result" in sent(node)
    assert run("doctor", "--data", str(data)).returncode == 0
