"""Forks that are put on other blocks and on other chains: all that is asked is of the new one then."""

from collections.abc import Iterator
from pathlib import Path

import pytest

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

pytestmark = pytest.mark.slow

OTHER_ID = 77


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Playground]:
    with playground(tmp_path / "one") as chain:
        for _ in range(4):
            chain.send(to=STRANGER, value=hex(ETHER))
        yield chain


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Playground]:
    with playground(tmp_path / "other") as chain:
        chain("anvil_setChainId", OTHER_ID)
        chain("anvil_mine", "0x9")
        yield chain


@pytest.fixture
def fork(tmp_path: Path, one: Playground, other: Playground) -> Iterator[Playground]:
    clients = {"http://one": MemoryClient(one, "one"), "http://other": MemoryClient(other, "other")}
    with forked_playground(tmp_path / "ours", [clients["http://one"]], 2, clients) as fork:
        yield fork


def test_a_fork_keeps_its_node_until_it_is_reset(fork: Playground) -> None:
    with pytest.raises(RefusedError, match="a fork keeps its node: anvil_reset with jsonRpcUrl"):
        fork("anvil_setRpcUrl", "http://other")


def move(fork: Playground, **forking: object) -> None:
    assert fork("anvil_reset", {"forking": forking}) is None


def require_on(fork: Playground, chain: Playground, number: int) -> None:
    """Check that a fork is on a block of a chain, with its state, and makes blocks there."""
    assert fork.head == number
    assert fork.block() == chain.block(number)
    assert fork.block(number - 1) == chain.block(number - 1)
    assert fork.balance(STRANGER) == chain.balance(STRANGER, hex(number))
    assert fork.balance(CREATOR) == 10_000 * ETHER
    assert fork("eth_chainId") == chain("eth_chainId")
    assert fork("eth_config")["current"]["chainId"] == chain("eth_chainId")
    assert fork("anvil_nodeInfo")["forkConfig"]["forkBlockNumber"] == number
    assert fork("anvil_metadata")["forkedNetwork"]["forkBlockHash"] == chain.block(number)["hash"]
    receipt = fork.receipt(fork.send(to=RECIPIENT, value="0x7"))
    assert receipt is not None
    assert int(receipt["blockNumber"], 16) == fork.head == number + 1
    assert fork.balance(RECIPIENT) == 10_000 * ETHER + 7


def test_a_fork_moves_to_other_blocks_and_chains(
    fork: Playground, one: Playground, other: Playground
) -> None:
    require_on(fork, one, 2)
    move(fork, blockNumber=4)
    require_on(fork, one, 4)
    move(fork, jsonRpcUrl="http://other")
    assert int(fork("net_version")) == OTHER_ID
    require_on(fork, other, 9)
    move(fork, blockNumber=3)
    require_on(fork, other, 3)
    move(fork, jsonRpcUrl="http://one", blockNumber=1)
    require_on(fork, one, 1)
    fork("anvil_reset")
    assert fork.head == 1
    require_on(fork, one, 1)


@pytest.mark.parametrize(
    "params",
    [
        [{"forking": {"jsonRpcUrl": "http://other", "blockNumber": 3}}],
        {"forking": {"jsonRpcUrl": "http://other", "blockNumber": "0x3"}},
        [{"jsonRpcUrl": "http://other", "blockNumber": 3}],
        {"jsonRpcUrl": "http://other", "blockNumber": 3},
    ],
)
def test_what_is_forked_is_read_in_the_forms_of_all_clients(
    params: object, fork: Playground, other: Playground
) -> None:
    assert fork.ask("anvil_reset", params) == {"jsonrpc": "2.0", "id": 1, "result": None}
    require_on(fork, other, 3)


@pytest.mark.parametrize("params", [[], {}, [None], [{}], {"forking": None}, [{"forking": None}]])
def test_without_a_block_the_fork_begins_anew_on_its_own(
    params: object, fork: Playground, one: Playground
) -> None:
    fork("evm_mine")
    assert fork.ask("anvil_reset", params)["result"] is None
    require_on(fork, one, 2)


def test_what_was_done_before_is_gone(fork: Playground) -> None:
    sent = fork.send()
    fork("anvil_impersonateAccount", STRANGER)
    snapshot = fork("evm_snapshot")
    move(fork, blockNumber=1)
    assert fork.receipt(sent) is None
    assert fork.pool == (0, 0)
    assert fork("evm_revert", snapshot) is False
    with pytest.raises(RefusedError, match="unknown account"):
        fork.send(sender=STRANGER)


def test_a_block_that_is_not_there_changes_nothing(fork: Playground, one: Playground) -> None:
    sent = fork.send()
    with pytest.raises(RefusedError, match="has no block 99"):
        move(fork, blockNumber=99)
    assert fork.receipt(sent) is not None
    assert fork.block(2) == one.block(2)


def test_filters_go_on_with_the_new_blocks(fork: Playground, caplog: pytest.LogCaptureFixture) -> None:
    wanted = fork("eth_newBlockFilter")
    fork.send()
    (before,) = fork("eth_getFilterChanges", wanted)
    assert before == fork.block()["hash"]
    move(fork, blockNumber=1)
    assert fork("eth_getFilterChanges", wanted) == []
    sent = fork.receipt(fork.send())
    assert sent is not None
    assert fork("eth_getFilterChanges", wanted) == [sent["blockHash"]]
    assert caplog.messages == []


def test_what_reads_the_chain_before_goes_on_reading_it(fork: Playground, one: Playground) -> None:
    head = fork.block()
    fork("anvil_setBalance", STRANGER, "0x7")
    with fork.dispatcher.open_view(None) as view:
        move(fork, jsonRpcUrl="http://other")
        assert view.hash_of(2).hex() == head["hash"][2:]
        balances = [
            view.state.account(bytes.fromhex(each[2:]), (2, view.head.hash))[1]
            for each in (CREATOR, STRANGER)
        ]
        # What was set on top of its block is undone, but not the funds of its accounts, as after any reset.
        assert balances == [10_000 * ETHER, one.balance(STRANGER, "0x2")]
