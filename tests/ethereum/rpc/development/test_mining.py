"""When blocks are made, and what is in them."""

from pathlib import Path

import pytest

from tests.ethereum.development.playground import (
    CREATOR,
    ETHER,
    RECIPIENT,
    STRANGER,
    Playground,
    RefusedError,
    playground,
)


def test_a_reply_comes_when_the_transaction_is_in_a_block(chain: Playground) -> None:
    for number in (1, 2, 3):
        receipt = chain.receipt(chain.send())
        assert receipt is not None
        assert (receipt["status"], int(receipt["blockNumber"], 16)) == ("0x1", number)
    assert chain.balance(RECIPIENT) == 10_000 * ETHER + 3
    assert chain.nonce(CREATOR) == 3
    assert chain.pool == (0, 0)


def test_a_raw_transaction_gets_its_block_too(chain: Playground) -> None:
    signed = chain("eth_signTransaction", {"from": CREATOR, "to": RECIPIENT, "value": "0x5"})
    receipt = chain.receipt(chain("eth_sendRawTransaction", signed))
    assert receipt is not None
    assert receipt["blockNumber"] == "0x1"


def test_a_transaction_that_must_wait_gets_its_block_with_the_one_it_waits_for(chain: Playground) -> None:
    second = chain.send(nonce="0x1")
    assert chain.receipt(second) is None
    assert (chain.head, chain.pool) == (0, (0, 1))
    chain.send()
    assert chain.block()["transactions"][1:] == [second]
    assert chain.pool == (0, 0)


def test_without_automine_transactions_wait_for_evm_mine(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    sent = [chain.send() for _ in range(3)]
    assert (chain.head, chain.pool, chain("anvil_getAutomine")) == (0, (3, 0), False)
    assert chain.nonce(CREATOR, "pending") == 3
    assert chain("evm_mine") == "0x0"
    assert chain.block()["transactions"] == sent


def test_turning_automine_on_takes_what_waits(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    sent = chain.send()
    assert chain("evm_setAutomine", True) is None
    assert chain.receipt(sent) is not None


@pytest.mark.parametrize(
    ("method", "params", "blocks"),
    [
        ("evm_mine", [], 1),
        ("evm_mine", [None], 1),
        ("evm_mine", [{"blocks": 3}], 3),
        ("evm_mine", [{"timestamp": None, "blocks": "0x2"}], 2),
        ("anvil_mine", [], 1),
        ("anvil_mine", ["0x5"], 5),
        ("anvil_mine", [4, 10], 4),
        ("hardhat_mine", ["0x2", "0x3c"], 2),
        ("hardhat_mine", [0], 0),
    ],
)
def test_blocks_are_made_on_demand(method: str, params: list[object], blocks: int, chain: Playground) -> None:
    assert chain(method, *params) == {"evm_mine": "0x0", "anvil_mine": None, "hardhat_mine": True}[method]
    assert chain.head == blocks


def test_a_block_that_is_full_leaves_the_rest_for_the_next(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    chain("evm_setBlockGasLimit", 30_000_000)
    # Code that jumps until its gas is used up: two of these and no more fit into a block of 30 million.
    looping = [chain.send(to=None, value=None, data="0x5b600056", gas=hex(12_000_000)) for _ in range(3)]
    chain("evm_mine")
    assert chain.block()["transactions"] == looping[:2]
    chain("evm_mine")
    assert chain.block()["transactions"] == looping[2:]


def test_the_tips_go_where_they_are_told(chain: Playground) -> None:
    assert chain("anvil_setCoinbase", STRANGER) is None
    receipt = chain.receipt(chain.send(maxPriorityFeePerGas=hex(10**9), maxFeePerGas=hex(10**10)))
    assert receipt is not None
    assert chain.balance(STRANGER) == 21_000 * 10**9
    assert (chain("eth_coinbase"), chain.block()["miner"]) == (STRANGER, STRANGER)


def test_a_transaction_is_dropped_once(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    first, second = chain.send(), chain.send()
    assert chain("anvil_dropTransaction", first) == first
    assert chain("anvil_dropTransaction", first) is None
    assert chain.pool == (0, 1)
    assert chain("hardhat_dropTransaction", second) is True
    assert chain("hardhat_dropTransaction", second) is False
    assert chain.pool == (0, 0)


def test_the_transactions_of_an_account_are_removed(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    chain.send()
    chain.send(nonce="0x5")
    kept = chain.send(RECIPIENT, to=CREATOR)
    assert chain("anvil_removePoolTransactions", CREATOR) is None
    assert chain.block("pending")["transactions"] == [kept]
    assert chain.pool == (1, 0)


def test_intervals_replace_automine_and_0_leaves_nothing(chain: Playground) -> None:
    assert chain("anvil_getIntervalMining") is None
    chain("evm_setIntervalMining", 5)
    assert (chain("anvil_getIntervalMining"), chain("anvil_getAutomine")) == (5, False)
    chain("evm_setAutomine", False)
    assert chain("anvil_getIntervalMining") == 5
    chain("evm_setIntervalMining", 12_345_678)
    assert chain("anvil_getIntervalMining") == 12_345_678
    chain("evm_setIntervalMining", 0)
    assert (chain("anvil_getIntervalMining"), chain("anvil_getAutomine")) == (None, False)


@pytest.mark.parametrize("params", [["abc"], [{"foo": 6}], [-1], [1.5], [{"timestamp": "-1"}], [[]], [True]])
def test_what_is_no_time_is_refused(params: list[object], chain: Playground) -> None:
    with pytest.raises(RefusedError) as error:
        chain("evm_mine", *params)
    assert (error.value.code, chain.head) == (-32602, 0)


def test_a_chain_goes_on_where_it_stopped(tmp_path: Path) -> None:
    with playground(tmp_path) as chain:
        chain.send()
        chain("evm_increaseTime", 1000)
        chain("evm_mine")
        before = chain.block()
    with playground(tmp_path) as chain:
        assert chain.block() == before
        chain.send()
        assert (chain.head, chain.nonce(CREATOR)) == (3, 2)
        assert chain.time() > int(before["timestamp"], 16)


def test_a_chain_that_is_no_fork_has_no_node_to_replace(chain: Playground) -> None:
    assert chain("anvil_setRpcUrl", "https://example.com") is None
    with pytest.raises(RefusedError) as refused:
        chain("anvil_setRpcUrl", 7)
    assert refused.value.code == -32602
