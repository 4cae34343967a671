"""The contracts that a method's parameters name, for keys restricted to some contracts."""

from collections.abc import Iterable
from typing import Any


def account_of(params: Any) -> list[int]:
    """Return a list of the only account in `params`."""
    return numbers([params.address])


def any_contract(_params: Any) -> None:
    """Return None: the method can read any contract without naming it."""
    return


def numbers(addresses: Iterable[bytes]) -> list[int]:
    """Return addresses as numbers, the form of keys' contracts."""
    return [int.from_bytes(address) for address in addresses]
