"""File with all accounts of a chain, in the format of anvil's --state, --load-state and --dump-state."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final, NamedTuple

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.development.state_dump import dumped, loaded
from wsnode.jsonrpc.errors import RpcError
from wsnode.node.config import ConfigurationError
from wsnode.untrusted.files import read_file

MAX_BYTES: Final = 1 << 30
"""Maximum bytes of a file, compressed or not."""
IN_FOLDER: Final = "state.json"


class StateFiles(NamedTuple):
    """Files of a development chain's accounts: `source` is loaded at its start, `target` written at its end;
    None for no file.
    """

    source: Path | None = None
    target: Path | None = None


def read_accounts(path: Path) -> dict[str, Any]:
    """Return the accounts in a file of anvil's or wsnode's, compressed or not, in the form of a genesis.

    Raises:
        ConfigurationError: The file cannot be read, or is no such file.
    """
    place = _file(path)
    try:
        accounts = loaded(read_file(place, MAX_BYTES), MAX_BYTES)
    except OSError as error:
        raise ConfigurationError(f"{place}: {error.strerror}") from error
    except RpcError:
        raise ConfigurationError(f"{place} is no state that anvil or wsnode has written") from None
    return {f"0x{address.hex()}": _of_genesis(account) for address, account in accounts.items()}


def write_accounts(chain: Chain, path: Path) -> None:
    """Write all accounts after the head to a file; a failure leaves the old file.

    Raises:
        ConfigurationError: The file cannot be written, or there are too many accounts.
    """
    place = _file(path)
    try:
        with chain.snapshot() as view:
            text = msgspec.json.encode(dumped(view, MAX_BYTES))
        with NamedTemporaryFile(dir=place.parent, prefix=f".{place.name}.", delete=False) as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, place)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise ConfigurationError(f"{place}: {error.strerror}; the state was not written") from error
    except RpcError as error:
        raise ConfigurationError(f"{place}: {error.message}; the state was not written") from error


def _file(path: Path) -> Path:
    return path / IN_FOLDER if path.is_dir() else path


def _of_genesis(account: dict[str, Any]) -> dict[str, Any]:
    # Slots with the value zero are not part of a state, so a genesis does not list them.
    slots = msgspec.json.decode(account["stateDiff"], type=dict[str, str])
    storage = {slot: value for slot, value in slots.items() if int(value, 16)}
    return {
        "balance": account["balance"],
        "nonce": hex(account["nonce"]),
        "code": account["code"],
        "storage": storage,
    }
