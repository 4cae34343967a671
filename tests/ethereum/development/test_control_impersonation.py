"""Unsigned transactions of impersonated accounts."""

from typing import Any

import pytest

from tests.ethereum.development.playground import RECIPIENT, STRANGER, Playground, RefusedError

HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
"""The highest `s` of a signature (EIP-2)."""
FEES: tuple[dict[str, Any], ...] = (
    {"gasPrice": "0x77359400"},
    {"gasPrice": "0x77359400", "accessList": [{"address": RECIPIENT, "storageKeys": []}]},
    {"maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x1"},
)


def test_an_impersonated_account_needs_no_signature(chain: Playground) -> None:
    chain("anvil_setBalance", STRANGER, hex(10**18))
    chain("anvil_impersonateAccount", STRANGER)
    sent = chain.send(STRANGER)
    transaction, receipt = chain("eth_getTransactionByHash", sent), chain.receipt(sent)
    assert receipt is not None
    assert (transaction["from"], receipt["from"], receipt["status"]) == (STRANGER, STRANGER, "0x1")
    assert chain.nonce(STRANGER) == 1
    assert chain("anvil_stopImpersonatingAccount", STRANGER) is None
    with pytest.raises(RefusedError, match="unknown account"):
        chain.send(STRANGER)


def test_everybody_is_impersonated_if_that_is_wanted(chain: Playground) -> None:
    chain("hardhat_setBalance", STRANGER, hex(10**18))
    assert chain("anvil_autoImpersonateAccount", True) is None
    assert chain.receipt(chain.send(STRANGER)) is not None
    assert chain("hardhat_autoImpersonateAccount", False) is True
    with pytest.raises(RefusedError, match="unknown account"):
        chain.send(STRANGER)


def test_a_transaction_can_be_sent_for_anybody_without_a_signature(chain: Playground) -> None:
    chain("anvil_setBalance", STRANGER, hex(10**18))
    sent = chain("eth_sendUnsignedTransaction", {"from": STRANGER, "to": RECIPIENT, "value": "0x5"})
    receipt = chain.receipt(sent)
    assert receipt is not None
    assert (receipt["from"], chain.nonce(STRANGER)) == (STRANGER, 1)
    assert STRANGER not in chain("eth_accounts")
    with pytest.raises(RefusedError, match="insufficient funds"):
        chain("eth_sendUnsignedTransaction", {"from": "0x" + "99" * 20, "to": RECIPIENT, "gas": "0x5208"})


def test_a_contract_can_be_impersonated(chain: Playground) -> None:
    chain("anvil_setBalance", STRANGER, hex(10**18))
    chain("anvil_setCode", STRANGER, "0x6001600055")
    chain("hardhat_impersonateAccount", STRANGER)
    receipt = chain.receipt(chain.send(STRANGER))
    assert receipt is not None
    assert receipt["status"] == "0x1"


def test_impersonated_transactions_wait_and_are_seen_like_others(chain: Playground) -> None:
    chain("anvil_setBalance", STRANGER, hex(10**18))
    chain("anvil_impersonateAccount", STRANGER)
    chain("evm_setAutomine", False)
    sent = [chain.send(STRANGER), chain.send(STRANGER), chain.send()]
    assert chain.pool == (3, 0)
    assert set(chain.block("pending")["transactions"]) == set(sent)
    assert chain.balance(RECIPIENT, "pending") == chain.balance(RECIPIENT) + 3
    chain("evm_mine")
    assert set(chain.block()["transactions"]) == set(sent)
    chain("wsnode_reorg", {"depth": 1})
    assert chain.pool == (3, 0)


def test_a_block_for_tests_holds_impersonated_transactions(chain: Playground) -> None:
    chain("anvil_setBalance", STRANGER, hex(10**18))
    chain("anvil_impersonateAccount", STRANGER)
    chain("evm_setAutomine", False)
    chain.send(STRANGER)
    attributes = {
        "timestamp": hex(chain.time() + 12),
        "prevRandao": "0x" + "00" * 32,
        "suggestedFeeRecipient": RECIPIENT,
        "withdrawals": [],
        "parentBeaconBlockRoot": "0x" + "00" * 32,
    }
    built = chain("testing_buildBlockV1", chain.block()["hash"], attributes, None)
    assert len(built["executionPayload"]["transactions"]) == 1


def test_hardhat_says_whether_an_account_was_impersonated(chain: Playground) -> None:
    assert chain("hardhat_impersonateAccount", STRANGER) is True
    assert chain("hardhat_stopImpersonatingAccount", STRANGER) is True
    assert chain("hardhat_stopImpersonatingAccount", STRANGER) is False


@pytest.mark.parametrize("fees", FEES, ids=["0", "1", "2"])
def test_signatures_are_in_range_and_equal_transactions_have_two_hashes(
    fees: dict[str, Any], chain: Playground
) -> None:
    senders = [STRANGER, "0x" + "00" * 20, "0x" + "bb" * 20]
    chain("evm_setAutomine", False)
    chain("anvil_autoImpersonateAccount", True)
    for sender in senders:
        chain("anvil_setBalance", sender, hex(10**18))
    sent = [chain.send(sender, nonce="0x0", gas="0x9000", **fees) for sender in senders]
    chain("evm_mine")
    assert len(set(sent)) == len(sent)
    assert set(chain.block()["transactions"]) == set(sent)
    for transaction, sender in zip(sent, senders, strict=True):
        told = chain("eth_getTransactionByHash", transaction)
        assert (told["from"], told["hash"]) == (sender, transaction)
        assert all(0 < int(told[name], 16) <= HALF_ORDER for name in ("r", "s"))
        assert int(told["v"], 16) in (0, 27, 2 * 31337 + 35)
