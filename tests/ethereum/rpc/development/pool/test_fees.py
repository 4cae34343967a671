"""Fees of zero, which a development chain takes: its ether is worth nothing."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.ethereum.development.playground import (
    AUTOMATIC,
    CREATOR,
    GENESIS_TIME,
    RECIPIENT,
    STRANGER,
    Playground,
    RefusedError,
    playground,
)
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import development_genesis
from wsnode.demo.run import begin
from wsnode.ethereum.state import sign_transaction

FREE: tuple[dict[str, str], ...] = (
    {"gasPrice": "0x0"},
    {"maxFeePerGas": "0x0"},
    {"maxFeePerGas": "0x0", "maxPriorityFeePerGas": "0x0"},
)


def included(chain: Playground, **members: Any) -> dict[str, Any]:
    receipt = chain.receipt(chain.send(**members))
    assert receipt is not None
    return receipt


def raw(**members: Any) -> str:
    """Return a transfer, signed by a client."""
    told: dict[str, Any] = {
        "chain_id": 31337,
        "nonce": 0,
        "to": bytes(20),
        "value": 1,
        "input": b"",
        "gas": 21_000,
    } | members
    return "0x" + sign_transaction(ACCOUNTS[0].secret, **told).hex()


def test_a_tip_of_zero_is_enough(chain: Playground) -> None:
    price = int(included(chain, maxPriorityFeePerGas="0x0")["effectiveGasPrice"], 16)
    assert price == int(chain.block()["baseFeePerGas"], 16)
    sent = chain("eth_sendRawTransaction", raw(nonce=1, max_fee=10**10, max_priority_fee=0))
    assert chain.receipt(sent) is not None


@pytest.mark.parametrize("fees", FREE, ids=str)
def test_a_block_without_a_base_fee_takes_transactions_that_pay_nothing(
    fees: dict[str, str], chain: Playground
) -> None:
    chain("anvil_setNextBlockBaseFeePerGas", 0)
    assert included(chain, **fees)["effectiveGasPrice"] == "0x0"
    # Nothing can be lower, so it stays so.
    assert included(chain, **fees)["effectiveGasPrice"] == "0x0"


@pytest.mark.parametrize("fees", [{"gas_price": 0}, {"max_fee": 0, "max_priority_fee": 0}], ids=str)
def test_what_a_client_signed_may_pay_nothing_too(fees: dict[str, int], chain: Playground) -> None:
    chain("anvil_setNextBlockBaseFeePerGas", 0)
    assert chain.receipt(chain("eth_sendRawTransaction", raw(**fees))) is not None


@pytest.mark.parametrize("fees", FREE, ids=str)
def test_an_impersonated_account_needs_no_funds_to_pay_nothing(
    fees: dict[str, str], chain: Playground
) -> None:
    chain("anvil_setNextBlockBaseFeePerGas", 0)
    chain("anvil_impersonateAccount", STRANGER)
    assert included(chain, sender=STRANGER, value=None, **fees)["status"] == "0x1"
    assert chain.balance(STRANGER) == 0
    with pytest.raises(RefusedError, match="insufficient funds"):
        chain.send(STRANGER, value=None, gasPrice="0x1")


def test_what_pays_less_than_the_base_fee_waits_for_a_lower_one(chain: Playground) -> None:
    sent = chain.send(gasPrice="0x0")
    assert (chain.receipt(sent), chain.pool) == (None, (1, 0))
    chain("anvil_setNextBlockBaseFeePerGas", 0)
    chain("evm_mine")
    assert chain.receipt(sent) is not None


def test_a_missing_tip_is_not_above_a_given_fee(chain: Playground) -> None:
    call = {"from": CREATOR, "to": RECIPIENT, "maxFeePerGas": "0x5"}
    chain("anvil_setNextBlockBaseFeePerGas", 0)
    filled = chain("eth_fillTransaction", call)["tx"]
    assert (filled["maxFeePerGas"], filled["maxPriorityFeePerGas"]) == ("0x5", "0x5")
    with pytest.raises(RefusedError, match=r"maxFeePerGas \(0x5\) < maxPriorityFeePerGas \(0x6\)"):
        chain("eth_fillTransaction", {**call, "maxPriorityFeePerGas": "0x6"})


@pytest.mark.parametrize("fees", FREE, ids=str)
def test_access_lists_are_made_for_what_pays_nothing(fees: dict[str, str], chain: Playground) -> None:
    chain("anvil_setNextBlockBaseFeePerGas", 0)
    call = {"from": STRANGER, "to": RECIPIENT, **fees}
    assert chain("eth_createAccessList", call, "pending")["accessList"] == []


@pytest.mark.parametrize(("given", "advised"), [(0, 0), (7, 7), (None, 1_000_000)])
def test_the_price_before_london_can_be_chosen(given: int | None, advised: int, tmp_path: Path) -> None:
    addresses = [account.address for account in ACCOUNTS]
    begin(tmp_path, development_genesis(addresses, 10**22, GENESIS_TIME, fork="berlin"))
    settings = msgspec.structs.replace(AUTOMATIC, gas_price=given)
    with playground(tmp_path, settings=settings) as chain:
        assert int(chain("eth_gasPrice"), 16) == advised
        sent = chain.send()
        assert int(chain("eth_getTransactionByHash", sent)["gasPrice"], 16) == advised
        assert chain.receipt(sent) is not None


def test_the_lowest_price_is_set_before_london_only(tmp_path: Path, chain: Playground) -> None:
    with pytest.raises(RefusedError, match="setMinGasPrice is not supported when EIP-1559 is active"):
        chain("anvil_setMinGasPrice", hex(1337))
    addresses = [account.address for account in ACCOUNTS]
    begin(tmp_path / "berlin", development_genesis(addresses, 10**22, GENESIS_TIME, fork="berlin"))
    with playground(tmp_path / "berlin") as berlin:
        assert berlin("anvil_setMinGasPrice", hex(1337)) is None
        assert berlin("eth_gasPrice") == hex(1337)
        assert included(berlin)["effectiveGasPrice"] == hex(1337)
        assert berlin("hardhat_setMinGasPrice", "42") is True
        assert berlin("eth_gasPrice") == hex(42)
        for prefix in ("anvil", "hardhat"):
            with pytest.raises(RefusedError, match="is only supported when EIP-1559 is active"):
                berlin(f"{prefix}_setNextBlockBaseFeePerGas", hex(1))
