"""Balances and allowances of tokens, whatever slots those are kept in."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ethereum.development.playground import CREATOR, RECIPIENT, STRANGER, Playground, RefusedError
from wsnode.demo import token

CODES: dict[str, str] = json.loads((Path(__file__).parent / "tokens.json").read_text())
TOKEN, STORE = "0x" + "70" * 20, "0x" + "57" * 20
DEMO = f"0x{token.ADDRESS.hex()}"
HUGE = 2**256 - 1


def word(number: int) -> str:
    return f"0x{number:064x}"


def padded(*accounts: str) -> str:
    return "".join(account[2:].rjust(64, "0") for account in accounts)


def balance(chain: Playground, contract: str, owner: str) -> int:
    return int(chain("eth_call", {"to": contract, "data": "0x70a08231" + padded(owner)}, "latest"), 16)


def allowance(chain: Playground, contract: str, owner: str, spender: str) -> int:
    call = {"to": contract, "data": "0xdd62ed3e" + padded(owner, spender)}
    return int(chain("eth_call", call, "latest"), 16)


def deploy(chain: Playground, name: str) -> str:
    """Return the address of a token of that kind."""
    if name == "demo":
        chain.send(to=None, value=None, data=f"0x{token.creation().hex()}")
        return DEMO
    if name == "proxy":
        chain("anvil_setCode", STORE, CODES["Guarded"])
        # A minimal proxy (ERC-1167).
        chain("anvil_setCode", TOKEN, f"0x363d3d373d3d3d363d73{STORE[2:]}5af43d82803e903d91602b57fd5bf3")
        return TOKEN
    chain("anvil_setCode", TOKEN, CODES[name])
    if name == "Elsewhere":
        chain("anvil_setCode", STORE, CODES["Guarded"])
        chain("anvil_setStorageAt", TOKEN, 0, word(int(STORE, 16)))
    return TOKEN


KINDS = ("demo", "proxy", "Guarded", "Namespaced", "Reversed", "Packed", "Elsewhere")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["anvil_dealERC20", "anvil_setERC20Balance", "hardhat_dealERC20"])
@pytest.mark.parametrize("name", KINDS)
def test_an_account_gets_a_balance(chain: Playground, name: str, method: str) -> None:
    contract = deploy(chain, name)
    before = balance(chain, contract, CREATOR)
    for amount in (10**30, 1, 1, 0, 10**24):
        assert chain(method, STRANGER, contract, hex(amount)) is None
        assert balance(chain, contract, STRANGER) == amount
        assert balance(chain, contract, CREATOR) == before
    chain("evm_mine")
    assert balance(chain, contract, STRANGER) == 10**24


@pytest.mark.parametrize("name", KINDS)
def test_a_spender_gets_an_allowance(chain: Playground, name: str) -> None:
    contract = deploy(chain, name)
    for amount in (10**30, 1, 0, 2**128 - 1):
        assert chain("anvil_setERC20Allowance", CREATOR, STRANGER, contract, str(amount)) is None
        assert allowance(chain, contract, CREATOR, STRANGER) == amount
        assert allowance(chain, contract, STRANGER, CREATOR) == 0
        assert balance(chain, contract, STRANGER) == 0


def test_what_was_dealt_can_be_spent(chain: Playground) -> None:
    contract = deploy(chain, "demo")
    chain("anvil_dealERC20", STRANGER, contract, HUGE)
    chain("anvil_setERC20Allowance", STRANGER, CREATOR, contract, 7)
    for amount, status in ((8, "0x0"), (7, "0x1"), (1, "0x0")):
        data = token.transfer_from(bytes.fromhex(STRANGER[2:]), bytes.fromhex(RECIPIENT[2:]), amount).hex()
        receipt = chain.receipt(chain.send(to=contract, value=None, data=f"0x{data}", gas="0x30000"))
        assert receipt is not None
        assert receipt["status"] == status
    assert balance(chain, contract, STRANGER) == HUGE - 7


def state(chain: Playground) -> Any:
    return [chain("eth_getStorageAt", TOKEN, hex(slot), "latest") for slot in range(3)]


@pytest.mark.parametrize("amount", [0, 1, 10**18])
@pytest.mark.parametrize(
    ("name", "what"), [("Rebasing", "balance"), ("Rebasing", "allowance"), ("", "balance")]
)
def test_what_no_slot_holds_is_refused_and_nothing_changed(
    chain: Playground, name: str, what: str, amount: int
) -> None:
    if name:
        deploy(chain, name)
    before = state(chain)
    method, accounts = (
        ("anvil_dealERC20", [STRANGER])
        if what == "balance"
        else ("anvil_setERC20Allowance", [STRANGER, CREATOR])
    )
    with pytest.raises(RefusedError, match=f"^Unable to set ERC20 {what}, no slot found$") as refused:
        chain(method, *accounts, TOKEN, amount)
    assert refused.value.code == -32000
    assert state(chain) == before


def test_a_balance_that_does_not_fit_is_refused(chain: Playground) -> None:
    contract = deploy(chain, "Packed")
    with pytest.raises(RefusedError, match="no slot found"):
        chain("anvil_dealERC20", STRANGER, contract, 2**128)
    assert balance(chain, contract, STRANGER) == 0


@pytest.mark.slow
def test_a_token_that_reads_without_end_is_given_up(chain: Playground) -> None:
    # Reads slot after slot until its gas is used up.
    chain("anvil_setCode", TOKEN, "0x5f5b8054506001016001565b")
    with pytest.raises(RefusedError) as refused:
        chain("anvil_dealERC20", STRANGER, TOKEN, 1)
    assert refused.value.code == -32000
