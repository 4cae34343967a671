"""Development chains take what anvil takes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ethereum.development.playground import CREATOR, RECIPIENT, STRANGER
from tests.ethereum.pool.steps import delegating, plain, with_blobs
from tests.ethereum.rpc.development.pool.test_lenient_pool import ALICE, BOB, DELEGATION, GWEI
from tests.peers.anvil_pair import Pair, beside_anvil
from wsnode.demo.genesis import CREATE2_DEPLOYER

pytestmark = pytest.mark.slow


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with beside_anvil(tmp_path) as opened:
        yield opened


def sent(pair: Pair, **members: Any) -> dict[str, Any]:
    """Return what the receipts of a transfer on both chains have in common."""
    call = {"from": CREATOR, "to": RECIPIENT, "value": "0x1", **members}
    both = pair.both("eth_sendTransactionSync", {name: value for name, value in call.items() if value})
    names = ("status", "from", "effectiveGasPrice", "type", "gasUsed", "blockNumber")
    ours, theirs = ({name: receipt[name] for name in names} for receipt in both)
    assert ours == theirs
    return ours


def test_a_tip_of_zero_is_enough(pair: Pair) -> None:
    assert (
        sent(pair, maxPriorityFeePerGas="0x0", maxFeePerGas=hex(10**10))["effectiveGasPrice"] == "0x3b9aca00"
    )


@pytest.mark.parametrize("sender", [CREATOR, STRANGER])
def test_fees_of_zero_are_taken_where_the_base_fee_is_zero(sender: str, pair: Pair) -> None:
    pair.equal("anvil_impersonateAccount", STRANGER)
    pair.equal("anvil_setNextBlockBaseFeePerGas", "0x0")
    for fees in ({"gasPrice": "0x0"}, {"maxFeePerGas": "0x0", "maxPriorityFeePerGas": "0x0"}):
        assert sent(pair, **{"from": sender, "value": None}, **fees)["effectiveGasPrice"] == "0x0"


def mined(pair: Pair, *signed: bytes) -> None:
    """Send transactions to both, and have a block include them all."""
    pair.equal("evm_setAutomine", False)
    hashes = [pair.equal("eth_sendRawTransaction", f"0x{each.hex()}") for each in signed]
    pair.both("evm_mine")
    assert pair.equal("eth_getBlockTransactionCountByNumber", "latest") == hex(len(signed))
    for transaction in hashes:
        ours, theirs = pair.both("eth_getTransactionReceipt", transaction)
        assert (ours["status"], ours["from"]) == (theirs["status"], theirs["from"])


def test_transactions_for_every_chain_are_taken(pair: Pair) -> None:
    mined(pair, plain(ALICE, 0, chainId=None, gasPrice=2 * GWEI))


def test_a_delegated_account_has_many_transactions_in_flight(pair: Pair) -> None:
    pair.equal("anvil_setCode", CREATOR, DELEGATION)
    mined(pair, *(plain(ALICE, nonce) for nonce in range(3)))


def test_an_account_with_transactions_in_flight_can_be_delegated(pair: Pair) -> None:
    mined(pair, plain(BOB, 0), plain(BOB, 1), delegating(ALICE, 0, (BOB, 2)))


def test_blobs_block_no_other_transactions_of_their_account(pair: Pair) -> None:
    fee = 100 * GWEI
    mined(pair, plain(ALICE, 0, gasPrice=fee), with_blobs(ALICE, 1), plain(ALICE, 2))


def test_a_fee_above_an_ether_is_no_mistake(pair: Pair) -> None:
    assert sent(pair, gas=hex(10**6), gasPrice=hex(10**13))["status"] == "0x1"


def test_the_create2_deployer_is_in_the_genesis(pair: Pair) -> None:
    # Afterwards only here: anvil's is gone after a reset.
    for block in ("0x0", "latest"):
        assert len(pair.equal("eth_getCode", CREATE2_DEPLOYER, block)) > 2
        for method in ("eth_getTransactionCount", "eth_getBalance"):
            assert pair.equal(method, CREATE2_DEPLOYER, block) == "0x0"


def test_the_first_block_has_the_base_fee_of_the_genesis(pair: Pair) -> None:
    pair.both("evm_mine")
    fees = [
        [block["baseFeePerGas"] for block in pair.both("eth_getBlockByNumber", number, False)]
        for number in ("0x0", "0x1")
    ]
    assert fees == [["0x3b9aca00"] * 2] * 2


@pytest.mark.parametrize("is_object", [False, True])
def test_transactions_without_fees_are_placed_in_a_branch_below_empty_blocks(
    *, is_object: bool, pair: Pair
) -> None:
    for _ in range(12):
        pair.both("evm_mine")
    placed = [[{"from": CREATOR, "to": STRANGER, "value": "0x1"}, place] for place in (0, 11)]
    params: Any = {"depth": 12, "tx_block_pairs": placed} if is_object else [12, placed]
    replies = pair.ours.ask("anvil_reorg", params), pair.reply_of_anvil("anvil_reorg", params)
    assert [reply["result"] for reply in replies] == [None, None]
    for number in ("0x1", "0x2", "0xc"):
        pair.equal("eth_getBlockTransactionCountByNumber", number)
        pair.equal("eth_getBalance", STRANGER, number)
    assert pair.equal("eth_getTransactionCount", CREATOR, "latest") == "0x2"


@pytest.mark.parametrize("limit", [5_000, 21_000, 10**9])
def test_blocks_may_have_a_small_gas_limit_and_a_large_one_again(limit: int, pair: Pair) -> None:
    for wanted in (limit, 60_000_000):
        assert pair.equal("evm_setBlockGasLimit", hex(wanted)) is True
        pair.equal("evm_mine")
        blocks = pair.both("eth_getBlockByNumber", "latest", False)
        assert [int(block["gasLimit"], 16) for block in blocks] == [wanted] * 2
        if wanted > 21_000:
            sent(pair, gasPrice=hex(5 * GWEI))


def test_large_times_are_in_milliseconds(pair: Pair) -> None:
    (now, _theirs) = (int(time, 16) for time in times(pair))
    for wanted, form in ((now + 10_000, now + 10_000), (now + 50_000, hex((now + 50_000) * 1000))):
        ours, theirs = pair.both("evm_setTime", form)
        assert abs(ours - theirs) < 100
        pair.equal("evm_mine")
        assert all(0 <= int(time, 16) - wanted < 100 for time in times(pair))


def times(pair: Pair) -> list[str]:
    return [block["timestamp"] for block in pair.both("eth_getBlockByNumber", "latest", False)]
