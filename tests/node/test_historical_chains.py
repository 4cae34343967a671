"""Chains on blocks below a fork: what is proved, executed, kept, and refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.demo.test_exchange import Market
from tests.ethereum.development.forks import MemoryClient, forked_playground
from tests.ethereum.development.playground import (
    CREATOR,
    ETHER,
    RECIPIENT,
    STRANGER,
    Playground,
    RefusedError,
    playground,
)
from wsnode.demo.genesis import forked_genesis
from wsnode.ethereum.chain import Chain
from wsnode.jsonrpc.errors import RpcError
from wsnode.node.services import historical_chains
from wsnode.node.services.fork import UpstreamForkBackend
from wsnode.node.services.fork_point import fetch_first
from wsnode.node.services.historical_chains import MAX_CHAINS, MAX_OPEN, HistoricalChains
from wsnode.upstream.errors import UpstreamRefusedError

pytestmark = pytest.mark.slow

PRUNED = 4444
TRACING = ("debug_trace", "trace_", "ots_")


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Playground]:
    with playground(tmp_path / "theirs") as chain:
        yield chain


@pytest.fixture
def client(theirs: Playground) -> MemoryClient:
    return MemoryClient(theirs)


@contextmanager
def past_chains_of(folder: Path, client: MemoryClient) -> Iterator[HistoricalChains]:
    """Yield what keeps chains below a fork of the client's chain."""
    first = trio.run(fetch_first, client, None)
    with Chain.open(folder / "ours", forked_genesis(first), writer=True, durable=False) as chain:
        yield UpstreamForkBackend(chain, [client]).past


def refuse(*methods: str) -> Any:
    """Return a lie: these methods, by their beginnings, are refused."""

    def lie(method: str, _params: list[Any], result: Any) -> Any:
        if method.startswith(methods):
            raise UpstreamRefusedError(-32601, f"the method {method} does not exist")
        return result

    return lie


def test_transactions_are_traced_without_a_word_of_the_node(
    tmp_path: Path, theirs: Playground, client: MemoryClient
) -> None:
    market = Market(theirs)
    theirs("evm_mine")
    block = theirs.block(theirs.head - 1)
    client.memory.lie = refuse(*TRACING)
    calls: list[tuple[str, list[Any]]] = [
        ("debug_traceTransaction", [block["transactions"][0], {"tracer": "callTracer"}]),
        ("trace_transaction", [block["transactions"][0]]),
        ("trace_replayTransaction", [block["transactions"][0], ["stateDiff"]]),
        ("ots_traceTransaction", [block["transactions"][0]]),
        ("debug_traceBlockByNumber", [block["number"], {"tracer": "prestateTracer"}]),
        ("debug_traceBlockByHash", [block["hash"]]),
        ("trace_block", [{"blockHash": block["hash"]}]),
    ]
    with forked_playground(tmp_path, [client]) as fork:
        for method, params in calls:
            assert fork(method, *params) == theirs(method, *params), method
    assert not [name for name in client.memory.asked if name.startswith(TRACING)]
    assert market.token


def test_a_transaction_that_nobody_signed_is_traced(
    tmp_path: Path, theirs: Playground, client: MemoryClient
) -> None:
    theirs("anvil_impersonateAccount", STRANGER)
    theirs("anvil_setBalance", STRANGER, hex(ETHER))
    # The root of the state that was changed is the next block's.
    theirs("evm_mine")
    theirs("anvil_setNextBlockBaseFeePerGas", hex(7 * 10**9))
    sent = theirs.send(STRANGER, to=RECIPIENT)
    theirs("evm_mine")
    client.memory.lie = refuse(*TRACING)
    with forked_playground(tmp_path, [client]) as fork:
        assert fork("trace_transaction", sent) == theirs("trace_transaction", sent)


def test_a_wrong_block_is_not_traced_from(tmp_path: Path, theirs: Playground, client: MemoryClient) -> None:
    sent = theirs.send()
    theirs("evm_mine")

    def lie(method: str, _params: list[Any], result: Any) -> Any:
        if method == "eth_getBlockByNumber" and result["number"] == "0x1":
            # Its hash is as it should be for this header.
            return result | {"stateRoot": "0x" + "12" * 32}
        return refuse(*TRACING)(method, _params, result)

    with forked_playground(tmp_path, [client]) as fork:
        client.memory.lie = lie
        with pytest.raises(RefusedError) as refused:
            fork("trace_transaction", sent)
        assert refused.value.code == PRUNED
        assert client.memory.asked["trace_transaction"]


def test_a_block_that_cannot_be_executed_is_traced_by_the_node(
    tmp_path: Path, theirs: Playground, client: MemoryClient
) -> None:
    sent = theirs.send()
    theirs("evm_mine")
    with forked_playground(tmp_path, [client]) as fork:
        client.memory.lie = refuse("eth_getProof")
        assert fork("trace_transaction", sent) == theirs("trace_transaction", sent)
        assert client.memory.asked["trace_transaction"]


@pytest.mark.parametrize("lie", ["damaged", "refused"])
def test_a_state_that_is_not_proved_is_an_error(
    lie: str, tmp_path: Path, theirs: Playground, client: MemoryClient
) -> None:
    theirs("anvil_mine", "0x3")

    def change(method: str, params: list[Any], result: Any) -> Any:
        if method != "eth_getProof" or params[0] != STRANGER:
            return result
        if lie == "refused":
            raise UpstreamRefusedError(-32000, "missing trie node")
        return result | {"accountProof": result["accountProof"][:-1]}

    with forked_playground(tmp_path, [client]) as fork:
        client.memory.lie = change
        reply = fork.raw("eth_getBalance", [STRANGER, "0x1"])["error"]
        assert reply["code"] == PRUNED
        assert "the state of block 1 is not proved" in reply["data"]["reason"]
        assert fork("eth_getBalance", CREATOR, "0x1") == theirs("eth_getBalance", CREATOR, "0x1")


def test_a_pruned_state_is_an_error_that_names_the_oldest_one(
    tmp_path: Path, theirs: Playground, client: MemoryClient
) -> None:
    theirs("anvil_mine", "0x8")

    def prune(method: str, params: list[Any], result: Any) -> Any:
        block = params[-1] if method == "eth_getProof" else None
        number = block if isinstance(block, str) else None
        if isinstance(block, dict):
            number = theirs("eth_getBlockByHash", block["blockHash"], False)["number"]
        if number is not None and int(number, 16) < 6:
            raise UpstreamRefusedError(-32000, "missing trie node")
        return result

    client.memory.lie = prune
    with forked_playground(tmp_path, [client]) as fork:
        assert fork("eth_getBalance", CREATOR, "0x6") == theirs("eth_getBalance", CREATOR, "0x6")
        reply = fork.raw("eth_getBalance", [CREATOR, "0x5"])["error"]
    assert reply["code"] == PRUNED
    assert "block 6 and later ones" in reply["data"]["reason"]


def test_the_chains_that_were_used_last_are_kept(
    tmp_path: Path, theirs: Playground, client: MemoryClient
) -> None:
    theirs("anvil_mine", hex(MAX_CHAINS + 2))

    def fetched() -> int:
        return client.memory.asked["eth_getBlockReceipts"]

    with past_chains_of(tmp_path, client) as past:
        for number in range(1, MAX_CHAINS + 1):
            trio.run(past.begun_at, number)
        before = fetched()
        trio.run(past.begun_at, 1)
        trio.run(past.begun_at, bytes.fromhex(theirs.block(1)["hash"][2:]))
        assert (len(past), fetched()) == (MAX_CHAINS, before)
        trio.run(past.begun_at, MAX_CHAINS + 1)
        assert (len(past), len(list((tmp_path / "ours" / "below").iterdir()))) == (MAX_CHAINS, MAX_CHAINS)
        trio.run(past.begun_at, 1)
        assert fetched() == before + 1
        trio.run(past.begun_at, 2)
        assert fetched() == before + 2


def test_chains_are_kept_within_a_number_of_bytes(
    tmp_path: Path, theirs: Playground, client: MemoryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs("anvil_mine", "0x4")
    with past_chains_of(tmp_path, client) as past:
        size = trio.run(past.begun_at, 1).size
        # Blocks 1 to 3 are of one size but for their numbers and times, which have as many bytes.
        monkeypatch.setattr(historical_chains, "MAX_BYTES", 2 * size)
        trio.run(past.begun_at, 2)
        assert len(past) == 2
        trio.run(past.begun_at, 3)
        assert len(past) == 2


def test_only_so_many_chains_are_open_at_once(
    tmp_path: Path, theirs: Playground, client: MemoryClient
) -> None:
    theirs("anvil_mine", hex(MAX_OPEN + 2))
    with past_chains_of(tmp_path, client) as past:
        in_use = [trio.run(past.begun_at, number) for number in range(1, MAX_OPEN + 1)]
        with pytest.raises(RpcError, match="read at once"):
            trio.run(past.begun_at, MAX_OPEN + 1)
        del in_use
        assert trio.run(past.begun_at, MAX_OPEN + 1).chain.head.number == MAX_OPEN + 1


def test_a_chain_is_fetched_once_for_all_who_ask_for_it(
    tmp_path: Path, theirs: Playground, client: MemoryClient
) -> None:
    theirs("anvil_mine", "0x2")

    async def ask_at_once(past: HistoricalChains) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(past.begun_at, 1)

    with past_chains_of(tmp_path, client) as past:
        before = client.memory.asked["eth_getBlockReceipts"]
        trio.run(ask_at_once, past)
        assert client.memory.asked["eth_getBlockReceipts"] == before + 1


@pytest.mark.parametrize("most", [1, 2])
def test_a_block_is_executed_within_a_number_of_rounds(
    most: int, tmp_path: Path, theirs: Playground, client: MemoryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transfer needs one round for the accounts that its block names, and one for what its system calls
    read.
    """
    theirs.send()
    theirs("evm_mine")
    monkeypatch.setattr(historical_chains, "MAX_ROUNDS", most)
    with past_chains_of(tmp_path, client) as past:
        if most == 2:
            assert trio.run(past.executed, 1).chain.head.number == 1
            return
        with pytest.raises(RpcError) as refused:
            trio.run(past.executed, 1)
    assert isinstance(refused.value.data, dict)
    assert "more of the state than may be fetched" in refused.value.data["reason"]


def test_no_chain_begins_above_the_fork(tmp_path: Path, theirs: Playground, client: MemoryClient) -> None:
    theirs("anvil_mine", "0x2")
    with past_chains_of(tmp_path, client) as past:
        theirs("evm_mine")
        for begin, number in ((past.begun_at, 2), (past.executed, 3)):
            with pytest.raises(RpcError, match="pruned history"):
                trio.run(begin, number)
        assert trio.run(past.executed, 2).chain.head.number == 2
