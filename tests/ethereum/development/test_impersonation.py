"""Unsigned transactions of impersonated accounts."""

import pytest

from tests.ethereum.development.playground import RECIPIENT, STRANGER, Playground, RefusedError


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
