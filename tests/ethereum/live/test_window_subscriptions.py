"""Subscriptions of a light folder: before it has begun, and from blocks that its window does not have."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.filters.keeping import MemoryKeeper
from tests.ethereum.lighting import Light, light_folder
from tests.ethereum.live.growing import EMITTERS, TOPICS, GrowingChain, growing_chain
from tests.ethereum.live.sessions import open_node
from tests.ethereum.live.test_notices import closed_with
from tests.live.client import Client
from tests.memory_transport import asking
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.position import BEGINNING, Position
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.logs.filter_table import InMemoryFilters
from wsnode.ethereum.rpc.logs.filters import add_methods
from wsnode.ethereum.rpc.logs.shared_filters import SharedFilters, open_filters
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.registry import Registry
from wsnode.server.limits import Limits

LOG = (EMITTERS[0], TOPICS[:1])
FIRST = 10


@pytest.fixture
def source(tmp_path: Path) -> Iterator[GrowingChain]:
    with growing_chain(tmp_path / "full") as growing:
        for _ in range(20):
            growing.grow([LOG])
        yield growing


@pytest.fixture
def light(tmp_path: Path, source: GrowingChain) -> Iterator[Light]:
    with light_folder(tmp_path / "light", source) as light:
        yield light


def heads(client: Client, identity: str) -> list[int]:
    """Return the numbers of the headers that a subscription got, and nothing else."""
    return [int(params["result"]["number"], 16) for params in client.told[identity]]


def pruned_history(requested: int, earliest: int = FIRST) -> dict[str, Any]:
    data = {"requested": hex(requested), "earliest": hex(earliest)}
    return {"code": 4444, "message": "pruned history unavailable", "data": data}


@pytest.mark.parametrize("options", [{}, {"cursors": True}, {"reorgs": True}], ids=str)
async def test_who_subscribes_before_a_folder_begins_gets_its_first_block(
    light: Light, options: dict[str, Any]
) -> None:
    async with open_node(GrowingChain(light.chain)) as node:
        client = await node.connect()
        begun = await client.subscribe("newHeads", options)
        logs = await client.subscribe("logs", options)
        light.begin(FIRST)
        node.hub.advance()
        await client.settle()
        light.follow()
        node.hub.advance()
        await client.settle()
        numbers = list(range(FIRST, 21))
        assert heads(client, begun) == numbers
        assert [int(each["result"]["blockNumber"], 16) for each in client.told[logs]] == numbers


@pytest.mark.parametrize("kept", ["in memory", "in a file", "in a journal"])
def test_a_filter_made_before_a_folder_begins_tells_of_its_first_block(
    light: Light, tmp_path: Path, source: GrowingChain, kept: str
) -> None:
    limits, registry, hub = CallLimits(), Registry(), Hub(light.chain)
    store = open_filters(tmp_path / "filters")
    if kept == "in a journal":
        registry = build_registry(light.chain, limits=limits, hub=hub, filter_keeper=MemoryKeeper())
    else:
        table = SharedFilters(store, limits) if kept == "in a file" else InMemoryFilters(limits)
        add_methods(registry, hub.pending, limits, table)
    ask = asking(Dispatcher(registry, light.chain.snapshot))
    logs, blocks = ask("eth_newFilter", {})["result"], ask("eth_newBlockFilter")["result"]
    for identity in (logs, blocks):
        assert ask("eth_getFilterChanges", identity) == {"result": []}
    light.begin(FIRST)
    light.follow()
    hub.advance()
    numbers = list(range(FIRST, 21))
    assert ask("eth_getFilterChanges", blocks)["result"] == [
        hexadecimal(block.head.hash) for block in source.blocks[FIRST - 1 :]
    ]
    found = ask("eth_getFilterChanges", logs)["result"]
    assert [int(log["blockNumber"], 16) for log in found] == numbers
    for identity in (logs, blocks):
        assert ask("eth_getFilterChanges", identity) == {"result": []}
    store.close()


async def test_who_subscribed_from_the_genesis_block_on_before_that_gets_the_first_block(
    light: Light,
) -> None:
    async with open_node(GrowingChain(light.chain)) as node:
        client = await node.connect()
        begun = await client.subscribe("newHeads", {"fromBlock": "earliest", "cursors": True})
        genesis = heads(client, begun)
        light.begin(FIRST)
        light.follow()
        node.hub.advance()
        await client.settle()
        assert heads(client, begun) == [*genesis, *range(FIRST, 21)]


async def test_a_cursor_from_before_the_first_block_is_a_typed_error(
    light: Light, source: GrowingChain
) -> None:
    light.begin(FIRST)
    with source.chain.snapshot() as view:
        genesis = Head(BlockNumber(0), Hash32(view.spec.genesis_hash))
    stored = [Position.after(head) for head in (genesis, source.blocks[4].head)]
    async with open_node(GrowingChain(light.chain)) as node:
        client = await node.connect()
        for position in (BEGINNING, *stored):
            for kind in ("newHeads", "logs", "transactionReceipts", "newBlocks"):
                reply = await client.call("eth_subscribe", kind, {"cursor": str(position)})
                assert reply["error"] == pruned_history(max(position.number, 0))


async def test_who_reads_so_slowly_that_its_place_is_pruned_is_told_what_there_is(
    light: Light, source: GrowingChain
) -> None:
    light.begin(FIRST)
    async with open_node(GrowingChain(light.chain), limits=Limits(outbox_bytes=8192)) as node:
        slow, plain = await node.connect(pauses=True), await node.connect(pauses=True)
        begun = await slow.subscribe("newHeads", {"cursors": True})
        await plain.subscribe("newHeads")
        for client in (slow, plain):
            client.pause()
        for _ in range(40):
            source.grow([LOG])
            light.follow()
            node.hub.advance()
            await slow.settle()
        with light.chain.snapshot() as view:
            light.chain.prune(view.number - view.earliest - 1)
            earliest = view.number - 1
        for client in (slow, plain):
            client.go_on()
        await slow.settle()
        behind, pruned = [each["error"] for each in slow.told[begun] if "error" in each]
        assert behind["code"] == -32005
        place = Position.parse(behind["data"]["cursor"])
        assert Position.parse(pruned["data"].pop("cursor")).head == light.chain.head
        assert pruned == pruned_history(place.number, earliest)
        # Without notices there is no other way to tell it.
        assert closed_with(plain) == (1011, "the block sent last is not known any more")
