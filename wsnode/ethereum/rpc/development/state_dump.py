"""anvil_dumpState, anvil_loadState: all accounts in anvil's file format."""

import gzip
import zlib
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.development.chain import DevelopmentChain
from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.primitives.values import Address, hexadecimal
from wsnode.ethereum.rpc.common.parameters import Flag
from wsnode.ethereum.rpc.common.results import data
from wsnode.ethereum.rpc.common.schemas import BYTES
from wsnode.ethereum.rpc.development.mining import TRUE, Steps, done
from wsnode.ethereum.rpc.development.parameters import LenientBytes
from wsnode.ethereum.rpc.development.schemas import ALWAYS_TRUE
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError, read_dump
from wsnode.jsonrpc.errors import invalid_params, response_too_large
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import RunInThread

MAX_BYTES: Final = 64 << 20
"""Bytes of an uncompressed dump."""
PIECE_BYTES: Final = 1 << 20
MAX_ACCOUNTS: Final = 100_000
"""Accounts of a dump that is loaded, 20 us each."""
NO_CODE: Final = keccak256(b"")
GZIP: Final = b"\x1f\x8b"


class DumpParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[history]`: true to request the states after earlier blocks too, which are never included."""

    with_history: Flag = Flag(is_set=False)


class LoadParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[dump]`, as hex of the bytes that anvil_dumpState returned."""

    dump: LenientBytes


class DumpedAccount(msgspec.Struct, frozen=True):
    """Account in anvil's dump: balance, code and storage in hex, storage as values by slot, the nonce as a
    JSON number.
    """

    nonce: int
    balance: str
    code: str
    storage: dict[str, str]


class AnvilDump(msgspec.Struct, frozen=True):
    """Dump of a chain's state in anvil's format: all accounts, and the members for blocks, which anvil
    requires even if they are empty.
    """

    accounts: dict[str, DumpedAccount]
    block: Any = None
    best_block_number: int | str | None = None
    blocks: list[Any] = []
    transactions: list[Any] = []


class StateDumpMethods:
    """Handlers that dump and load all accounts."""

    def __init__(self, control: DevelopmentChain) -> None:
        self._control = control

    def dump(self, view: Snapshot, _params: DumpParameters) -> Steps:
        """Return all accounts after the head, as bytes of compressed JSON."""
        return data((yield RunInThread(lambda _cancel: _compressed(view))))

    def load(self, params: LoadParameters) -> Steps:
        """Return true once the accounts of a dump are part of the state after the head."""
        accounts = yield RunInThread(lambda _cancel: loaded(params.dump, MAX_BYTES))
        yield from done(lambda: self._control.put_accounts(accounts))
        return TRUE


def _compressed(view: Snapshot) -> bytes:
    return gzip.compress(msgspec.json.encode(dumped(view, MAX_BYTES)), mtime=0)


def dumped(view: Snapshot, most_bytes: int) -> AnvilDump:
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
                # The account has left the state since the addresses were listed: a revert may change the
                # state without changing the block.
                continue
            accounts[hexadecimal(address)] = account
            size += len(account.code) + 140 * (1 + len(account.storage))
            if size > most_bytes:
                raise response_too_large()
    except ReorganisedError:
        raise header_not_found() from None
    return AnvilDump(accounts)


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

    The slots of each are one JSON text. Other threads run meanwhile.

    Raises:
        RpcError: It is no dump, or has more than `most_bytes` uncompressed, or too many accounts.
    """
    try:
        accounts = read_dump(_expanded(dump, most_bytes))
    except (zlib.error, ValueError):
        raise invalid_params("Failed to decode state dump") from None
    if len(accounts) > MAX_ACCOUNTS:
        raise invalid_params(f"the dump has {len(accounts)} accounts, want at most {MAX_ACCOUNTS}")
    return {
        Address(address): {
            "nonce": nonce,
            "balance": balance,
            "code": code,
            "stateDiff": msgspec.Raw(storage),
        }
        for address, nonce, balance, code, storage in accounts
    }


def _expanded(dump: bytes, most_bytes: int) -> bytes:
    """Return the JSON text of a dump, compressed or not."""
    if not dump.startswith(GZIP):
        return dump
    reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    pieces, size, rest = [], 0, dump
    # Decompressing the dump in one piece takes three times as long, all of it with the interpreter's lock.
    while piece := reader.decompress(rest, PIECE_BYTES):
        pieces.append(piece)
        size, rest = size + len(piece), reader.unconsumed_tail
        if size > most_bytes:
            raise invalid_params(f"the dump has more than {most_bytes} bytes uncompressed")
    return b"".join(pieces)


def add_methods(registry: Registry, control: DevelopmentChain) -> None:
    """Register this module's methods."""
    chain_state = StateDumpMethods(control)
    for prefix in ("anvil", "hardhat"):
        registry.method(f"{prefix}_dumpState", result=BYTES, errors=(response_too_large(),))(chain_state.dump)
        registry.method(f"{prefix}_loadState", view=False, result=ALWAYS_TRUE)(chain_state.load)
