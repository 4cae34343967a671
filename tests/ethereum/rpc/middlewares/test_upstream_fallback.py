"""What lies below a fork: every method that names a block or a transaction, by every form of its name."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import pytest

from tests.demo.test_exchange import SYNC, Market
from tests.ethereum.development.forks import MemoryClient, forked_playground
from tests.ethereum.development.playground import (
    CREATOR,
    ETHER,
    STRANGER,
    Playground,
    RefusedError,
    playground,
)
from tests.memory_transport import Client, Conversation, run, whole
from wsnode.demo import exchange
from wsnode.demo.genesis import CREATE2_DEPLOYER
from wsnode.ethereum.rpc.historical import LISTING, STATES
from wsnode.ethereum.rpc.middlewares.min_block_wait import names_blocks
from wsnode.ethereum.rpc.middlewares.upstream_fallback import OF_TRANSACTIONS, is_traced
from wsnode.jsonrpc.errors import INVALID_REQUEST, RESOURCE_NOT_FOUND
from wsnode.jsonrpc.work import CallTask
from wsnode.server.access.api_keys import ApiKey, KeyLimits
from wsnode.upstream.errors import UpstreamRefusedError

pytestmark = pytest.mark.slow

PRUNED = 4444
UNKNOWN = "0x" + "ab" * 32
BELOW = 3
"""A block with a transaction that has logs, two below the fork at least."""

BY_NUMBER: dict[str, list[Any]] = {
    "eth_getBlockByNumber": [True],
    "eth_getHeaderByNumber": [],
    "eth_getBlockTransactionCountByNumber": [],
    "eth_getUncleCountByBlockNumber": [],
    "eth_getUncleByBlockNumberAndIndex": ["0x0"],
    "eth_getTransactionByBlockNumberAndIndex": ["0x0"],
    "eth_getRawTransactionByBlockNumberAndIndex": ["0x0"],
    "debug_traceBlockByNumber": [],
    "ots_getBlockDetails": [],
    "ots_getBlockTransactions": [0, 10],
    "erigon_getHeaderByNumber": [],
}
"""Methods that take a number or a tag first, with the parameters after it."""
BY_HASH: dict[str, list[Any]] = {
    "eth_getBlockByHash": [True],
    "eth_getHeaderByHash": [],
    "eth_getBlockTransactionCountByHash": [],
    "eth_getUncleCountByBlockHash": [],
    "eth_getUncleByBlockHashAndIndex": ["0x0"],
    "eth_getTransactionByBlockHashAndIndex": ["0x0"],
    "eth_getRawTransactionByBlockHashAndIndex": ["0x0"],
    "debug_traceBlockByHash": [],
    "ots_getBlockDetailsByHash": [],
}
BY_EITHER: dict[str, list[Any]] = {
    "eth_getBlockReceipts": [],
    "eth_getBlockAccessList": [],
    "debug_getRawBlockAccessList": [],
    "debug_getRawBlock": [],
    "debug_getRawHeader": [],
    "debug_getRawReceipts": [],
    "trace_block": [],
    "trace_replayBlockTransactions": [["trace"]],
}
BEFORE_AMSTERDAM = {"eth_getBlockAccessList", "debug_getRawBlockAccessList"}
"""Methods that refuse blocks before that fork."""
TRANSACTION: dict[str, list[Any]] = {
    **{name: [] for name in OF_TRANSACTIONS},
    "trace_get": [["0x0"]],
    "trace_replayTransaction": [["trace"]],
}
NOTHING: tuple[Any, ...] = (None, "0x", [])
"""Results for a block or a transaction that has nothing of a kind."""


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    with playground(tmp_path_factory.mktemp("theirs")) as chain:
        market = Market(chain)
        market.send(market.exchange, exchange.buy(), ETHER)
        yield market


@pytest.fixture(scope="module")
def client(market: Market) -> MemoryClient:
    return MemoryClient(market.chain)


@pytest.fixture(scope="module")
def fork(
    tmp_path_factory: pytest.TempPathFactory, market: Market, client: MemoryClient
) -> Iterator[Playground]:
    with forked_playground(tmp_path_factory.mktemp("ours"), [client]) as chain:
        yield chain


def forms(market: Market, number: int) -> Iterator[str | dict[str, str]]:
    """Yield all block parameters that name a block."""
    block_hash = market.chain.block(number)["hash"]
    yield hex(number)
    yield {"blockNumber": hex(number)}
    yield block_hash
    yield {"blockHash": block_hash}
    if number == 0:
        yield "earliest"


def history(market: Market) -> Iterator[tuple[str, list[Any]]]:
    """Yield calls of every method about blocks and transactions below the fork."""
    block = market.chain.block(BELOW)
    for method, rest in BY_NUMBER.items():
        for number in (hex(BELOW), "0x0", "earliest"):
            if method != "erigon_getHeaderByNumber" or number != "earliest":
                yield method, [number, *rest]
    for method, rest in BY_HASH.items():
        for place in (BELOW, 0):
            yield method, [market.chain.block(place)["hash"], *rest]
    for method, rest in BY_EITHER.items():
        for place in (BELOW, 0):
            for form in forms(market, place):
                yield method, [form, *rest]
    for method, rest in TRANSACTION.items():
        yield method, [block["transactions"][0], *rest]
    for bounds in (
        {"blockHash": block["hash"]},
        {"fromBlock": "earliest"},
        {"fromBlock": "earliest", "toBlock": hex(BELOW)},
        {"fromBlock": "0x0", "toBlock": "earliest"},
        {"fromBlock": "0x1", "toBlock": "latest"},
    ):
        yield "eth_getLogs", [bounds]
        yield "wsnode_getLogsPage", [bounds]
    for address in (CREATOR, STRANGER, market.token):
        for place in (0, 1, BELOW):
            yield "ots_searchTransactionsBefore", [address, place, 2]
            yield "ots_searchTransactionsAfter", [address, place, 2]
    for bounds in ({}, {"fromBlock": "earliest", "toBlock": hex(BELOW)}, {"fromBlock": "0x1"}):
        yield "trace_filter", [bounds]
    for count in ("0x3", "0x400"):
        for newest in (hex(BELOW), "latest", "earliest"):
            yield "eth_feeHistory", [count, newest, [25, 75]]


OF_THE_FUTURE = {"eth_newFilter", "eth_subscribe"}
"""Methods that name blocks where something begins: tests/ethereum/live/test_history.py has the second."""


def test_the_walk_knows_every_method_that_names_a_block(market: Market, fork: Playground) -> None:
    naming = {
        name
        for name, method in fork.registry.methods.items()
        if method.parameters.struct is not None and names_blocks(method.parameters.struct)
    }
    walked = BY_NUMBER.keys() | BY_HASH.keys() | BY_EITHER.keys() | RANGED
    assert naming == walked | {*STATES} | OF_THE_FUTURE
    assert {method for method, _params in state_calls(market, "0x0")} | LISTING | BY_NUMBER_ALONE == {*STATES}
    assert TRANSACTION.keys() | SEARCHES <= fork.registry.methods.keys()


BY_NUMBER_ALONE = {"ots_hasCode"}
"""Methods that read a state, and take no hash of its block."""


def state_calls(market: Market, form: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield calls that read the state after a block."""
    supply = {"from": CREATOR, "to": market.token, "data": "0x18160ddd"}
    for address in (CREATOR, STRANGER, market.token):
        for method in ("eth_getBalance", "eth_getTransactionCount", "eth_getCode"):
            yield method, [address, form]
        for method in ("eth_getAccount", "eth_getAccountInfo"):
            yield method, [address, form]
        yield "eth_getProof", [address, ["0x0"], form]
        yield "eth_getStorageAt", [address, "0x0", form]
        yield "eth_getStorageValues", [{address: [f"0x{slot:064x}" for slot in range(3)]}, form]
    for method in ("eth_call", "eth_estimateGas", "eth_createAccessList", "debug_traceCall"):
        yield method, [supply, form]
    yield "eth_simulateV1", [{"blockStateCalls": [{"calls": [supply]}]}, form]
    yield "trace_call", [supply, ["trace", "stateDiff"], form]
    yield "trace_callMany", [[[supply, ["trace"]]], form]
    raw = market.chain("eth_getRawTransactionByHash", market.chain.block(BELOW)["transactions"][0])
    yield "trace_rawTransaction", [raw, ["trace"], form]


def listing_calls(form: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield calls for which the values of a state must be listed."""
    yield "debug_executionWitness", [form]
    if isinstance(form, str) and len(form) == len(UNKNOWN):
        yield "debug_getModifiedAccountsByHash", [form]
        yield "debug_storageRangeAt", [form, 0, STRANGER, "0x", 10]
    elif isinstance(form, str):
        yield "debug_getModifiedAccountsByNumber", [int(form, 16)]


def replies(chain: Playground, method: str, params: list[Any]) -> Any:
    reply = chain.raw(method, params)
    return reply.get("result", reply.get("error"))


def test_every_method_below_the_fork_answers_as_the_other_chain(market: Market, fork: Playground) -> None:
    wrong = []
    for method, params in history(market):
        ours, theirs = (replies(chain, method, params) for chain in (fork, market.chain))
        if method in BEFORE_AMSTERDAM:
            # Its refusal may as well mean that it has pruned the list.
            assert (ours["code"], theirs["code"]) == (PRUNED, RESOURCE_NOT_FOUND)
        elif ours != theirs:
            wrong.append((method, params, str(ours)[:150], str(theirs)[:150]))
    assert not wrong, "\n".join(map(str, wrong))


def test_transactions_of_the_fork_block_are_read_and_traced(market: Market, fork: Playground) -> None:
    block = market.chain.block()
    assert block == fork.block(int(block["number"], 16))
    for method, rest in TRANSACTION.items():
        params = [block["transactions"][0], *rest]
        assert replies(fork, method, params) == replies(market.chain, method, params), method
    for method in ("debug_traceBlockByNumber", "debug_traceBlockByHash", "trace_block"):
        name = block["hash"] if method.endswith("Hash") else block["number"]
        assert replies(fork, method, [name]) == replies(market.chain, method, [name]), method


def test_a_hash_that_nobody_knows_is_answered_as_without_a_fork(market: Market, fork: Playground) -> None:
    for methods in (BY_HASH, BY_EITHER, TRANSACTION):
        for method, rest in methods.items():
            ours, theirs = (replies(chain, method, [UNKNOWN, *rest]) for chain in (fork, market.chain))
            assert ours == theirs, method
    ours, theirs = (replies(chain, "eth_getLogs", [{"blockHash": UNKNOWN}]) for chain in (fork, market.chain))
    assert ours == theirs


def test_an_index_that_a_block_does_not_have_is_answered_as_without_a_fork(
    market: Market, fork: Playground
) -> None:
    block_hash = market.chain.block(BELOW)["hash"]
    for names, block in ((BY_NUMBER, hex(BELOW)), (BY_HASH, block_hash)):
        for method in (name for name in names if name.endswith("AndIndex")):
            ours, theirs = (replies(chain, method, [block, "0x77"]) for chain in (fork, market.chain))
            assert ours == theirs, method


@contextmanager
def lying(client: MemoryClient, lie: Any) -> Iterator[None]:
    honest, client.memory.lie = client.memory.lie, lie
    try:
        yield
    finally:
        client.memory.lie = honest


def test_a_node_that_is_gone_is_an_error_for_each(
    market: Market, client: MemoryClient, fork: Playground
) -> None:
    calls = list(history(market))
    client.memory.is_gone = True
    try:
        for method, params in calls:
            # A block that has been executed is traced again without the node.
            if not is_untraceable(method, params, market) and not is_traced(method):
                assert replies(fork, method, params)["code"] == PRUNED, (method, params)
    finally:
        client.memory.is_gone = False


@pytest.mark.parametrize("nothing", [None, "0x", [], "refused"])
def test_what_the_other_node_has_pruned_is_an_error(
    nothing: Any, market: Market, client: MemoryClient, fork: Playground
) -> None:
    """Answer with nothing, or refuse, although the block is there."""
    for method, params in history(market):
        expected = replies(market.chain, method, params)
        if is_traced(method) or method in RANGED or expected in NOTHING:
            continue

        def lie(asked: str, _params: list[Any], result: Any, *, method: str = method) -> Any:
            if asked != method:
                return result
            if nothing == "refused":
                raise UpstreamRefusedError(-32000, "missing trie node")
            return nothing

        with lying(client, lie):
            found = replies(fork, method, params)
        if nothing is None and method in KNOWN_BY_THEMSELVES:
            # The other node does not know the hash.
            assert found is None
        else:
            assert isinstance(found, dict), (method, params, found)
            assert found.get("code") == PRUNED, (method, params, found)


RANGED = {"eth_getLogs", "wsnode_getLogsPage", "trace_filter", "eth_feeHistory"}
SEARCHES = {"ots_searchTransactionsBefore", "ots_searchTransactionsAfter"}
KNOWN_BY_THEMSELVES = {"eth_getTransactionByHash", "eth_getBlockByHash"}


def is_untraceable(method: str, params: list[Any], market: Market) -> bool:
    return method.startswith("debug_trace") and params[0] in (
        "0x0",
        "earliest",
        market.chain.block(0)["hash"],
    )


def test_the_state_below_is_read_by_every_name(market: Market, fork: Playground) -> None:
    wrong = []
    for number in (0, BELOW - 1, BELOW):
        for form in forms(market, number):
            calls = list(state_calls(market, form))
            calls += [("ots_hasCode", [market.token, form])] if form == hex(number) else []
            for method, params in calls:
                ours, theirs = (replies(chain, method, params) for chain in (fork, market.chain))
                if ours != theirs:
                    wrong.append((method, params, str(ours)[:150], str(theirs)[:150]))
    assert not wrong, "\n".join(map(str, wrong))
    for method, params in state_calls(market, UNKNOWN):
        ours, theirs = (replies(chain, method, params) for chain in (fork, market.chain))
        assert ours == theirs, method


def test_what_no_proof_lists_is_an_error_with_its_reason(market: Market, fork: Playground) -> None:
    for form in forms(market, BELOW):
        for method, params in listing_calls(form):
            reply = replies(fork, method, params)
            assert "do not list" in reply.get("data", {}).get("reason", ""), (method, params, reply)
            assert reply["code"] == PRUNED


@pytest.mark.parametrize("bounds", ["all", "below", "hash"])
def test_a_filters_logs_are_those_of_both_parts(bounds: str, market: Market, fork: Playground) -> None:
    wanted = {
        "all": {"fromBlock": "earliest", "toBlock": "latest", "address": market.token},
        "below": {"fromBlock": "0x0", "toBlock": hex(BELOW), "topics": [None]},
        "hash": {"blockHash": market.chain.block(BELOW)["hash"], "topics": [[SYNC, UNKNOWN]]},
    }[bounds]
    logs = fork("eth_getFilterLogs", fork("eth_newFilter", wanted))
    assert logs == fork("eth_getLogs", wanted) == market.chain("eth_getLogs", wanted)


def test_logs_of_a_range_are_whole_or_an_error(
    market: Market, client: MemoryClient, fork: Playground
) -> None:
    def refuse(method: str, _params: list[Any], result: Any) -> Any:
        if method == "eth_getLogs":
            raise UpstreamRefusedError(PRUNED, "pruned history unavailable")
        return result

    with lying(client, refuse), pytest.raises(RefusedError) as refused:
        fork("eth_getLogs", {"fromBlock": "earliest"})
    assert refused.value.code == PRUNED


def test_transactions_below_are_found_by_sender_and_nonce(market: Market, fork: Playground) -> None:
    here = market.chain.nonce(CREATOR)
    assert here > BELOW
    for nonce in range(here + 2):
        for method in ("eth_getTransactionBySenderAndNonce", "ots_getTransactionBySenderAndNonce"):
            ours, theirs = (replies(chain, method, [CREATOR, hex(nonce)]) for chain in (fork, market.chain))
            assert ours == theirs, (method, nonce)


def test_the_creators_of_contracts_below_are_found(market: Market, fork: Playground) -> None:
    for contract in (market.token, market.exchange, STRANGER, CREATE2_DEPLOYER):
        ours, theirs = (
            replies(chain, "ots_getContractCreator", [contract]) for chain in (fork, market.chain)
        )
        assert ours == theirs, contract


def test_the_search_for_an_account_needs_states_that_its_node_keeps(
    market: Market, client: MemoryClient, fork: Playground
) -> None:
    def prune(method: str, _params: list[Any], result: Any) -> Any:
        if method in ("eth_getTransactionCount", "eth_getCode"):
            raise UpstreamRefusedError(-32000, "missing trie node")
        return result

    with lying(client, prune):
        for method, params in (
            ("eth_getTransactionBySenderAndNonce", [CREATOR, "0x0"]),
            ("ots_getContractCreator", [market.token]),
        ):
            assert replies(fork, method, params)["code"] == PRUNED


def test_a_key_for_some_contracts_reads_no_others_below(market: Market, fork: Playground) -> None:
    grant = ApiKey("bot", KeyLimits(contracts=(market.token,)), monotonic)

    def answered(method: str, *params: Any) -> dict[str, Any]:
        session = Conversation(fork.dispatcher, Client(), grant)
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = session.receive(json.dumps(request).encode())
        text = run(answer) if isinstance(answer, CallTask) else whole(answer)
        session.end_turn()
        told: dict[str, Any] = json.loads(text or b"")
        return told

    assert answered("eth_getCode", market.token, hex(BELOW))["result"] == market.chain(
        "eth_getCode", market.token, hex(BELOW)
    )
    for method, params in (
        ("eth_getCode", [market.exchange, hex(BELOW)]),
        ("eth_call", [{"to": market.exchange}, hex(BELOW)]),
        ("debug_traceCall", [{"to": market.exchange}, {"blockHash": market.chain.block(BELOW)["hash"]}]),
        ("ots_getContractCreator", [market.exchange]),
    ):
        reply = answered(method, *params)
        assert reply.get("error", {}).get("code") == INVALID_REQUEST, (method, reply)
