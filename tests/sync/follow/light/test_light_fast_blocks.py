"""Blocks of each family several times a second: every one is published, in order and once."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import trio
from trio_websocket import WebSocketConnection

from tests.families.built_blocks import (
    CODE,
    CONTRACT,
    FOOTPRINT_SCALAR,
    L1_BASE_FEE,
    L1_BLOB_FEE,
    L1_BLOB_SCALAR,
    L1_SCALAR,
    MAKERS,
    SIGNER,
    TOPIC,
)
from tests.families.fast_node import FIRST, FastNode
from tests.memory_transport import Ask, asking
from tests.sync.follow.light.fast_world import BEGINNING, following
from tests.sync.follow.world import World
from tests.upstream.providers import Answer, SocketProvider
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.state import MissingStateError
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.node.services.proofs import proving
from wsnode.sync.follow.block_time import between

pytestmark = pytest.mark.slow

BLOCK_SECONDS: Final = 0.2
MINUTES: Final = 10
LOGS_BLOCKS: Final = 1_000
"""The last blocks, whose logs are compared after a long run."""


class HoldingProvider(SocketProvider):
    """Answers for a block only once its receipts were asked for as well."""

    def __init__(self, nursery: trio.Nursery, answer: Answer) -> None:
        super().__init__(nursery, answer)
        self.holds = False
        self._held: list[Any] = []

    async def _reply(self, connection: WebSocketConnection, call: Any) -> None:
        is_raw = isinstance(call, dict) and call["method"] == "debug_getRawBlock"
        if self.holds and is_raw:
            self._held.append(call)
            return
        if isinstance(call, dict) and call["method"] == "eth_getBlockReceipts":
            for held in self._held:
                await super()._reply(connection, held)
            self._held.clear()
        await super()._reply(connection, call)


def replayed(changes: Sequence[HeadChange], first: Head) -> list[Head]:
    """Return the chain that changes of the head lead to, each of which has to follow from the one before."""
    chain = [first]
    for change in changes:
        for removed in change.removed:
            assert chain.pop() == removed
        for added in change.added:
            assert added.number == chain[-1].number + 1
            chain.append(added)
    return chain


@pytest.mark.parametrize("name", MAKERS)
async def test_every_block_is_published_in_order_and_once(tmp_path: Path, name: str) -> None:
    async with following(tmp_path, name, has_liar=True) as (world, node):
        await world.until(lambda: world.hub.head == node.head)
        begun, world.changes[:] = node.head, []
        for burst in range(24):
            if burst % 6 == 5:
                node.reorganise(3)
                await node.tell(1)
            elif burst == 13:
                await node.provider.close()
                node.grow(5)
            else:
                node.grow(5)
                await node.tell(5)
            await world.until(lambda: world.hub.head == node.head)
        chain = replayed(world.changes, begun)
        assert chain == [made.head for made in node.blocks[begun.number - FIRST :]]
        assert sum(len(change.removed) for change in world.changes) == 4 * 3
        await world.until(lambda: world.state_of("liar")[0] == "quarantined")
        assert world.follower.status()["behind"] == {"blocks": 0, "seconds": 0.0}
        ask = asking(Dispatcher(build_registry(world.chain), world.chain.snapshot))
        require_logs(ask, node, begun.number)
        require_members(ask, name, node)
        await require_state(world)


def require_logs(ask: Ask, node: FastNode, first: int) -> None:
    """Compare the logs from a block on with those that the node made, each of which is in its block."""
    wanted = {"address": hexadecimal(CONTRACT), "topics": [hexadecimal(TOPIC)], "fromBlock": hex(first)}
    found = [(log["blockHash"], log["logIndex"], log["data"]) for log in ask("eth_getLogs", wanted)["result"]]
    made = [
        (hexadecimal(block.head.hash), hex(index), receipt["logs"][0]["data"])
        for block in node.blocks[first - FIRST :]
        for index, receipt in enumerate(msgspec.json.decode(block.block.receipts))
    ]
    assert found == made


TYPES: Final = {
    "arbitrum": ["0x6a", "0x64 0x65 0x66 0x68 0x69", "0x2"],
    "base": ["0x7e", "0x7e", "0x2"],
    "bsc": ["0x2", "0x0"],
    "gnosis": ["0x2", "0x0"],
    "linea": ["0x2"],
    "polygon": ["0x2", "0x7f"],
}
"""Types of a block's transactions."""


def require_members(ask: Ask, name: str, node: FastNode) -> None:
    """Compare the head with what its chain's own node would give."""
    block = ask("eth_getBlockByNumber", "latest", True)["result"]
    receipts = ask("eth_getBlockReceipts", "latest")["result"]
    for wanted, transaction, receipt in zip(TYPES[name], block["transactions"], receipts, strict=True):
        assert transaction["type"] in wanted.split()
        assert transaction["type"] == receipt["type"]
        assert transaction["from"] == receipt["from"]
    signer = hexadecimal(SIGNER)
    assert signer in {transaction["from"] for transaction in block["transactions"]}
    if name == "arbitrum":
        assert block["l1BlockNumber"] == receipts[0]["l1BlockNumber"]
        assert not {"gasUsedForL1", "timeboosted"} & receipts[1].keys()
    assert ("milliTimestamp" in block) == (name == "bsc")
    if name == "bsc":
        require_milliseconds(ask, block)
    if name == "base":
        assert [receipt.get("depositNonce") for receipt in receipts] == [*[block["number"]] * 2, None]
        assert receipts[2] | fees_of_least_data() == receipts[2]


def require_milliseconds(ask: Ask, block: dict[str, Any]) -> None:
    """Compare the time in milliseconds of a block of BNB Smart Chain with its timestamp and mix hash."""
    wanted = hex(int(block["timestamp"], 16) * 1000 + int(block["mixHash"], 16))
    assert block["milliTimestamp"] == wanted
    for form in ("eth_getHeaderByHash", "eth_getBlockByHash"):
        params = (block["hash"],) if form == "eth_getHeaderByHash" else (block["hash"], False)
        assert ask(form, *params)["result"]["milliTimestamp"] == wanted


def fees_of_least_data() -> dict[str, str]:
    """Return what a transaction pays on L1 that compresses to the least size (specs.optimism.io, Fjord)."""
    least = 100 * 10**6
    price = 16 * L1_SCALAR * L1_BASE_FEE + L1_BLOB_SCALAR * L1_BLOB_FEE
    return {
        "l1Fee": hex(least * price // 10**12),
        "l1GasUsed": hex(least * 16 // 10**6),
        "l1GasPrice": hex(L1_BASE_FEE),
        "l1BlobBaseFee": hex(L1_BLOB_FEE),
        "l1BaseFeeScalar": hex(L1_SCALAR),
        "l1BlobBaseFeeScalar": hex(L1_BLOB_SCALAR),
        "daFootprintGasScalar": hex(FOOTPRINT_SCALAR),
        "blobGasUsed": hex(100 * FOOTPRINT_SCALAR),
    }


async def require_state(world: World) -> None:
    """Have the contract be proved after the head: its balance and slot 0 are the block's number."""
    head = world.chain.head
    block, state = (head.number, head.hash), world.chain.state
    supply = proving(world.chain, world.follower.upstreams)
    for read in (lambda: state.account(CONTRACT, block), lambda: state.storage(CONTRACT, bytes(32), block)):
        try:
            read()
        except MissingStateError as error:
            await supply.fetch(error)
    account = state.account(CONTRACT, block)
    assert account is not None
    assert account[:2] == (1, head.number)
    assert int.from_bytes(state.storage(CONTRACT, bytes(32), block), "big") == head.number
    assert state.code(CONTRACT, block) == CODE


@pytest.mark.parametrize("name", MAKERS)
async def test_blocks_below_the_first_one_are_fetched(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with following(tmp_path, name, window=BEGINNING) as (world, node):
        await world.until(lambda: world.hub.head == node.head)
        await world.until(lambda: earliest(world) == FIRST)
        with world.chain.snapshot() as view:
            for made in node.blocks:
                assert view.hash_of(made.head.number) == made.head.hash
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def earliest(world: World) -> int:
    with world.chain.snapshot() as view:
        return view.earliest


@pytest.mark.nightly
async def test_ten_minutes_of_blocks_of_200_ms_have_no_gap_and_no_duplicate(tmp_path: Path) -> None:
    async with trio.open_nursery() as nursery:
        for name in MAKERS:
            nursery.start_soon(_stream, tmp_path / name, name)


async def _stream(folder: Path, name: str) -> None:
    """Follow blocks that come at their time, whether the follower is at the head or not."""
    chosen = random.Random(name)
    async with following(folder, name, has_liar=True) as (world, node):
        await world.until(lambda: world.hub.head == node.head)
        begun, world.changes[:] = node.head, []
        for _ in range(int(MINUTES * 60 / BLOCK_SECONDS)):
            await trio.sleep(BLOCK_SECONDS)
            happens = chosen.random()
            depth = chosen.randint(1, 3)
            if happens < 0.02 and world.hub.head.number - depth > begun.number:
                node.reorganise(depth)
            else:
                node.grow()
            if happens > 0.995:
                await node.provider.close()
            await node.tell(1)
        await world.until(lambda: world.hub.head == node.head)
        assert replayed(world.changes, begun) == [made.head for made in node.blocks[begun.number - FIRST :]]
        assert world.state_of("honest")[0] == "followed"
        ask = asking(Dispatcher(build_registry(world.chain), world.chain.snapshot))
        require_logs(ask, node, max(begun.number, node.head.number - LOGS_BLOCKS))
        require_members(ask, name, node)
        await require_state(world)


async def test_receipts_are_asked_for_together_with_their_block(tmp_path: Path) -> None:
    async with following(tmp_path, "base", HoldingProvider) as (world, node):
        await world.until(lambda: world.hub.head == node.head)
        assert isinstance(node.provider, HoldingProvider)
        node.provider.holds = True
        for _ in range(3):
            node.grow()
            asked = len(node.provider.calls)
            await node.tell(1)
            await world.until(lambda: world.hub.head == node.head)
            methods = [method for method, _params in node.provider.calls[asked:]]
            assert methods.count("eth_getBlockReceipts") == 1


@pytest.mark.parametrize(
    ("times", "seconds"),
    [((7, 7, 7, 7, 8, 8, 8, 8, 9), 0.25), ((1, 13, 25, 49), 12.0), ((5,), 1.0), ((5, 5, 5), 0.0)],
)
def test_the_time_between_blocks_that_share_their_second_is_their_mean(
    times: tuple[int, ...], seconds: float
) -> None:
    assert between(times) == seconds
