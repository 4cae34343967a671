"""The demo's exchange: what it pays, when it refuses, and its rare event."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ethereum.development.playground import CREATOR, ETHER, Playground, RefusedError, playground
from wsnode.demo import exchange, token
from wsnode.demo.traffic import UNLIMITED

GAS = 6_000_000
"""Enough for a creation under the rules of Amsterdam, too."""
MILESTONE = "0x000cbadb024e810fa612392658b43885bacd6c694f81f8c8ccce279ce8c63c45"
SYNC = "0xcf2aa50876cdfbb541206f89af0ee78d44a2abf8d328e37fa4917f982149848a"


class Market:
    """A token and an exchange on a chain of their own, the creator's reserves in it."""

    def __init__(self, chain: Playground) -> None:
        self.chain = chain
        self.token = self._created(token.creation())
        self.exchange = self._created(exchange.creation(bytes.fromhex(self.token[2:])))
        self.send(self.token, token.approve(bytes.fromhex(self.exchange[2:]), UNLIMITED))
        self.send(self.exchange, exchange.deposit(1000 * token.UNIT), value=10 * ETHER)

    def send(self, to: str | None, call: bytes, value: int = 0) -> dict[str, Any]:
        """Return the receipt of a call."""
        sent = self.chain.send(to=to, data=f"0x{call.hex()}", value=hex(value), gas=hex(GAS))
        receipt = self.chain.receipt(sent)
        assert receipt is not None
        assert receipt["status"] == "0x1"
        return receipt

    def _created(self, code: bytes) -> str:
        address: str = self.send(None, code)["contractAddress"]
        return address

    def reserves(self, receipt: dict[str, Any]) -> tuple[int, int]:
        """Return ether and tokens as the receipt's last Sync says."""
        (log,) = [log for log in receipt["logs"] if log["topics"][0] == SYNC]
        content = bytes.fromhex(log["data"][2:])
        return int.from_bytes(content[:32], "big"), int.from_bytes(content[32:], "big")


@pytest.fixture
def market(tmp_path: Path) -> Iterator[Market]:
    with playground(tmp_path) as chain:
        yield Market(chain)


def test_a_swap_leaves_the_product_of_the_reserves_no_smaller(market: Market) -> None:
    before = (10 * ETHER, 1000 * token.UNIT)
    for call, value in ((exchange.buy(), ETHER), (exchange.sell(30 * token.UNIT), 0), (exchange.buy(), 1)):
        after = market.reserves(market.send(market.exchange, call, value))
        assert after[0] * after[1] >= before[0] * before[1]
        assert after != before
        before = after
    assert market.chain.balance(market.exchange) == before[0]


def test_a_price_that_is_too_bad_is_refused(market: Market) -> None:
    call = {"from": CREATOR, "to": market.exchange, "data": f"0x{exchange.sell(token.UNIT, ETHER).hex()}"}
    with pytest.raises(RefusedError, match="execution reverted: Exchange: price moved"):
        market.chain("eth_call", call, "latest")


def test_every_fiftieth_swap_is_an_event(market: Market) -> None:
    receipts = [market.send(market.exchange, exchange.buy(), 10**9) for _ in range(100)]
    rare = [
        number
        for number, receipt in enumerate(receipts, 1)
        for log in receipt["logs"]
        if log["topics"][0] == MILESTONE and int(log["topics"][1], 16) == number
    ]
    assert rare == [50, 100]
