"""File of anvil's `--init`: a genesis in geth's format, some members of which anvil uses."""

from pathlib import Path
from typing import Any, Final

import msgspec

from wsnode.ethereum.primitives.values import Address
from wsnode.node.config import ConfigurationError
from wsnode.untrusted.decoding import JsonDecoder, MalformedError, decode_bytes
from wsnode.untrusted.files import read_file

MAX_BYTES: Final = 256 * 1024 * 1024
_ACCOUNT_MEMBERS: Final = ("balance", "nonce", "code", "storage")

Number = int | str
"""JSON number, or its text in decimal digits or in hex."""


class _Config(msgspec.Struct):
    chain_id: int | None = msgspec.field(name="chainId", default=None)


class _Document(msgspec.Struct, rename="camel"):
    config: _Config = msgspec.field(default_factory=_Config)
    timestamp: Number | None = None
    base_fee_per_gas: Number | None = None
    coinbase: str | None = None
    alloc: dict[str, dict[str, Any]] = {}


_DOCUMENT: Final = JsonDecoder(_Document)


class InitFile(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a new chain from a genesis file (anvil's `--init`): accounts by address, time in seconds,
    base fee in wei; None for a member absent from the file.
    """

    accounts: dict[str, Any]
    chain_id: int | None = None
    timestamp: int | None = None
    base_fee: int | None = None
    fee_recipient: Address | None = None


def read_init_file(path: Path) -> InitFile:
    """Return the settings of a new chain in a genesis file, without its forks and its gas limit.

    Raises:
        ConfigurationError: The file cannot be read, or is no genesis.
    """
    try:
        document = _DOCUMENT.decode(read_file(path, MAX_BYTES))
        return InitFile(
            accounts=dict(_account(*each) for each in document.alloc.items()),
            chain_id=document.config.chain_id,
            timestamp=_number("timestamp", document.timestamp),
            base_fee=_number("baseFeePerGas", document.base_fee_per_gas),
            fee_recipient=None
            if document.coinbase is None
            else Address(_address("coinbase", document.coinbase)),
        )
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path} is no genesis: {error}") from error


def _account(address: str, members: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    known = {name: members[name] for name in _ACCOUNT_MEMBERS if members.get(name) is not None}
    return f"0x{_address('alloc', address).hex()}", {"balance": "0x0"} | known


def _address(place: str, text: str) -> bytes:
    try:
        return decode_bytes(text if text.startswith("0x") else f"0x{text}", 20)
    except MalformedError:
        raise ValueError(f"{place}: {text[:80]!r} is no address") from None


def _number(place: str, value: Number | None) -> int | None:
    if value is None or isinstance(value, int):
        number = value
    else:
        try:
            number = int(value, 16 if value.startswith("0x") else 10)
        except ValueError:
            raise ValueError(f"{place}: {value[:80]!r} is no number") from None
    if number is not None and not 0 <= number < 1 << 63:
        raise ValueError(f"{place}: {number} is out of range")
    return number
