"""A development chain on a block of another one, whose state is proved as it is needed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.demo.test_exchange import Market
from tests.ethereum.development.forks import MemoryClient, forked_playground, rounds_of
from tests.ethereum.development.playground import (
    CREATOR,
    ETHER,
    STRANGER,
    Playground,
    RefusedError,
    playground,
)
from wsnode.demo import exchange, token
from wsnode.ethereum.snapshot import Snapshot
from wsnode.server.access.router import Caller

pytestmark = pytest.mark.slow

LATEST = "latest"


def called(to: str, call: bytes, **members: Any) -> dict[str, Any]:
    return {"from": CREATOR, "to": to, "data": f"0x{call.hex()}"} | members


@pytest.fixture
def market(tmp_path: Path) -> Iterator[Market]:
    with playground(tmp_path / "theirs") as chain:
        yield Market(chain)


@pytest.fixture
def client(market: Market) -> MemoryClient:
    return MemoryClient(market.chain)


@pytest.fixture
def fork(tmp_path: Path, client: MemoryClient) -> Iterator[Playground]:
    with forked_playground(tmp_path / "ours", [client]) as chain:
        yield chain


def test_it_begins_at_the_head_of_the_other_chain(market: Market, fork: Playground) -> None:
    assert fork.block() == market.chain.block()
    assert fork("eth_chainId") == market.chain("eth_chainId")


def test_state_is_the_other_chains(market: Market, fork: Playground) -> None:
    for address in (market.token, market.exchange, STRANGER, "0x" + "00" * 20):
        for method, *rest in (
            ("eth_getCode",),
            ("eth_getTransactionCount",),
            ("eth_getBalance",),
            ("eth_getStorageAt", "0x2"),
        ):
            assert fork(method, address, *rest, LATEST) == market.chain(method, address, *rest, LATEST)


def test_a_swap_is_called_estimated_and_listed_as_there(market: Market, fork: Playground) -> None:
    swap = called(market.exchange, exchange.buy(), value=hex(ETHER))
    for method in ("eth_call", "eth_estimateGas", "eth_createAccessList"):
        assert fork(method, swap) == market.chain(method, swap)


def test_a_call_takes_few_rounds_and_is_free_when_repeated(
    market: Market, client: MemoryClient, fork: Playground
) -> None:
    swap = called(market.exchange, exchange.buy(), value=hex(ETHER))
    before = rounds_of(fork)
    fork("eth_call", swap)
    assert rounds_of(fork) - before <= 3

    client.memory.is_gone = True
    fork("eth_call", swap)
    fork("eth_estimateGas", swap)


def test_a_call_without_a_hint_finds_all_by_itself(
    market: Market, client: MemoryClient, fork: Playground
) -> None:
    client.memory.lie = lambda method, _params, result: (
        {"accessList": "none"} if method == "eth_createAccessList" else result
    )
    swap = called(market.exchange, exchange.buy(), value=hex(ETHER))
    assert fork("eth_call", swap) == market.chain("eth_call", swap)


def test_transactions_change_it_as_they_would_change_the_other_chain(
    market: Market, fork: Playground
) -> None:
    for chain in (market.chain, fork):
        sent = chain.send(**called(market.exchange, exchange.buy(), value=hex(ETHER), gas=hex(300_000)))
        receipt = chain.receipt(sent)
        assert receipt is not None
        assert receipt["status"] == "0x1"
    balance = called(market.token, bytes.fromhex("70a08231" + "00" * 12 + CREATOR[2:]))
    assert fork("eth_call", balance) == market.chain("eth_call", balance)


def test_its_blocks_are_replaced_by_others_with_values_of_the_other_chain(
    market: Market, fork: Playground
) -> None:
    bought = {"from": CREATOR, **called(market.exchange, exchange.buy(), value=hex(ETHER), gas=hex(300_000))}
    for chain in (market.chain, fork):
        chain("anvil_mine", 3)
        assert chain("anvil_reorg", 3, [[bought, place] for place in range(3)]) is None
        for number in range(chain.head - 2, chain.head + 1):
            (sent,) = chain.block(number)["transactions"]
            receipt = chain.receipt(sent)
            assert receipt is not None
            assert (receipt["status"], receipt["blockNumber"]) == ("0x1", hex(number))
    balance = called(market.token, bytes.fromhex("70a08231" + "00" * 12 + CREATOR[2:]))
    assert fork("eth_call", balance) == market.chain("eth_call", balance)


def test_roots_are_those_of_the_whole_state(tmp_path: Path, market: Market, client: MemoryClient) -> None:
    """Both chains make the same block: what a fork knows of the tries is enough for their roots."""
    with forked_playground(tmp_path / "ours", [client]) as fork:
        fork("anvil_setBalance", CREATOR, market.chain("eth_getBalance", CREATOR, LATEST))
        for each in range(1, 10):
            address = fork("eth_accounts")[each]
            fork("anvil_setBalance", address, market.chain("eth_getBalance", address, LATEST))
        timestamp = market.chain.time() + 7
        for chain in (market.chain, fork):
            chain("evm_setAutomine", False)
            for value in (ETHER, 2 * ETHER):
                chain.send(**called(market.exchange, exchange.buy(), value=hex(value), gas=hex(300_000)))
            chain.send(to=STRANGER)
            chain.send(**called(market.token, token.transfer(b"\x77" * 20, 5), value=0, gas=hex(100_000)))
            chain("evm_mine", {"timestamp": timestamp})
        assert fork.block() == market.chain.block()
        proof = market.chain("eth_getProof", market.token, ["0x0"], LATEST)
        assert fork("eth_getProof", market.token, ["0x0"], LATEST) == proof


def test_what_is_below_the_fork_is_asked_there(
    market: Market, client: MemoryClient, fork: Playground
) -> None:
    first = fork.head
    other = market.chain
    for number in (1, first):
        block = fork.block(number)
        assert block == other.block(number)
        for method, *params in (
            ("eth_getBlockByHash", block["hash"], True),
            ("eth_getBlockReceipts", block["hash"]),
            ("eth_getTransactionByHash", block["transactions"][0]),
            ("eth_getTransactionReceipt", block["transactions"][0]),
            ("eth_getBlockTransactionCountByNumber", hex(number)),
        ):
            assert fork(method, *params) == other(method, *params), method
    fork.send(**called(market.token, token.transfer(b"\x77" * 20, 5), value=0, gas=hex(100_000)))
    other.send(**called(market.token, token.transfer(b"\x77" * 20, 6), value=0, gas=hex(100_000)))
    logs = fork("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"})
    before = other("eth_getLogs", {"fromBlock": "0x0", "toBlock": hex(first)})
    assert logs[:-1] == before
    assert logs[-1]["blockNumber"] == hex(first + 1)
    assert fork("eth_getBlockByHash", other.block()["hash"], False) is None


def test_state_below_the_fork_is_read(market: Market, fork: Playground) -> None:
    assert fork.balance(CREATOR, "0x1") == market.chain.balance(CREATOR, "0x1") != fork.balance(CREATOR)


def test_controls_work_on_accounts_of_the_other_chain(market: Market, fork: Playground) -> None:
    slot = "0x" + "00" * 31 + "09"
    value = "0x" + "00" * 31 + "05"
    fork("anvil_setStorageAt", market.token, slot, value)
    fork("anvil_setBalance", market.exchange, hex(77 * ETHER))
    fork("anvil_setNonce", STRANGER, "0x5")
    assert fork("eth_getStorageAt", market.token, slot, LATEST) == value
    assert fork.balance(market.exchange) == 77 * ETHER
    assert fork.nonce(STRANGER) == 5
    fork("anvil_impersonateAccount", market.exchange)
    fork.send(sender=market.exchange, to=STRANGER, value=hex(ETHER))
    assert fork.balance(STRANGER) == ETHER


def test_a_snapshot_brings_it_back(market: Market, fork: Playground) -> None:
    before = fork.balance(market.exchange)
    snapshot = fork("evm_snapshot")
    fork.send(**called(market.exchange, exchange.buy(), value=hex(ETHER), gas=hex(300_000)))
    fork("anvil_setBalance", market.exchange, "0x1")
    assert fork("evm_revert", snapshot)
    assert fork.balance(market.exchange) == before


def test_a_reset_leads_back_to_the_fork_with_funded_accounts(market: Market, fork: Playground) -> None:
    first = fork.head
    fork.send(to=STRANGER, value=hex(ETHER))
    forking = {"forking": {"jsonRpcUrl": "http://upstream/key", "blockNumber": first}}
    assert fork("anvil_reset", forking) is None
    assert fork.head == first
    assert fork.balance(CREATOR) == 10_000 * ETHER
    assert fork.balance(STRANGER) == market.chain.balance(STRANGER)
    with pytest.raises(RefusedError, match="a kept chain stays forked at block"):
        fork("anvil_reset", {"forking": {"blockNumber": 1}})


def store_version(chain: Playground) -> int:
    with chain.network.open_view(Caller(network="")) as view:
        assert isinstance(view, Snapshot)
        return view.reader.version


def test_a_reset_is_one_commit_so_nobody_sees_the_fork_without_its_accounts(fork: Playground) -> None:
    funded = fork.balance(CREATOR)
    fork("anvil_setBalance", STRANGER, "0x7")
    fork.send(to=STRANGER, value="0x1")
    before = store_version(fork)
    fork("anvil_reset")
    assert store_version(fork) == before + 1
    assert fork.balance(CREATOR) == funded == 10_000 * ETHER
    fork("anvil_reset")
    assert fork.balance(CREATOR) == funded, "the accounts are a patch that stays"


def test_it_says_what_it_was_forked_from(market: Market, fork: Playground) -> None:
    block = market.chain.block()
    assert fork("anvil_nodeInfo")["forkConfig"] == {
        "forkUrl": "http://upstream",
        "forkBlockNumber": int(block["number"], 16),
        "forkRetryBackoff": None,
    }
    assert fork("anvil_metadata")["forkedNetwork"]["forkBlockHash"] == block["hash"]


def test_hashes_of_blocks_below_the_fork_are_fetched_and_checked(
    market: Market, client: MemoryClient, fork: Playground
) -> None:
    # NUMBER - 2, BLOCKHASH, and back it goes.
    code = "0x" + "60024303" + "40" + "5f5260205ff3"
    asked = {"to": STRANGER}
    overrides = {STRANGER: {"code": code}}
    expected = market.chain.block(fork.head - 2)["hash"]
    client.memory.lie = lambda method, _params, result: (
        result | {"timestamp": "0x1"} if method == "eth_getBlockByNumber" else result
    )
    with pytest.raises(RefusedError, match="does not lead to"):
        fork("eth_call", asked, LATEST, overrides)
    client.memory.lie = lambda _method, _params, result: result
    assert fork("eth_call", asked, LATEST, overrides) == expected


def test_a_second_start_needs_no_upstream_for_what_is_known(
    tmp_path: Path, market: Market, client: MemoryClient
) -> None:
    swap = called(market.exchange, exchange.buy(), value=hex(ETHER))
    with forked_playground(tmp_path / "ours", [client]) as fork:
        expected = fork("eth_call", swap)
    client.memory.is_gone = True
    with forked_playground(tmp_path / "ours", [client]) as fork:
        assert fork("eth_call", swap) == expected
        with pytest.raises(RefusedError, match="is not proved"):
            fork("eth_getBalance", STRANGER, LATEST)
