"""Contracts that the protocol calls in each block, with code that fails: blocks are made all the same."""

import pytest

from tests.ethereum.development.playground import CREATOR, Playground, RefusedError

WITHDRAWALS = "0x00000961ef480eb55e80d19ad83579a64c007002"
CONSOLIDATIONS = "0x0000bbddc7ce488642fb579f8b00f3a590007251"
HASHES = "0x0000f90827f1c53a10cb7a02335b175320002935"
ROOTS = "0x000f3df6d732807ef1319fb7b8bb8522d0beac02"
NO_REQUESTS = "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""The hash of no requests (EIP-7685): SHA-256 of nothing."""
FAILING = {
    "reverts": "0x60006000fd",
    "invalid": "0xfe",
    "endless": "0x5b600056",
    "too much": "0x63ffffffff5ff3",
}


@pytest.mark.slow
@pytest.mark.parametrize("code", FAILING.values(), ids=FAILING)
@pytest.mark.parametrize(
    ("contract", "name"),
    [
        pytest.param(WITHDRAWALS, "withdrawal requests", id="withdrawals"),
        pytest.param(CONSOLIDATIONS, "consolidation requests", id="consolidations"),
    ],
)
def test_a_block_lacks_the_requests_of_a_contract_that_fails(
    chain: Playground, contract: str, name: str, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = chain("evm_snapshot")
    chain("anvil_setCode", contract, code)
    assert chain.block("pending")["number"] == "0x1"
    assert int(chain("eth_getBalance", CREATOR, "pending"), 16) > 0
    assert chain("evm_mine") == "0x0"
    assert chain.receipt(chain.send())["status"] == "0x1"  # type: ignore[index]
    assert chain.head == 2
    assert chain.block()["requestsHash"] == NO_REQUESTS
    failure = f"failed to apply {name} contract call: execution "
    assert f"block 1 lacks the requests of a failed system contract: {failure}" in caplog.text
    assert chain("evm_revert", before) is True
    caplog.clear()
    assert chain("evm_mine") == "0x0"
    assert caplog.text == ""


@pytest.mark.slow
@pytest.mark.parametrize("code", [*FAILING.values(), "0x"], ids=[*FAILING, "none"])
@pytest.mark.parametrize("contract", [HASHES, ROOTS], ids=["hashes", "roots"])
def test_contracts_that_are_only_told_something_may_fail_in_any_block(
    chain: Playground, contract: str, code: str
) -> None:
    chain("anvil_setCode", contract, code)
    assert chain("evm_mine") == "0x0"


def test_requests_of_the_other_contract_stay(chain: Playground) -> None:
    chain("anvil_setCode", WITHDRAWALS, FAILING["reverts"])
    # 75 bytes of zeros for each look.
    chain("anvil_setCode", CONSOLIDATIONS, "0x604b5ff3")
    assert chain("evm_mine") == "0x0"
    assert chain.block()["requestsHash"] != NO_REQUESTS


def test_a_block_that_others_are_to_take_is_not_built_without_them(chain: Playground) -> None:
    chain("anvil_setCode", WITHDRAWALS, FAILING["reverts"])
    attributes = {
        "timestamp": hex(chain.time() + 1),
        "prevRandao": "0x" + "00" * 32,
        "suggestedFeeRecipient": CREATOR,
        "withdrawals": [],
        "parentBeaconBlockRoot": "0x" + "00" * 32,
    }
    with pytest.raises(
        RefusedError, match="withdrawal requests contract call: execution reverted"
    ) as refused:
        chain("testing_buildBlockV1", chain.block()["hash"], attributes, [])
    assert refused.value.code == -32000
