"""Exchange of ether for tokens on the demo chain: its creation code and calls to it, ABI-encoded."""

from pathlib import Path
from typing import Final

from wsnode.demo.token import UNIT, address, word

DEPOSIT: Final = bytes.fromhex("b6b55f25")
BUY: Final = bytes.fromhex("d96a094a")
SELL: Final = bytes.fromhex("d79875eb")

# The first contract that the first trader creates.
ADDRESS: Final = bytes.fromhex("fbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9")
ETHER_RESERVE: Final = 50 * UNIT
TOKEN_RESERVE: Final = 50_000 * UNIT


def creation(token: bytes) -> bytes:
    """Return the input of the transaction that creates the exchange for a token."""
    code = Path(__file__).with_name("exchange.hex").read_text().strip()
    return bytes.fromhex(code) + address(token)


def deposit(tokens: int) -> bytes:
    """Return the input of a call that adds its ether and these tokens to the reserves."""
    return DEPOSIT + word(tokens)


def buy(minimum: int = 0) -> bytes:
    """Return the input of a call that buys at least `minimum` tokens for its ether."""
    return BUY + word(minimum)


def sell(tokens: int, minimum: int = 0) -> bytes:
    """Return the input of a call that sells tokens for at least `minimum` wei."""
    return SELL + word(tokens) + word(minimum)
