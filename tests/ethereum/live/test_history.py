"""Subscriptions to a forked chain that begin below the fork, beside those of the chain that was forked."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from tests.demo.test_exchange import SYNC, Market
from tests.ethereum.development.forks import MemoryClient
from tests.ethereum.development.playground import ETHER, Playground
from tests.ethereum.rpc.logs.refusals import OF_SIZE
from tests.ethereum.rpc.middlewares.test_upstream_fallback import BELOW, PRUNED, client, fork, lying, market
from tests.live.client import Client
from tests.live.node import LiveNode
from wsnode.demo import exchange
from wsnode.ethereum.live import history
from wsnode.ethereum.live.position import ALL, Position
from wsnode.ethereum.logs import upstream_logs
from wsnode.server.limits import Limits
from wsnode.server.server import Server
from wsnode.upstream.errors import ConnectionLostError, UpstreamError, UpstreamRefusedError

__all__ = ["client", "fork", "market"]

Params = dict[str, Any]


@pytest.fixture(scope="module")
def grown(market: Market, fork: Playground) -> Playground:
    """Return the fork with two blocks of its own."""
    for _ in range(2):
        fork.send(to=market.exchange, data=f"0x{exchange.buy().hex()}", value=hex(ETHER))
    return fork


@pytest.fixture(autouse=True)
def direct(client: MemoryClient) -> Iterator[None]:
    client.memory.is_direct = True
    yield
    client.memory.is_direct = False


@asynccontextmanager
async def connected(chain: Playground) -> AsyncIterator[Client]:
    async with trio.open_nursery() as nursery:
        yield await LiveNode(Server([chain.network], Limits()), nursery, Client).connect()
        nursery.cancel_scope.cancel()


async def told(chain: Playground, kind: str, options: Params) -> list[Params]:
    """Return the notifications of a subscription up to the head."""
    async with connected(chain) as connection:
        name = await connection.subscribe(kind, options)
        await connection.settle()
        return connection.told[name]


def results(notifications: list[Params]) -> list[Any]:
    return [params["result"] for params in notifications]


def number_of(result: Any) -> int:
    some = result[0] if isinstance(result, list) else result
    return int(some.get("blockNumber", some.get("number")), 16)


KINDS: dict[str, list[Params]] = {
    "logs": [{}, {"topics": [SYNC]}, {"toBlock": hex(BELOW)}, {"topics": ["0x" + "ab" * 32]}],
    "newHeads": [{}],
    "transactionReceipts": [{}],
}


@pytest.mark.slow
@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_told_below_is_what_the_other_chain_tells(
    kind: str, small: bool, market: Market, grown: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    if small:
        monkeypatch.setattr(upstream_logs, "RANGE_BLOCKS", 1)
        monkeypatch.setattr(upstream_logs, "RANGES", 1)
        monkeypatch.setattr(history, "PAGE_BYTES", 1)
        monkeypatch.setattr(history, "HEADERS", 1)
        monkeypatch.setattr(history, "BLOCKS", 1)
    fork_block = market.chain.head
    for options in KINDS[kind]:
        for first in ("earliest", "0x0", "0x2", hex(fork_block - 1)):
            if "toBlock" in options and first == hex(fork_block - 1):
                continue
            begin = options | {"fromBlock": first, "cursors": True}
            ours = results(await told(grown, kind, begin))
            theirs = results(await told(market.chain, kind, begin))
            assert [each for each in ours if number_of(each) <= fork_block] == theirs, begin
            if "toBlock" not in options:
                here = results(await told(grown, kind, begin | {"fromBlock": hex(fork_block)}))
                assert [each for each in ours if number_of(each) >= fork_block] == here, begin
                assert "topics" in options or number_of(here[-1]) == grown.head


@pytest.mark.parametrize("kind", KINDS)
async def test_each_cursor_below_leads_on(kind: str, market: Market, grown: Playground) -> None:
    whole = await told(grown, kind, {"fromBlock": "earliest", "cursors": True})
    theirs = await told(market.chain, kind, {"fromBlock": "earliest", "cursors": True})
    assert theirs
    for count, params in enumerate(theirs, 1):
        if number_of(params["result"]) < market.chain.head - 1:
            rest = await told(grown, kind, {"cursor": params["cursor"]})
            assert results(rest) == results(whole)[count:]
            assert [each["cursor"] for each in rest] == [each["cursor"] for each in whole[count:]]


async def test_named_receipts_are_those_of_both_sides(market: Market, grown: Playground) -> None:
    hashes = [
        transaction
        for chain, number in ((market.chain, BELOW), (market.chain, 1), (grown, grown.head))
        for transaction in chain.block(number)["transactions"]
    ]
    options = {"transactionHashes": [*hashes, "0x" + "77" * 32], "fromBlock": "0x0", "cursors": True}
    found = results(await told(grown, "transactionReceipts", options))
    assert [number_of(each) for each in found] == [1, BELOW, grown.head]
    assert found[1] == market.chain("eth_getBlockReceipts", hex(BELOW))


@pytest.mark.parametrize("contents", [{}, {"transactions": True}, {"receipts": True}])
async def test_whole_blocks_follow_a_cursor_below(
    contents: Params, market: Market, grown: Playground
) -> None:
    (first, *_rest) = await told(market.chain, "newHeads", {"fromBlock": "0x1", "cursors": True})
    options = contents | {"cursor": first["cursor"]}
    ours, theirs = [results(await told(chain, "newBlocks", options)) for chain in (grown, market.chain)]
    assert ours[: len(theirs)] == theirs
    assert [number_of(each) for each in ours] == [*range(2, grown.head + 1)]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cursor_of_another_chain_is_unknown(kind: str, grown: Playground) -> None:
    for position in (Position(2, bytes([7]) * 32, ALL), Position(2, bytes([7]) * 32, 0)):  # type: ignore[arg-type]
        async with connected(grown) as connection:
            reply = await connection.call("eth_subscribe", kind, {"cursor": str(position)})
            assert reply["error"]["code"] == -32001
            assert reply["error"]["data"]["blockNumber"] == "0x2"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_node_that_is_gone_refuses_the_subscription(
    kind: str, client: MemoryClient, grown: Playground
) -> None:
    client.memory.is_gone = True
    try:
        async with connected(grown) as connection:
            reply = await connection.call("eth_subscribe", kind, {"fromBlock": "0x1", "cursors": True})
            assert reply["error"]["code"] == PRUNED
            assert "unreachable" in reply["error"]["data"]["reason"]
    finally:
        client.memory.is_gone = False


ASKED = {
    "logs": "eth_getLogs",
    "newHeads": "eth_getBlockByNumber",
    "transactionReceipts": "eth_getBlockReceipts",
}


@pytest.mark.parametrize("answer", ["refused", "nothing", "wrong"])
@pytest.mark.parametrize("kind", KINDS)
async def test_what_the_node_does_not_give_is_a_notice_and_never_a_part(
    kind: str, answer: str, market: Market, client: MemoryClient, grown: Playground
) -> None:
    def lie(method: str, params: list[Any], result: Any) -> Any:
        # No other subscription of this form has left pages. The first block is asked for at the beginning.
        if method != ASKED[kind] or (kind == "newHeads" and params[0] == "0x2"):
            return result
        if answer == "refused":
            raise UpstreamRefusedError(PRUNED, "pruned history unavailable")
        if answer == "nothing":
            return None
        other = "0x" + "ab" * 32
        return (
            result[:-1]
            if kind == "transactionReceipts"
            else (
                [each | {"blockNumber": "0xff"} for each in result]
                if kind == "logs"
                else result | {"hash": other}
            )
        )

    with lying(client, lie):
        async with connected(grown) as connection:
            name = await connection.subscribe(kind, {"fromBlock": "0x2", "cursors": True, "reorgs": True})
            await connection.settle()
            notice = connection.told[name][-1]["error"]
            assert (notice["code"], notice["message"]) == (PRUNED, "pruned history unavailable")
            assert notice["data"]["cursor"]
            assert all(number_of(each["result"]) <= market.chain.head for each in connection.told[name][:-1])


@pytest.mark.parametrize("refusal", OF_SIZE)
async def test_a_node_that_refuses_long_ranges_costs_no_event(
    refusal: UpstreamError, client: MemoryClient, grown: Playground
) -> None:
    options = {"fromBlock": "earliest", "cursors": True}
    whole = results(await told(grown, "logs", options))

    def refuse(method: str, params: list[Any], result: Any) -> Any:
        if method == "eth_getLogs" and params[0]["fromBlock"] != params[0]["toBlock"]:
            raise refusal
        return result

    with lying(client, refuse):
        # No other subscription of this form has left pages.
        assert results(await told(grown, "logs", options | {"reorgs": True})) == whole


async def test_a_connection_that_is_lost_costs_no_event(client: MemoryClient, grown: Playground) -> None:
    options = {"fromBlock": "0x2", "cursors": True, "reorgs": True}
    whole = results(await told(grown, "newHeads", {"fromBlock": "0x2", "cursors": True}))
    lost = 0

    def lose(method: str, params: list[Any], result: Any) -> Any:
        nonlocal lost
        if params[0] == "0x3" and lost < history.ATTEMPTS - 1:
            lost += 1
            raise ConnectionLostError
        return result

    with lying(client, lose):
        assert results(await told(grown, "newHeads", options)) == whole
    assert lost == history.ATTEMPTS - 1
