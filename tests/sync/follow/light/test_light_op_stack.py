"""A light folder that follows a chain of the OP stack: op-geth's own blocks, given by upstreams in memory."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.conformance.test_chains import differences
from tests.memory_transport import asking
from tests.sync.follow.world import HEADS, World
from tests.upstream.providers import Error, SocketProvider
from tests.vector_files import require_vectors
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rlp import encoded_items
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.sync.follow.sync_report import SyncStage

NUMBERS = (53, 54)


class CapturedNode:
    """An upstream with two captured blocks, of which the first is final; `lies` are members of receipts."""

    def __init__(self, nursery: trio.Nursery, folder: Path, lies: dict[str, str] | None = None) -> None:
        self.provider = SocketProvider(nursery, self._answer)
        self.blocks = {number: load(folder, number, "block.json") for number in NUMBERS}
        self.receipts = {number: load(folder, number, "receipts.json") for number in NUMBERS}
        for receipts in self.receipts.values():
            for receipt in receipts:
                receipt.update({name: lie for name, lie in (lies or {}).items() if name in receipt})

    def _answer(self, method: str, params: list[Any]) -> Any:
        if method == "eth_chainId":
            return "0x385"
        if method == "eth_subscribe":
            return HEADS if params[0] == "newHeads" else Error(-32601, f"no {params[0]}")
        if method in ("eth_getBlockByNumber", "eth_getBlockByHash", "eth_getBlockReceipts"):
            number = self._number(params[0])
            if number is None:
                return None
            found = self.receipts if method == "eth_getBlockReceipts" else self.blocks
            return found[number]
        return Error(-32601, f"the method {method} does not exist/is not available")

    def _number(self, wanted: str) -> int | None:
        named = {"finalized": 53, "safe": 53, "latest": 54}
        hashes = {block["hash"]: number for number, block in self.blocks.items()}
        numbers = named | hashes | {hex(number): number for number in self.blocks}
        return numbers.get(wanted)


def load(folder: Path, number: int, name: str) -> Any:
    return json.loads((folder / str(number) / name).read_bytes())


def genesis_of(folder: Path) -> bytes:
    """Return the chain's genesis file without accounts: its genesis block is not among the captured ones."""
    made = json.loads((folder / "genesis.json").read_bytes())
    return json.dumps({"config": made["config"]}).encode()


@asynccontextmanager
async def following(tmp_path: Path, **lies: dict[str, str]) -> AsyncIterator[World]:
    """Run a follower of a captured node for each name, with what it lies."""
    folder = require_vectors("chains/op-geth-dev")
    kind = FolderKind(2, is_light=True)
    async with trio.open_nursery() as nursery:
        nodes: Any = {name: CapturedNode(nursery, folder, lie) for name, lie in lies.items()}
        with Chain.open(tmp_path, genesis_of(folder), writer=True, durable=False, kind=kind) as chain:
            world = World(chain, nodes)
            async with trio.open_nursery() as running:
                running.start_soon(world.follower.run)
                running.start_soon(world.hub.fan_out.run)
                running.start_soon(world.hub.watch)
                yield world
                running.cancel_scope.cancel()
        nursery.cancel_scope.cancel()


async def test_blocks_are_followed_and_given_as_the_chains_own_node_gives_them(tmp_path: Path) -> None:
    async with following(tmp_path, a={}) as world:
        await world.until(lambda: world.chain.head.number == 54)
        await world.until_stage(SyncStage.LIVE)
        ask = asking(Dispatcher(build_registry(world.chain), world.chain.snapshot))
        folder = require_vectors("chains/op-geth-dev")
        for number in NUMBERS:
            block = load(folder, number, "block.json")
            found = ask("eth_getBlockByNumber", hex(number), True)["result"]
            assert not list(differences(found, block))
            receipts = ask("eth_getBlockReceipts", block["hash"])["result"]
            assert not list(differences(receipts, load(folder, number, "receipts.json")))
            for transaction in block["transactions"]:
                found = ask("eth_getTransactionByHash", transaction["hash"])["result"]
                assert not list(differences(found, transaction))
        logs = ask("eth_getLogs", {"fromBlock": "0x35", "toBlock": "0x36"})["result"]
        assert [log["blockNumber"] for log in logs].count("0x36") > 0
        raw = ask("debug_getRawReceipts", "0x36")["result"]
        *_, nonce, version = encoded_items(bytes.fromhex(raw[0][4:]))
        assert (nonce, version) == (b"\x35", b"\x01")
        history = ask("eth_feeHistory", "0x2", "latest", [0, 50])["result"]
        assert all(tip == "0x0" for tip, _median in history["reward"])
        assert history["baseFeePerGas"][:2] == [
            load(folder, number, "block.json")["baseFeePerGas"] for number in NUMBERS
        ]
        status = world.follower.status()
        assert status["chain"] == {"id": 901, "family": "op-stack"}


@pytest.mark.parametrize(
    "lie",
    [{"depositNonce": "0x999"}, {"cumulativeGasUsed": "0x1"}, {"logs": []}],
    ids=["nonce", "gas", "logs"],
)
async def test_an_upstream_that_lies_is_quarantined_and_nothing_of_it_is_served(
    tmp_path: Path, lie: dict[str, Any]
) -> None:
    async with following(tmp_path, liar=lie) as world:
        await world.until(lambda: world.state_of("liar")[0] == "quarantined")
        assert not world.chain.has_begun
        assert "receipts" in world.state_of("liar")[1]


@pytest.mark.parametrize("lie", [{"depositNonce": "0x999"}, {"logs": []}], ids=["nonce", "logs"])
async def test_an_honest_upstream_is_followed_beside_one_that_lies(
    tmp_path: Path, lie: dict[str, Any]
) -> None:
    async with following(tmp_path, liar=lie, honest={}) as world:
        await world.until(lambda: world.chain.head.number == 54)
        ask = asking(Dispatcher(build_registry(world.chain), world.chain.snapshot))
        folder = require_vectors("chains/op-geth-dev")
        for number in NUMBERS:
            receipts = ask("eth_getBlockReceipts", hex(number))["result"]
            assert not list(differences(receipts, load(folder, number, "receipts.json")))


async def test_a_fee_that_an_upstream_invents_is_not_served(tmp_path: Path) -> None:
    async with following(tmp_path, liar={"l1Fee": "0x1", "l1GasUsed": "0x2"}) as world:
        await world.until(lambda: world.chain.head.number == 54)
        ask = asking(Dispatcher(build_registry(world.chain), world.chain.snapshot))
        folder = require_vectors("chains/op-geth-dev")
        receipts = ask("eth_getBlockReceipts", "0x36")["result"]
        assert not list(differences(receipts, load(folder, 54, "receipts.json")))
