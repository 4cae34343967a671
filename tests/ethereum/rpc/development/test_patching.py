"""Accounts changed by no transaction."""

import pytest

from tests.ethereum.development.playground import CREATOR, RECIPIENT, STRANGER, Playground, RefusedError

SLOT, VALUE = "0x" + "05".rjust(64, "0"), "0x" + "22" * 32
# Returns what is in slot 5.
READS_SLOT_5 = "0x60055460005260206000f3"


@pytest.mark.parametrize(("prefix", "answer"), [("anvil", None), ("hardhat", True)])
def test_an_account_is_changed_in_place(prefix: str, answer: bool | None, chain: Playground) -> None:
    chain("evm_mine")
    assert chain(f"{prefix}_setBalance", STRANGER, "0x64") is answer
    assert chain(f"{prefix}_setNonce", STRANGER, "0x5") is answer
    assert chain(f"{prefix}_setCode", STRANGER, READS_SLOT_5) is answer
    assert chain(f"{prefix}_setStorageAt", STRANGER, "0x5", VALUE) is True
    for _ in range(2):
        assert (chain.balance(STRANGER), chain.nonce(STRANGER)) == (100, 5)
        assert chain("eth_getCode", STRANGER, "latest") == READS_SLOT_5
        assert chain("eth_getStorageAt", STRANGER, "0x5", "latest") == VALUE
        assert chain("eth_call", {"to": STRANGER}, "latest") == VALUE
        assert chain.balance(STRANGER, "0x0") == 0
        chain.send()


@pytest.mark.parametrize("amount", [100, "100", "0x64", "0x0064"])
def test_amounts_come_in_every_form(amount: object, chain: Playground) -> None:
    chain("anvil_setBalance", STRANGER, amount)
    assert chain.balance(STRANGER) == 100


def test_code_needs_no_prefix(chain: Playground) -> None:
    chain("anvil_setCode", STRANGER, READS_SLOT_5[2:])
    assert chain("eth_getCode", STRANGER, "latest") == READS_SLOT_5


@pytest.mark.parametrize("prefix", ["anvil", "hardhat", "tenderly"])
def test_ether_is_added(chain: Playground, prefix: str) -> None:
    before = chain.balance(RECIPIENT)
    assert chain(f"{prefix}_addBalance", RECIPIENT, hex(5)) is None
    assert chain.balance(RECIPIENT) == before + 5
    with pytest.raises(RefusedError, match="balance"):
        chain("anvil_addBalance", RECIPIENT, 2**256 - 1)


def test_a_balance_is_set_under_tenderlys_name(chain: Playground) -> None:
    assert chain("tenderly_setBalance", STRANGER, "0x64") is None
    assert chain.balance(STRANGER) == 100


def test_a_slot_may_be_set_to_nothing_again(chain: Playground) -> None:
    chain("anvil_setStorageAt", STRANGER, SLOT, VALUE)
    chain("anvil_setStorageAt", STRANGER, 5, "0x" + "00" * 32)
    assert chain("eth_getStorageAt", STRANGER, "0x5", "latest") == "0x" + "00" * 32


def test_transactions_see_the_change(chain: Playground) -> None:
    chain("anvil_setBalance", CREATOR, "0x0")
    with pytest.raises(RefusedError, match="insufficient funds"):
        chain.send(gas="0x5208")
    chain("anvil_setBalance", CREATOR, hex(10**18))
    chain("anvil_setNonce", CREATOR, "0x7")
    transaction = chain("eth_getTransactionByHash", chain.send())
    assert (transaction["nonce"], chain.nonce(CREATOR)) == ("0x7", 8)


def test_what_waits_is_judged_again(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    chain.send(), chain.send()
    chain("anvil_setNonce", CREATOR, "0x1")
    assert chain.pool == (1, 0)
    chain("anvil_setBalance", CREATOR, "0x0")
    assert chain.pool == (0, 0)


def test_a_change_is_part_of_the_chain_that_is_built_on_it(chain: Playground) -> None:
    chain("anvil_setBalance", STRANGER, "0x64")
    chain("anvil_mine", 3)
    chain("wsnode_reorg", {"depth": 3})
    assert chain.balance(STRANGER) == 100
    chain("anvil_setBalance", RECIPIENT, "0x7")
    chain("wsnode_reorg", {"depth": 1})
    assert chain.balance(RECIPIENT) > 7


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("anvil_setBalance", [STRANGER]),
        ("anvil_setBalance", [STRANGER, "0x" + "f" * 65]),
        ("anvil_setBalance", ["0x12", "0x1"]),
        ("anvil_setStorageAt", [STRANGER, "0x1", "0x11"]),
        ("anvil_setCode", [STRANGER, "zz"]),
        ("anvil_setNonce", [STRANGER, "0x" + "f" * 17]),
        ("anvil_setCoinbase", ["0x"]),
    ],
)
def test_what_is_malformed_is_refused(method: str, params: list[object], chain: Playground) -> None:
    with pytest.raises(RefusedError) as error:
        chain(method, *params)
    assert error.value.code == -32602
