"""wsnode_getLogsPage from below a fork: the pages together are the whole answer, or there is an error."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.demo.test_exchange import SYNC, Market
from tests.ethereum.development.forks import MemoryClient, forked_playground
from tests.ethereum.development.playground import ETHER, Playground
from tests.ethereum.rpc.logs.refusals import OF_SIZE
from tests.ethereum.rpc.logs.test_pages import text_size
from tests.ethereum.rpc.middlewares.test_upstream_fallback import (
    BELOW,
    PRUNED,
    client,
    lying,
    market,
    replies,
)
from tests.memory_transport import asking
from wsnode.demo import exchange
from wsnode.ethereum.head import Head
from wsnode.ethereum.logs import upstream_logs
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.logs import pages as log_pages
from wsnode.ethereum.rpc.logs.cursor import ForkCursor, digest_of
from wsnode.ethereum.rpc.logs.filter_object import decode_filter_object
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import INVALID_PARAMS, LIMIT_EXCEEDED, RESOURCE_NOT_FOUND
from wsnode.jsonrpc.registry import Registry
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError

__all__ = ["client", "market"]

METHOD = "wsnode_getLogsPage"
Filter = dict[str, Any]


@pytest.fixture(scope="module")
def fork(
    tmp_path_factory: pytest.TempPathFactory, market: Market, client: MemoryClient
) -> Iterator[Playground]:
    """Open a fork with two blocks of its own."""
    with forked_playground(tmp_path_factory.mktemp("grown"), [client]) as chain:
        for _ in range(2):
            chain.send(to=market.exchange, data=f"0x{exchange.buy().hex()}", value=hex(ETHER))
        yield chain


@pytest.fixture
def short_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each request ask about a block, and each page ask twice."""
    monkeypatch.setattr(upstream_logs, "RANGE_BLOCKS", 1)
    monkeypatch.setattr(upstream_logs, "RANGES", 2)


def pages(chain: Playground, wanted: Filter, limit: int | None = None) -> Iterator[dict[str, Any]]:
    cursor = None
    while True:
        page = chain(METHOD, wanted | {"cursor": cursor, "limit": limit})
        yield page
        cursor = page["cursor"]
        if cursor is None:
            return


def filters(market: Market) -> Iterator[Filter]:
    block = market.chain.block(BELOW)
    for bounds in (
        {"fromBlock": "earliest"},
        {"fromBlock": "0x1", "toBlock": "latest"},
        {"fromBlock": "0x0", "toBlock": hex(BELOW)},
        {"fromBlock": hex(BELOW), "toBlock": hex(BELOW)},
        {"fromBlock": hex(market.chain.head), "toBlock": "latest"},
        {"blockHash": block["hash"]},
    ):
        yield bounds
        yield bounds | {"topics": [SYNC]}
        yield bounds | {"address": market.token, "topics": [None]}
        yield bounds | {"topics": ["0x" + "77" * 32]}


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 1, 2])
def test_the_pages_together_are_the_whole_answer(
    limit: int | None, market: Market, fork: Playground, short_ranges: None
) -> None:
    for wanted in filters(market):
        found = list(pages(fork, wanted, limit))
        assert [log for page in found for log in page["logs"]] == fork("eth_getLogs", wanted), wanted
        assert all(limit is None or len(page["logs"]) <= limit for page in found)
        (block,) = {(page["block"]["number"], page["block"]["hash"]) for page in found}
        assert block[1] == wanted.get("blockHash", fork.block(int(block[0], 16))["hash"])


def test_a_page_has_no_more_bytes_than_it_may_on_both_sides(market: Market, fork: Playground) -> None:
    wanted = {"fromBlock": "0x0"}
    whole = fork("eth_getLogs", wanted)
    here = next(place for place, log in enumerate(whole) if int(log["blockNumber"], 16) >= market.chain.head)
    sizes = [text_size(log) + 1 for log in whole]
    for room in (1, sum(sizes[:here]), sum(sizes[:here]) + 1, sum(sizes[: here + 1]), sum(sizes)):
        registry = Registry()
        log_pages.add_methods(registry, CallLimits(logs_page_bytes=room))
        ask, members, found = asking(Dispatcher(registry, fork.network.open_view)), dict(wanted), []
        while members.get("cursor", "") is not None:
            page = ask(METHOD, members)["result"]
            found.append(page["logs"])
            members["cursor"] = page["cursor"]
        assert [log for page in found for log in page] == whole
        assert all(len(page) == 1 or text_size(page) <= room + 1 for page in found)


def test_a_page_asks_a_bounded_number_of_ranges(
    market: Market, client: MemoryClient, fork: Playground, short_ranges: None
) -> None:
    before = client.memory.asked["eth_getLogs"]
    first = fork(METHOD, {"fromBlock": "0x0", "topics": ["0x" + "77" * 32]})
    assert client.memory.asked["eth_getLogs"] - before == upstream_logs.RANGES
    assert first["logs"] == []
    assert first["cursor"] is not None


@pytest.mark.parametrize("refusal", OF_SIZE)
def test_a_node_that_refuses_a_long_range_is_asked_for_shorter_ones(
    refusal: UpstreamError, market: Market, client: MemoryClient, fork: Playground
) -> None:
    asked = []

    def refuse(method: str, params: list[Any], result: Any) -> Any:
        if method == "eth_getLogs":
            first, last = (int(params[0][name], 16) for name in ("fromBlock", "toBlock"))
            asked.append(last - first + 1)
            if last > first:
                raise refusal
        return result

    whole = fork("eth_getLogs", {"fromBlock": "0x0"})
    with lying(client, refuse):
        found = list(pages(fork, {"fromBlock": "0x0"}))
    assert [log for page in found for log in page["logs"]] == whole
    assert asked == [market.chain.head, 2, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "error",
    [
        UpstreamRefusedError(PRUNED, "pruned history unavailable"),
        UpstreamRefusedError(-32000, "missing trie node"),
        UpstreamRefusedError(LIMIT_EXCEEDED, "too many requests"),
        UpstreamError("unreachable"),
        None,
    ],
    ids=str,
)
def test_what_the_node_does_not_give_is_an_error_and_never_a_part(
    error: UpstreamError | None, client: MemoryClient, fork: Playground
) -> None:
    def lie(method: str, _params: list[Any], result: Any) -> Any:
        if method != "eth_getLogs":
            return result
        if error is not None:
            raise error
        # Logs in another order would be passed over by a cursor.
        return result[::-1]

    with lying(client, lie):
        reply = replies(fork, METHOD, [{"fromBlock": "0x0"}])
    assert reply["code"] == PRUNED
    assert "the forked chain's node" in reply["data"]["reason"]


def test_cursors_of_other_chains_and_filters_are_refused(market: Market, fork: Playground) -> None:
    wanted = {"fromBlock": "0x0"}
    digest = digest_of(decode_filter_object(wanted))
    own = Head(BlockNumber(BELOW), Hash32(bytes.fromhex(market.chain.block(BELOW)["hash"][2:])))
    other, beyond = Head(own.number, Hash32(bytes(32))), Head(BlockNumber(99), own.hash)
    for cursor, code in (
        (ForkCursor(own, (1, 0), digest), None),
        (ForkCursor(own, (1, 0), bytes(8)), INVALID_PARAMS),
        (ForkCursor(own, (BELOW + 1, 0), digest), INVALID_PARAMS),
        (ForkCursor(other, (1, 0), digest), RESOURCE_NOT_FOUND),
        (ForkCursor(beyond, (1, 0), digest), RESOURCE_NOT_FOUND),
    ):
        reply = replies(fork, METHOD, [wanted | {"cursor": str(cursor)}])
        assert reply.get("code") == code, (cursor, reply)
    # A chain that is no fork has no such cursors.
    reply = replies(market.chain, METHOD, [wanted | {"cursor": str(ForkCursor(own, (1, 0), digest))}])
    assert reply["code"] == RESOURCE_NOT_FOUND


def test_a_hash_that_nobody_knows_is_unknown(fork: Playground, market: Market) -> None:
    unknown = {"blockHash": "0x" + "ab" * 32}
    assert replies(fork, METHOD, [unknown]) == replies(market.chain, METHOD, [unknown])
