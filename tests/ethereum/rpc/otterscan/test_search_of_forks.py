"""ots_searchTransactions… over the first block of a fork: together the pages have all transactions once."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.demo.test_exchange import Market
from tests.ethereum.development.forks import MemoryClient, forked_playground
from tests.ethereum.development.playground import CREATOR, ETHER, RECIPIENT, STRANGER, Playground
from tests.ethereum.rpc.middlewares.test_upstream_fallback import PRUNED, client, lying, market, replies
from wsnode.demo import exchange
from wsnode.jsonrpc.errors import METHOD_NOT_FOUND
from wsnode.upstream.errors import UpstreamRefusedError

__all__ = ["client", "market"]

BEFORE, AFTER = "ots_searchTransactionsBefore", "ots_searchTransactionsAfter"


@pytest.fixture(scope="module")
def fork(
    tmp_path_factory: pytest.TempPathFactory, market: Market, client: MemoryClient
) -> Iterator[Playground]:
    """Open a fork on a block below the other chain's head, with three blocks of its own."""
    for _ in range(2):
        market.chain.send(to=RECIPIENT)
    place = tmp_path_factory.mktemp("searched")
    with forked_playground(place, [client], market.chain.head - 1) as chain:
        for _ in range(3):
            chain.send(to=market.exchange, data=f"0x{exchange.buy().hex()}", value=hex(ETHER))
        yield chain


def expected(market: Market, fork: Playground, address: str) -> list[str]:
    """Return the hashes of an account's transactions, the newest first, as either chain finds its own."""
    first = fork.head - 3
    theirs = market.chain(BEFORE, address, first + 1, 25)["txs"]
    involved = {CREATOR, market.exchange, market.token}
    own = [fork.block(first + count)["transactions"][0] for count in (3, 2, 1)] if address in involved else []
    return [*own, *(transaction["hash"] for transaction in theirs)]


def walk(chain: Playground, method: str, address: str, size: int) -> Iterator[dict[str, Any]]:
    """Yield the pages of a search, from the end where it begins."""
    place, is_over = 0, False
    while not is_over:
        page = chain(method, address, place, size)
        yield page
        is_over = page["lastPage" if method == BEFORE else "firstPage"]
        if page["txs"]:
            place = int(page["txs"][-1 if method == BEFORE else 0]["blockNumber"], 16)
        assert page["txs"] or is_over


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 25])
@pytest.mark.parametrize("method", [BEFORE, AFTER])
def test_the_pages_together_have_every_transaction_once(
    method: str, size: int, market: Market, fork: Playground
) -> None:
    for address in (CREATOR, market.exchange, market.token, RECIPIENT, STRANGER):
        found = list(walk(fork, method, address, size))
        in_order = found if method == BEFORE else found[::-1]
        assert [tx["hash"] for page in in_order for tx in page["txs"]] == expected(market, fork, address)
        assert in_order[0]["firstPage"]
        assert in_order[-1]["lastPage"]
        assert sum(page["firstPage"] for page in found) == sum(page["lastPage"] for page in found) == 1
        for page in found:
            receipts = [receipt["transactionHash"] for receipt in page["receipts"]]
            assert receipts == [tx["hash"] for tx in page["txs"]]
            assert len(receipts) <= size


def test_a_search_above_the_fork_asks_nobody(market: Market, client: MemoryClient, fork: Playground) -> None:
    before = client.memory.asked[BEFORE], client.memory.asked[AFTER]
    assert len(fork(BEFORE, CREATOR, 0, 3)["txs"]) == 3
    assert len(fork(AFTER, CREATOR, fork.head - 1, 3)["txs"]) == 1
    assert (client.memory.asked[BEFORE], client.memory.asked[AFTER]) == before


@pytest.mark.parametrize("answer", ["unknown method", "wrong order", "other blocks", "no receipts", "null"])
@pytest.mark.parametrize("method", [BEFORE, AFTER])
def test_what_the_node_does_not_find_is_an_error(
    method: str, answer: str, client: MemoryClient, fork: Playground
) -> None:
    def lie(asked: str, _params: list[Any], result: Any) -> Any:
        if asked != method:
            return result
        if answer == "unknown method":
            raise UpstreamRefusedError(METHOD_NOT_FOUND, "the method does not exist")
        if answer == "wrong order":
            return result | {"txs": result["txs"][::-1]}
        if answer == "other blocks":
            number = "0xffff" if method == BEFORE else "0x0"
            return result | {"txs": [tx | {"blockNumber": number} for tx in result["txs"]]}
        return result | {"receipts": []} if answer == "no receipts" else None

    with lying(client, lie):
        reply = replies(fork, method, [CREATOR, 0, 25])
    assert reply["code"] == PRUNED
    assert "the forked chain's node" in reply["data"]["reason"]
