"""Simulated blocks on a fork, whose contracts have slots that only the other chain could list."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.demo.test_exchange import Market
from tests.ethereum.development.forks import MemoryClient, forked_playground
from tests.ethereum.development.playground import CREATOR, Playground, playground

SLOT = f"0x{7:064x}"
STORE = "0x602a600755600160005360016000f3"
"""Creation code that writes slot 7 and returns the code 0x01."""


@pytest.fixture
def market(tmp_path: Path) -> Iterator[Market]:
    with playground(tmp_path / "theirs") as chain:
        yield Market(chain)


@pytest.fixture
def fork(tmp_path: Path, market: Market) -> Iterator[Playground]:
    with forked_playground(tmp_path / "ours", [MemoryClient(market.chain)]) as chain:
        yield chain


def nonce_of(market: Market, contract: str) -> str:
    """Return the nonce that its creator had when it made a contract."""
    for number in range(market.chain.head + 1):
        for sent in market.chain.block(number)["transactions"]:
            receipt = market.chain.receipt(sent)
            if receipt is not None and receipt["contractAddress"] == contract:
                nonce: str = market.chain("eth_getTransactionByHash", sent)["nonce"]
                return nonce
    raise LookupError(contract)


def on_both(market: Market, fork: Playground, *blocks: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks on the fork; they have the same state roots as on the other chain."""
    results = [
        chain("eth_simulateV1", {"blockStateCalls": list(blocks)}, "latest") for chain in (fork, market.chain)
    ]
    ours, theirs = results
    assert [block["calls"] for block in ours] == [block["calls"] for block in theirs]
    assert [block["stateRoot"] for block in ours] == [block["stateRoot"] for block in theirs]
    return list(ours)


def same_accounts(market: Market, fork: Playground) -> None:
    """Give the fork's own accounts what they have on the other chain."""
    for address in fork("eth_accounts"):
        fork("anvil_setBalance", address, market.chain("eth_getBalance", address, "latest"))


def test_a_creation_succeeds_where_an_account_has_slots_that_are_not_known(
    market: Market, fork: Playground
) -> None:
    same_accounts(market, fork)
    overrides = {
        CREATOR: {"nonce": nonce_of(market, market.token)},
        market.token: {"nonce": "0x0", "code": "0x"},
    }
    create = {"from": CREATOR, "input": STORE}
    read = {"from": CREATOR, "to": market.token}
    shown = {market.token: {"code": "0x60075460005260206000f3"}}
    (first, second) = on_both(
        market,
        fork,
        {"stateOverrides": overrides, "calls": [create]},
        {"stateOverrides": shown, "calls": [read]},
    )
    assert first["calls"][0]["status"] == "0x1"
    assert first["calls"][0]["returnData"] == "0x01"
    assert second["calls"][0]["returnData"] == f"0x{42:064x}"


def test_all_slots_are_replaced_though_they_cannot_be_listed(market: Market, fork: Playground) -> None:
    same_accounts(market, fork)
    replaced = {market.token: {"state": {SLOT: f"0x{9:064x}"}, "code": "0x60075460005260206000f3"}}
    (block, _, again) = on_both(
        market,
        fork,
        {"stateOverrides": replaced, "calls": [{"from": CREATOR, "to": market.token}]},
        {},
        {"stateOverrides": {market.token: {"state": {}}}, "calls": [{"from": CREATOR, "to": market.token}]},
    )
    assert block["calls"][0]["returnData"] == f"0x{9:064x}"
    assert again["calls"][0]["returnData"] == f"0x{0:064x}"
