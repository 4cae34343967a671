"""Which contracts the parameters of a method name, for keys that may name some only."""

from collections.abc import Iterable
from typing import Any


def account_of(params: Any) -> list[int]:
    """Return the one account that `params` has the address of."""
    return numbers([params.address])


def any_contract(_params: Any) -> None:
    """Return None, for a method that can read whichever contract it likes without naming it."""
    return


def numbers(addresses: Iterable[bytes]) -> list[int]:
    """Return addresses as keys have them."""
    return [int.from_bytes(address) for address in addresses]
