"""Token contract of the demo: its creation code and calls to it, ABI-encoded."""

from pathlib import Path
from typing import Final

TRANSFER: Final = bytes.fromhex("a9059cbb")
APPROVE: Final = bytes.fromhex("095ea7b3")
TRANSFER_FROM: Final = bytes.fromhex("23b872dd")

UNIT: Final = 10**18
SUPPLY: Final = 1_000_000 * UNIT

# The first contract that the first development account creates: every EVM chain gives it this address.
ADDRESS: Final = bytes.fromhex("5fbdb2315678afecb367f032d93f642f64180aa3")


def creation() -> bytes:
    """Return the input of the transaction that creates the token; its creator gets the whole supply."""
    code = Path(__file__).with_name("token.hex").read_text().strip()
    return bytes.fromhex(code) + word(SUPPLY)


def transfer(to: bytes, value: int) -> bytes:
    """Return the input of a call that moves `value` to `to`."""
    return TRANSFER + address(to) + word(value)


def approve(spender: bytes, value: int) -> bytes:
    """Return the input of a call that lets `spender` move `value`."""
    return APPROVE + address(spender) + word(value)


def transfer_from(owner: bytes, to: bytes, value: int) -> bytes:
    """Return the input of a call that moves `value` of `owner` to `to`."""
    return TRANSFER_FROM + address(owner) + address(to) + word(value)


def address(value: bytes) -> bytes:
    """Return an address as an ABI word of 32 bytes."""
    return value.rjust(32, b"\0")


def word(value: int) -> bytes:
    """Return an unsigned integer as an ABI word of 32 bytes."""
    return value.to_bytes(32, "big")
