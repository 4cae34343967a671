"""anvil_dumpState, anvil_loadState: all accounts in anvil's file format."""

import gzip
import zlib
from typing import Any, Final

import msgspec

from wsnode.ethereum.absence import header_not_found
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.development.control import DevelopmentControl
from wsnode.ethereum.primitives.values import Address, hexadecimal
from wsnode.ethereum.rpc.development.mining import TRUE, Steps, done
from wsnode.ethereum.rpc.development.parameters import LenientBytes, decode_number
from wsnode.ethereum.rpc.development.schemas import ALWAYS_TRUE
from wsnode.ethereum.rpc.form.decoding import decode_bytes
from wsnode.ethereum.rpc.form.parameters import Flag, decode_address
from wsnode.ethereum.rpc.form.results import data
from wsnode.ethereum.rpc.form.schemas import BYTES
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError
from wsnode.jsonrpc.codec import UNREADABLE
from wsnode.jsonrpc.errors import invalid_params, response_too_large
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import InThread

MOST_BYTES: Final = 64 << 20
"""Bytes of an uncompressed dump."""
NO_CODE: Final = keccak256(b"")
GZIP: Final = b"\x1f\x8b"


class DumpParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[with the states after earlier blocks]`, which are never included."""

    with_history: Flag = Flag(is_set=False)


class LoadParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[dump]`."""

    dump: LenientBytes


class DumpedAccount(msgspec.Struct, frozen=True):
    """An account in anvil's format: quantities in hex, the nonce a JSON number."""

    nonce: int
    balance: str
    code: str
    storage: dict[str, str]


class Dump(msgspec.Struct, frozen=True):
    """All accounts; anvil accepts a dump without blocks but requires these members."""

    accounts: dict[str, DumpedAccount]
    block: Any = None
    best_block_number: int | str | None = None
    blocks: list[Any] = []
    transactions: list[Any] = []


_decode = msgspec.json.Decoder(Dump).decode


class StateDump:
    """The methods that dump and load all accounts."""

    def __init__(self, control: DevelopmentControl) -> None:
        self._control = control

    def dump(self, view: Snapshot, _params: DumpParameters) -> Steps:
        """Return all accounts after the head, as bytes of compressed JSON."""
        return data((yield InThread(lambda _cancel: _compressed(view))))

    def load(self, params: LoadParameters) -> Steps:
        """Return true once the accounts of a dump are part of the state after the head."""
        accounts = loaded(params.dump, MOST_BYTES)
        yield from done(lambda: self._control.put_accounts(accounts))
        return TRUE


def _compressed(view: Snapshot) -> bytes:
    return gzip.compress(msgspec.json.encode(dumped(view, MOST_BYTES)), mtime=0)


def dumped(view: Snapshot, most_bytes: int) -> Dump:
    """Return all accounts after the head.

    Raises:
        RpcError: They take more than `most_bytes` of JSON, or the head was reverted meanwhile.
    """
    accounts: dict[str, DumpedAccount] = {}
    size = 0
    try:
        for address in view.state.addresses(view.number, view.head.hash):
            account = _account(view, address)
            if account is None:
                # A revert may change the state without changing the block.
                continue
            accounts[hexadecimal(address)] = account
            size += len(account.code) + 140 * (1 + len(account.storage))
            if size > most_bytes:
                raise response_too_large()
    except ReorganisedError:
        raise header_not_found() from None
    return Dump(accounts)


def _account(view: Snapshot, address: bytes) -> DumpedAccount | None:
    block = view.number, view.head.hash
    found = view.state.account(address, block)
    if found is None:
        return None
    nonce, balance, code_hash = found
    code = b"" if code_hash == NO_CODE else view.state.code(address, block)
    slots = view.state.slots(address, *block)
    storage = {hexadecimal(slot): hexadecimal(value) for slot, value in slots}
    return DumpedAccount(nonce, hex(balance), hexadecimal(code), storage)


def loaded(dump: bytes, most_bytes: int) -> dict[Address, dict[str, Any]]:
    """Return a dump's accounts in the form of state overrides, except that nonces are numbers.

    Raises:
        RpcError: It is no dump, or has more than `most_bytes` uncompressed.
    """
    try:
        reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        text = reader.decompress(dump, most_bytes) if dump.startswith(GZIP) else dump
        accounts = _decode(text).accounts.items()
        return {Address(decode_address(name)): _override(account) for name, account in accounts}
    except (zlib.error, ValueError, *UNREADABLE):
        raise invalid_params("Failed to decode state dump") from None


def _override(account: DumpedAccount) -> dict[str, Any]:
    return {
        "nonce": decode_number(account.nonce),
        "balance": hex(decode_number(account.balance, 256)),
        "code": hexadecimal(decode_bytes(account.code)),
        "stateDiff": {_word(slot): _word(value) for slot, value in account.storage.items()},
    }


def _word(number: str) -> str:
    return hexadecimal(decode_number(number, 256).to_bytes(32, "big"))


def add_methods(registry: Registry, control: DevelopmentControl) -> None:
    """Register this module's methods."""
    chain_state = StateDump(control)
    for prefix in ("anvil", "hardhat"):
        registry.method(f"{prefix}_dumpState", result=BYTES, errors=(response_too_large(),))(chain_state.dump)
        registry.method(f"{prefix}_loadState", view=False, result=ALWAYS_TRUE)(chain_state.load)
