"""Calls that name blocks which other nodes of the chain have already, and this one does not."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.ethereum.live.growing import EMITTERS, GrowingChain
from tests.ethereum.live.sessions import Node, open_node
from tests.live.client import Client
from tests.node_process import PATIENCE
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.block_barrier import Announced, BlockBarrier, nothing_known
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.rpc.common.limits import DEFAULT_LIMITS, CallLimits
from wsnode.ethereum.rpc.middlewares.min_block_wait import CURSORS, MinBlockWait
from wsnode.ethereum.rpc.registry import build_registry

BLOCK = "0x2"
"""The block after the head of a chain that has grown once."""
SELF = f"0x{EMITTERS[0].hex()}"
OTHER = "0x" + 64 * "7"

BY_NUMBER: list[tuple[str, list[Any]]] = [
    ("eth_getBlockByNumber", [BLOCK, False]),
    ("eth_getHeaderByNumber", [BLOCK]),
    ("eth_getBlockReceipts", [BLOCK]),
    ("eth_getBlockTransactionCountByNumber", [BLOCK]),
    ("eth_getUncleCountByBlockNumber", [BLOCK]),
    ("eth_getLogs", [{"fromBlock": BLOCK, "toBlock": BLOCK}]),
    ("eth_getLogs", [{"fromBlock": "0x0", "toBlock": BLOCK}]),
    ("wsnode_getLogsPage", [{"fromBlock": "0x0", "toBlock": BLOCK}]),
    ("eth_call", [{"to": SELF}, BLOCK]),
    ("eth_call", [{"to": SELF}, {"blockNumber": BLOCK}]),
    ("eth_getBalance", [SELF, BLOCK]),
    ("eth_getStorageAt", [SELF, "0x0", BLOCK]),
    ("eth_getProof", [SELF, [], BLOCK]),
    ("eth_feeHistory", ["0x1", BLOCK, []]),
    ("debug_getRawBlock", [BLOCK]),
    ("debug_traceBlockByNumber", [BLOCK]),
    ("trace_block", [BLOCK]),
    ("ots_getBlockDetails", [2]),
]
BY_HASH: list[tuple[str, list[Any]]] = [
    ("eth_getBlockByHash", [None, False]),
    ("eth_getHeaderByHash", [None]),
    ("eth_getBlockReceipts", [None]),
    ("eth_getBlockTransactionCountByHash", [None]),
    ("eth_getLogs", [{"blockHash": None}]),
    ("eth_call", [{"to": SELF}, {"blockHash": None}]),
    ("debug_traceBlockByHash", [None]),
    ("ots_getBlockDetailsByHash", [None]),
]


def case_name(case: Any) -> str:
    return case if isinstance(case, str) else json.dumps(case)[:40]


def with_hash(params: Any, block_hash: str) -> Any:
    """Return parameters with a hash in the place that is left for it."""
    return json.loads(json.dumps(params).replace("null", json.dumps(block_hash)))


class Elsewhere:
    """The height of the blocks of other nodes."""

    def __init__(self, height: int | None = 2) -> None:
        self.height = height

    def __call__(self) -> int | None:
        return self.height


@asynccontextmanager
async def session(
    growing: GrowingChain, announced: Announced = nothing_known, *, calls: CallLimits = DEFAULT_LIMITS
) -> AsyncIterator[tuple[Node, Client]]:
    """Serve a chain, and connect a client."""
    async with open_node(growing, announced=announced, calls=calls) as node:
        yield node, await node.connect()


def arrivals_of(node: Node) -> BlockBarrier:
    barrier = node.registry.barrier
    assert isinstance(barrier, BlockBarrier)
    return barrier


def error_of_behind(head: Head) -> dict[str, Any]:
    message = "the node is behind: it has no such block yet"
    return {"code": -32001, "message": message, "data": {"behind": True, "head": head.members()}}


def is_unanswered(client: Client, identity: int) -> bool:
    return all(message.get("id") != identity for message in client.messages if isinstance(message, dict))


async def answer(client: Client, identity: int) -> dict[str, Any]:
    """Return a reply, which a thread may be making."""
    with trio.fail_after(PATIENCE):
        while is_unanswered(client, identity):  # noqa: ASYNC110
            await trio.sleep(0.001)
    return await client.reply(identity)


def grow(node: Node) -> Head:
    """Add a block, and have the node see it."""
    head = node.growing.grow()
    node.hub.advance()
    return head


def block_to_come(growing: GrowingChain) -> Head:
    """Add a block, and have the chain know nothing of another one that follows it."""
    growing.grow()
    block = growing.grow()
    growing.shrink(1)
    growing.chain.forget([block.hash])
    return block


def bring(node: Node, block: Head) -> None:
    """Add that block, and have the node see it."""
    node.growing.return_to([block])
    node.hub.advance()


@pytest.mark.parametrize(("method", "params"), BY_NUMBER, ids=case_name)
async def test_a_call_waits_for_a_block_that_others_have(
    growing: GrowingChain, method: str, params: list[Any]
) -> None:
    growing.grow()
    async with session(growing, Elsewhere()) as (node, client):
        identity = await client.ask(method, *params)
        await client.settle()
        assert is_unanswered(client, identity)
        assert not node.growing.chain.store.versions, "it holds no view while it waits"
        grow(node)
        reply = await answer(client, identity)
        assert reply.get("result") is not None, reply


@pytest.mark.parametrize(("method", "params"), BY_HASH, ids=case_name)
async def test_a_hash_that_is_not_known_may_be_that_of_a_block_to_come(
    growing: GrowingChain, method: str, params: list[Any]
) -> None:
    block = block_to_come(growing)
    async with session(growing, Elsewhere()) as (node, client):
        identity = await client.ask(method, *with_hash(params, f"0x{block.hash.hex()}"))
        await client.settle()
        assert is_unanswered(client, identity)
        bring(node, block)
        assert (await answer(client, identity)).get("result") is not None


@pytest.mark.slow
@pytest.mark.parametrize(("method", "params"), [*BY_NUMBER, *BY_HASH], ids=case_name)
@pytest.mark.parametrize("height", [None, 1], ids=["nothing known", "none there"])
async def test_a_block_that_nobody_has_is_answered_as_ever(
    growing: GrowingChain, height: int | None, method: str, params: list[Any]
) -> None:
    growing.grow()
    params = with_hash(params, OTHER)
    async with open_node(growing, announced=Elsewhere(height)) as node, open_node(growing) as plain:
        replies = []
        for each in (node, plain):
            client = await each.connect()
            replies.append(await answer(client, await client.ask(method, *params)))
        assert replies[0] == replies[1]
        assert "behind" not in json.dumps(replies)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getBlockByNumber", ["latest", False]),
        ("eth_getBlockByNumber", ["0x1", False]),
        ("eth_getBlockByNumber", ["0x3", False]),
        ("eth_getLogs", [{"fromBlock": "latest"}]),
        ("eth_getBalance", [SELF, "latest"]),
        ("eth_getTransactionByHash", [OTHER]),
        ("eth_getTransactionReceipt", [OTHER]),
        ("eth_newFilter", [{"fromBlock": BLOCK}]),
        ("eth_subscribe", ["logs", {"fromBlock": BLOCK}]),
        ("eth_getBlockByNumber", [17, False]),
    ],
    ids=case_name,
)
async def test_what_names_no_block_to_come_does_not_wait(
    growing: GrowingChain, method: str, params: list[Any]
) -> None:
    growing.grow()
    async with session(growing, Elsewhere()) as (_node, client):
        assert await client.call(method, *params)


@pytest.mark.slow
async def test_what_does_not_come_in_time_is_said_to_be_missing_here(
    growing: GrowingChain, autojump_clock: MockClock
) -> None:
    head = growing.grow()
    async with session(growing, Elsewhere()) as (node, client):
        began = trio.current_time()
        for method, params in (
            ("eth_getBlockByNumber", [BLOCK, False]),
            ("eth_getBlockByHash", [OTHER, False]),
            ("eth_getLogs", [{"fromBlock": BLOCK}]),
        ):
            reply = await answer(client, await client.ask(method, *params))
            assert reply["error"] == error_of_behind(head)
        assert trio.current_time() - began == pytest.approx(6, abs=0.5)
        assert (arrivals_of(node).waits, arrivals_of(node).missed, arrivals_of(node).waiting) == (3, 3, 0)


async def test_calls_of_a_batch_wait_before_the_view_that_they_share(growing: GrowingChain) -> None:
    growing.grow()
    async with session(growing, Elsewhere()) as (node, client):
        number: tuple[str, list[Any]] = ("eth_blockNumber", [])
        calls = (number, ("eth_getBlockByNumber", [BLOCK, False]), number)
        await client.call("eth_blockNumber")
        await client.peer.send(batch_of(*calls))
        await client.settle()
        assert not any(isinstance(message, list) for message in client.messages)
        assert not node.growing.chain.store.versions
        grow(node)
        await client.settle()
        (batch,) = (message for message in client.messages if isinstance(message, list))
        assert [batch[0]["result"], batch[1]["result"]["number"], batch[2]["result"]] == [BLOCK, BLOCK, BLOCK]


async def test_a_batch_whose_block_does_not_come_has_its_other_replies(
    growing: GrowingChain, autojump_clock: MockClock
) -> None:
    head = growing.grow()
    async with session(growing, Elsewhere()) as (_node, client):
        await client.peer.send(
            batch_of(("eth_blockNumber", []), ("eth_getBlockByNumber", [BLOCK, False]), ("nothing", []))
        )
        await trio.sleep(3)
        (batch,) = client.messages
        assert batch[0]["result"] == "0x1"
        assert batch[1]["error"] == error_of_behind(head)
        assert batch[2]["error"]["code"] == -32601


def batch_of(*calls: tuple[str, list[Any]]) -> str:
    return json.dumps(
        [
            {"jsonrpc": "2.0", "id": place, "method": method, "params": params}
            for place, (method, params) in enumerate(calls)
        ]
    )


def cursor_of(head: Head, *, is_other: bool = False) -> str:
    return str(Position.after(Head(head.number, Hash32(bytes(32)) if is_other else head.hash)))


@pytest.mark.parametrize("height", [None, 1, 2])
async def test_a_cursor_above_the_head_waits_for_its_block(growing: GrowingChain, height: int | None) -> None:
    block = block_to_come(growing)
    announced = nothing_known if height is None else Elsewhere(height)
    async with session(growing, announced) as (node, client):
        identity = await client.ask("eth_subscribe", "newHeads", {"cursor": cursor_of(block)})
        await client.settle()
        assert is_unanswered(client, identity)
        bring(node, block)
        reply = await client.reply(identity)
        third = grow(node)
        await client.settle()
        told = client.told[reply["result"]]
        assert [each["result"]["hash"] for each in told] == [f"0x{third.hash.hex()}"]
        places = [place for place, each in enumerate(client.messages) if each.get("method") or each == reply]
        assert client.messages[places[0]] == reply, "no notification precedes the reply"


async def test_a_subscription_that_waited_counts_and_ends_as_others(growing: GrowingChain) -> None:
    head = growing.grow()
    growing.shrink(1)
    async with session(growing) as (_node, client):
        # Its block is a dropped one, for which nothing has to wait.
        identity = await client.subscribe("newHeads", {"cursor": cursor_of(head)})
        await client.settle()
        assert (await client.call("eth_unsubscribe", identity))["result"] is True


@pytest.mark.slow
async def test_a_cursor_whose_block_does_not_come_is_not_said_to_be_unknown(
    growing: GrowingChain, autojump_clock: MockClock
) -> None:
    head = growing.grow()
    async with session(growing) as (_node, client):
        above = Head(BlockNumber(9), Hash32(bytes(32)))
        for params in (["newHeads", {"cursor": cursor_of(above)}], ["logs", {"cursor": cursor_of(above)}]):
            reply = await answer(client, await client.ask("eth_subscribe", *params))
            assert reply["error"] == error_of_behind(head)


@pytest.mark.parametrize("height", [None, 1])
async def test_a_cursor_of_another_branch_may_be_that_of_a_reorganisation_to_come(
    growing: GrowingChain, height: int | None, autojump_clock: MockClock
) -> None:
    head = growing.grow()
    announced = nothing_known if height is None else Elsewhere(height)
    async with session(growing, announced) as (_node, client):
        began = trio.current_time()
        params = ["newHeads", {"cursor": cursor_of(head, is_other=True)}]
        reply = await answer(client, await client.ask("eth_subscribe", *params))
        assert reply["error"]["message"] == "the cursor's block is unknown"
        waited = trio.current_time() - began
        assert waited == pytest.approx(0 if height is None else 2, abs=0.5)


async def test_no_more_calls_wait_than_are_allowed(growing: GrowingChain) -> None:
    growing.grow()
    async with session(growing, Elsewhere(), calls=CallLimits(behind_waiting=1)) as (node, client):
        first = await client.ask("eth_getBlockByNumber", BLOCK, False)
        refused = await client.call("eth_getBlockByNumber", BLOCK, False)
        assert refused["error"]["code"] == -32005
        assert refused["error"]["message"] == "too many calls wait for blocks"
        grow(node)
        assert (await answer(client, first))["result"]["number"] == BLOCK


async def test_a_wait_ends_with_its_connection(growing: GrowingChain) -> None:
    growing.grow()
    async with session(growing, Elsewhere()) as (node, client):
        await client.ask("eth_getBlockByNumber", BLOCK, False)
        await client.settle()
        assert arrivals_of(node).waiting == 1
        await client.leave()
        assert arrivals_of(node).waiting == 0


def test_methods_that_name_no_block_are_as_they_were(growing: GrowingChain) -> None:
    plain = build_registry(growing.chain, hub=Hub(growing.chain))
    informed = build_registry(growing.chain, hub=Hub(growing.chain), announced=Elsewhere())
    waiting = {name for name, method in informed.methods.items() if isinstance(method.kind, MinBlockWait)}
    assert waiting >= {method for method, _ in (*BY_NUMBER, *BY_HASH)}
    assert not waiting & {
        "eth_blockNumber",
        "eth_getTransactionByHash",
        "eth_sendRawTransaction",
        "eth_newFilter",
    }
    assert {
        name for name, method in plain.methods.items() if isinstance(method.kind, MinBlockWait)
    } == CURSORS
