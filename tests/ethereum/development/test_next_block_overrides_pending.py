"""What the next block is to have, and what is run at `pending` sees it."""

from pathlib import Path

import pytest

from tests.ethereum.development.playground import (
    CREATOR,
    GENESIS_TIME,
    RECIPIENT,
    STRANGER,
    Playground,
    RefusedError,
    playground,
)

GWEI = 10**9
# Returns the time, the gas limit and the random value of its block.
SURROUNDINGS = "0x42600052456020524460405260606000f3"
# Writes after the second 2^32 only.
LATE_IS_DEAR = "0x63ffffffff42111560105760016000555b00"
# An empty block takes an eighth off.
FALLEN = 7 * GWEI // 8


def surroundings(chain: Playground, block: str = "pending") -> list[int]:
    overrides = {STRANGER: {"code": SURROUNDINGS}}
    words = bytes.fromhex(chain("eth_call", {"to": STRANGER}, block, overrides)[2:])
    return [int.from_bytes(words[start : start + 32], "big") for start in range(0, 96, 32)]


def base_fee(chain: Playground, block: int | str = "latest") -> int:
    return int(chain.block(block)["baseFeePerGas"], 16)


@pytest.mark.parametrize(("prefix", "answer"), [("anvil", None), ("hardhat", True)])
def test_the_next_block_has_the_base_fee_that_is_wanted(
    chain: Playground, prefix: str, answer: bool | None
) -> None:
    assert chain(f"{prefix}_setNextBlockBaseFeePerGas", hex(50 * GWEI)) is answer
    assert base_fee(chain, "pending") == 50 * GWEI
    assert int(chain("eth_baseFee"), 16) == 50 * GWEI
    assert int(chain("eth_gasPrice"), 16) > 50 * GWEI
    assert int(chain("eth_feeHistory", "0x1", "latest", [])["baseFeePerGas"][-1], 16) == 50 * GWEI
    chain("evm_mine")
    assert base_fee(chain) == 50 * GWEI
    # From there it follows the protocol's rule again.
    assert int(chain("eth_baseFee"), 16) == 50 * FALLEN
    chain("evm_mine")
    assert base_fee(chain) == 50 * FALLEN


def test_transactions_are_offered_what_the_next_block_asks_for(chain: Playground) -> None:
    chain("anvil_setNextBlockBaseFeePerGas", 1000 * GWEI)
    receipt = chain.receipt(chain.send())
    assert receipt is not None
    assert int(receipt["effectiveGasPrice"], 16) > 1000 * GWEI


def test_a_transaction_that_pays_less_waits(chain: Playground) -> None:
    chain("anvil_setNextBlockBaseFeePerGas", str(3 * GWEI))
    waiting = chain.send(maxFeePerGas=hex(2 * GWEI), maxPriorityFeePerGas="0x1", gas="0x5208")
    assert (chain.receipt(waiting), chain.pool) == (None, (1, 0))
    assert chain.block("pending")["transactions"] == []
    chain("evm_mine")
    assert chain.receipt(waiting) is None
    chain("anvil_setNextBlockBaseFeePerGas", 0)
    assert chain.block("pending")["transactions"] == [waiting]
    chain("evm_mine")
    assert chain.receipt(waiting) is not None
    assert base_fee(chain) == 0


def test_a_base_fee_has_64_bits(chain: Playground) -> None:
    with pytest.raises(RefusedError) as refused:
        chain("anvil_setNextBlockBaseFeePerGas", hex(1 << 64))
    assert refused.value.code == -32602


def test_calls_run_and_are_traced_whatever_the_limits_are(chain: Playground) -> None:
    chain("evm_setBlockGasLimit", 2**63 - 1)
    chain("anvil_setNextBlockBaseFeePerGas", 2**64 - 1)
    chain("evm_mine")
    for block in ("latest", "pending"):
        assert chain("eth_call", {"to": STRANGER}, block) == "0x"
        assert chain("eth_estimateGas", {"from": CREATOR, "to": STRANGER}, block) == "0x5208"
        assert chain("eth_createAccessList", {"to": STRANGER}, block)["gasUsed"] == "0x5208"
        chain("eth_simulateV1", {"blockStateCalls": [{"calls": [{"to": STRANGER}]}]}, block)
    assert chain("debug_traceCall", {"to": STRANGER}, "latest")["gas"] == 21_000
    chain("evm_mine")
    assert base_fee(chain) == 7 * 2**61


def test_a_transaction_may_have_as_much_gas_as_the_next_block(chain: Playground) -> None:
    for limit in (5_000, 21_000, 60_000_000, 30_000, 10**12):
        assert chain("evm_setBlockGasLimit", limit) is True
        for gas in (None, 21_000, 100_000):
            wants = 21_000 if gas is None else gas
            params = {"from": CREATOR, "to": RECIPIENT} | ({} if gas is None else {"gas": hex(gas)})
            reply = chain.ask("eth_sendTransaction", [params])
            if wants <= limit:
                assert chain.receipt(reply["result"]) is not None
                assert int(chain.block()["gasLimit"], 16) == limit
            else:
                assert reply["error"] == {"code": -32000, "message": "exceeds block gas limit"}
        chain("evm_mine")
        assert (int(chain.block()["gasLimit"], 16), chain.pool) == (limit, (0, 0))


def test_a_limit_of_no_valid_block_is_refused_with_the_reason(chain: Playground) -> None:
    for limit in (0, 1, 4999, 2**63, 2**64 - 1):
        error = chain.ask("evm_setBlockGasLimit", [limit])["error"]
        assert (error["code"], "on every verified chain" in error["message"]) == (-32602, True), error
    chain("evm_mine")
    assert int(chain.block()["gasLimit"], 16) == 60_000_000


@pytest.mark.parametrize("method", ["evm_setBlockGasLimit", "anvil_setBlockGasLimit"])
def test_blocks_have_the_gas_limit_that_is_wanted_from_now_on(chain: Playground, method: str) -> None:
    chain.send()
    assert chain(method, 1_000_000_000) is True
    assert surroundings(chain)[1] == int(chain.block("pending")["gasLimit"], 16) == 1_000_000_000
    chain("anvil_mine", 2)
    assert [int(chain.block(number)["gasLimit"], 16) for number in (2, 3)] == [1_000_000_000] * 2
    for limit in (4999, 1 << 63):
        with pytest.raises(RefusedError, match="gas limit") as refused:
            chain(method, limit)
        assert refused.value.code == -32602
    chain(method, 5000)
    chain("evm_mine")
    assert int(chain.block()["gasLimit"], 16) == 5000


def gas_limits(chain: Playground, count: int) -> list[int]:
    """Mine blocks, and return their gas limits, each as `pending` said."""
    limits = []
    for _ in range(count):
        announced = chain.block("pending")["gasLimit"]
        assert surroundings(chain)[1] == int(announced, 16)
        chain("evm_mine")
        assert chain.block()["gasLimit"] == announced
        limits.append(int(announced, 16))
    return limits


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (60_000_000, [60_000_000] * 3),
        (60_050_000, [60_050_000] * 3),
        # core.CalcGasLimit: the parent's 1024th less one, up or down.
        (10**9, [60_058_592, 60_117_241, 60_175_948]),
        (5000, [59_941_408, 59_882_873, 59_824_395]),
    ],
)
def test_the_gas_limit_moves_towards_the_setting(tmp_path: Path, target: int, expected: list[int]) -> None:
    with playground(tmp_path, gas_limit=target) as chain:
        assert gas_limits(chain, 3) == expected
        # A branch in the place of those blocks is built as they were.
        chain("wsnode_reorg", {"depth": 2})
        assert [int(chain.block(number)["gasLimit"], 16) for number in (1, 2, 3)] == expected


def test_a_gas_limit_that_is_set_holds_until_it_is_taken_back(tmp_path: Path) -> None:
    with playground(tmp_path, gas_limit=10**9) as chain:
        snapshot = chain("evm_snapshot")
        chain("evm_setBlockGasLimit", 20_000_000)
        assert gas_limits(chain, 2) == [20_000_000] * 2
        chain("wsnode_reorg", {"depth": 1})
        assert gas_limits(chain, 1) == [20_000_000]
        chain("evm_revert", snapshot)
        assert gas_limits(chain, 1) == [60_058_592]
        chain("evm_setBlockGasLimit", 20_000_000)
        chain("anvil_reset")
        assert gas_limits(chain, 1) == [60_058_592]


def test_the_next_block_has_the_random_value_that_is_wanted(chain: Playground) -> None:
    wanted = "0x" + "12" * 32
    assert chain("hardhat_setPrevRandao", wanted) is True
    assert surroundings(chain)[2] == int(wanted, 16)
    chain("evm_mine")
    assert chain.block()["mixHash"] == wanted
    assert surroundings(chain)[2] != int(wanted, 16)
    # What comes without being asked for is what `pending` said.
    random_value = surroundings(chain)[2]
    chain("evm_mine")
    assert surroundings(chain, "latest")[2] == random_value


def test_a_snapshot_holds_what_the_next_block_is_to_have(chain: Playground) -> None:
    chain("anvil_setNextBlockBaseFeePerGas", 5 * GWEI)
    identity = chain("evm_snapshot")
    chain("evm_mine")
    chain("anvil_setNextBlockBaseFeePerGas", 9 * GWEI)
    chain("evm_revert", identity)
    chain("evm_mine")
    assert base_fee(chain) == 5 * GWEI


def test_a_chain_with_such_blocks_goes_on_when_it_is_opened_again(tmp_path: Path) -> None:
    with playground(tmp_path) as chain:
        chain("anvil_setNextBlockBaseFeePerGas", 50 * GWEI)
        chain("evm_setBlockGasLimit", 20_000_000)
        chain.send()
        chain("evm_mine")
    with playground(tmp_path) as chain:
        chain("evm_mine")
        assert (chain.head, base_fee(chain, 1)) == (3, 50 * GWEI)
        # From what it was set to, it moves towards the setting of the node.
        assert int(chain.block()["gasLimit"], 16) == 20_000_000 + 20_000_000 // 1024 - 1
        chain("wsnode_reorg", {"depth": 3})
        assert (chain.head, base_fee(chain, 1), base_fee(chain, 2)) == (3, GWEI, FALLEN)


@pytest.mark.parametrize(
    ("method", "params", "ahead"),
    [
        ("evm_increaseTime", [10**6], None),
        ("evm_setNextBlockTimestamp", [GENESIS_TIME + 77], 77),
        ("evm_setTime", [GENESIS_TIME + 88], 88),
        ("anvil_setBlockTimestampInterval", [99], 99),
    ],
)
def test_what_runs_at_pending_has_the_time_of_the_next_block(
    chain: Playground, method: str, params: list[int], ahead: int | None
) -> None:
    chain(method, *params)
    seen = surroundings(chain)[0]
    assert chain.time("pending") == seen
    (simulated,) = chain("eth_simulateV1", {"blockStateCalls": [{}]}, "pending")
    assert int(simulated["timestamp"], 16) > seen
    chain("evm_mine")
    assert 0 <= chain.time() - seen <= 2
    assert ahead is None or 0 <= seen - GENESIS_TIME - ahead <= 2


def test_estimates_and_access_lists_at_pending_know_what_time_it_will_be(chain: Playground) -> None:
    chain("anvil_setCode", STRANGER, LATE_IS_DEAR)
    call = {"from": CREATOR, "to": STRANGER}
    cheap = int(chain("eth_estimateGas", call, "pending"), 16)
    assert chain("eth_createAccessList", call, "pending")["accessList"] == []
    chain("evm_setNextBlockTimestamp", 2**32 + 1)
    assert int(chain("eth_estimateGas", call, "pending"), 16) > cheap + 20_000 - 100
    (access,) = chain("eth_createAccessList", call, "pending")["accessList"]
    assert access["address"] == STRANGER
    # At the head it is still early.
    assert int(chain("eth_estimateGas", call, "latest"), 16) == cheap


def test_a_transaction_gets_the_gas_that_it_needs_in_the_next_block(chain: Playground) -> None:
    chain("anvil_setCode", STRANGER, LATE_IS_DEAR)
    chain("evm_setNextBlockTimestamp", 2**32 + 1)
    receipt = chain.receipt(chain.send(to=STRANGER, value=""))
    assert receipt is not None
    assert receipt["status"] == "0x1"
    assert int(receipt["gasUsed"], 16) > 40_000


def test_gas_is_estimated_behind_what_waits(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    # The second write to a slot is cheaper than the first one.
    chain("anvil_setCode", STRANGER, "0x600160015500")
    gas = []
    for _ in range(2):
        sent = chain.send(to=STRANGER, value="")
        gas.append(int(chain("eth_getTransactionByHash", sent)["gas"], 16))
    assert gas[0] > gas[1] + 15_000
    chain("evm_mine")
    assert chain.receipt(sent)["status"] == "0x1"  # type: ignore[index]


def test_the_transactions_of_the_block_to_come_are_traced(chain: Playground) -> None:
    assert chain("debug_traceBlockByNumber", "pending") == []
    chain("evm_setAutomine", False)
    chain("anvil_impersonateAccount", STRANGER)
    chain("anvil_setBalance", STRANGER, 10**18)
    sent = [chain.send(), chain.send(STRANGER)]
    for options in ({}, {"tracer": "callTracer"}):
        traces = chain("debug_traceBlockByNumber", "pending", options)
        assert sorted(trace["txHash"] for trace in traces) == sorted(sent)
        chain("evm_snapshot")
    traced = chain("debug_traceBlockByNumber", "pending", {"tracer": "callTracer"})
    chain("evm_mine")
    assert chain("debug_traceBlockByNumber", "latest", {"tracer": "callTracer"}) == traced


def test_the_node_says_what_it_is_set_to(chain: Playground) -> None:
    chain("anvil_setNextBlockBaseFeePerGas", 5 * GWEI)
    told = chain("anvil_nodeInfo")
    assert told.keys() == {
        *("currentBlockNumber", "currentBlockTimestamp", "currentBlockHash", "hardFork"),
        *("transactionOrder", "environment", "forkConfig"),
    }
    assert (told["currentBlockNumber"], told["hardFork"]) == ("0x0", "Osaka")
    assert told["currentBlockTimestamp"] == GENESIS_TIME
    assert told["environment"]["baseFee"] == hex(5 * GWEI)
