"""eth_getProof and eth_getAccount: accounts as the state trie holds them."""

from collections.abc import Generator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.primitives.values import Address, hexadecimal
from wsnode.ethereum.rpc.accounts.methods import AccountParameters
from wsnode.ethereum.rpc.common.decoding import decode_array, kind, mismatch
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.parameters import LATEST_BLOCK, BlockParameter, account_of, slot_of
from wsnode.ethereum.rpc.common.pending_state import PendingState, StateBlock
from wsnode.ethereum.rpc.common.results import STATE_ERRORS, refused_argument
from wsnode.ethereum.rpc.common.schemas import ADDRESS, ANY_STORAGE_KEY, BYTES, HASH, QUANTITY
from wsnode.ethereum.rpc.common.worker_thread import in_worker
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import invalid_params, server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import list_of, record, text
from wsnode.jsonrpc.work import Step

MAX_KEYS: Final = 1024
WHOLE_KEY: Final = 64
"""Digits of a key that is returned as 32 bytes, because it was written with (nearly) all digits."""
_ABSENT: Final = bytes(32)
NO_CODE: Final = keccak256(b"")
_SLOT: Final = record({"key": text("0x[0-9a-f]+"), "value": QUANTITY, "proof": list_of(BYTES)})
_PROOF: Final = record(
    {
        "address": ADDRESS,
        "accountProof": list_of(BYTES),
        **dict.fromkeys(("balance", "nonce"), QUANTITY),
        **dict.fromkeys(("codeHash", "storageHash"), HASH),
        "storageProof": list_of(_SLOT),
    }
)
_ACCOUNT: Final = record(
    {**dict.fromkeys(("nonce", "balance"), QUANTITY), **dict.fromkeys(("storageRoot", "codeHash"), HASH)}
)


Proof: TypeAlias = tuple[list[bytes], list[tuple[bytes, list[bytes]]], bytes]
"""Trie nodes down to an account, each slot's value and trie nodes, and the account's storage root."""


class StorageKeys(list[str]):
    """Storage slots to prove, as hex in the caller's spelling."""


class ProofParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, keys, block]`; without `block`, the latest."""

    address: Address
    keys: StorageKeys
    block: BlockParameter = LATEST_BLOCK


class ProofMethods:
    """Handlers of eth_getProof and eth_getAccount, after a stored block or after the pending one."""

    def __init__(self, limits: CallLimits, pending: PendingState) -> None:
        self._limits = limits
        self._pending = pending
        self.timed_out = server_error(f"execution aborted (timeout = {limits.call_seconds:g}s)")

    def get_proof(self, view: Snapshot, params: ProofParameters) -> Generator[Step, Any, dict[str, Any]]:
        """Return an account and some of its slots, each with its Merkle proof: trie nodes, root first
        (EIP-1186).
        """
        try:
            slots = [slot_of(key) for key in params.keys]
        except ValueError as error:
            raise refused_argument(error) from None
        block = yield from self._pending.block(view, params.block)
        try:
            account = view.state.account(params.address, block)
        except ReorganisedError:
            raise header_not_found() from None
        nodes, proofs, storage_root = yield from self._proof(view, params.address, slots, block)
        nonce, balance, code_hash = account or (0, 0, _ABSENT)
        return {
            "address": hexadecimal(params.address),
            "accountProof": list(map(hexadecimal, nodes)),
            "balance": hex(balance),
            "codeHash": hexadecimal(code_hash),
            "nonce": hex(nonce),
            "storageHash": hexadecimal(storage_root if account else _ABSENT),
            "storageProof": [
                {
                    "key": shown(key),
                    "value": hex(int.from_bytes(value, "big")),
                    "proof": list(map(hexadecimal, path)),
                }
                for key, (value, path) in zip(params.keys, proofs, strict=True)
            ],
        }

    def get_account(self, view: Snapshot, params: AccountParameters) -> Generator[Step, Any, dict[str, str]]:
        """Return `{nonce, balance, storageRoot, codeHash}` of an account; an unknown account is empty."""
        block = yield from self._pending.block(view, params.block)
        try:
            account = view.state.account(params.address, block)
        except ReorganisedError:
            raise header_not_found() from None
        _nodes, _slots, storage_root = yield from self._proof(view, params.address, [], block)
        nonce, balance, code_hash = account or (0, 0, NO_CODE)
        return {
            "nonce": hex(nonce),
            "balance": hex(balance),
            "storageRoot": hexadecimal(storage_root),
            "codeHash": hexadecimal(code_hash),
        }

    def _proof(
        self, view: Snapshot, address: Address, slots: Sequence[bytes], block: StateBlock
    ) -> Generator[Step, Any, Proof]:
        # The trie of an old block has to be computed again, which takes too long for the event loop.
        changes, prove = self._limits.history_bytes, view.state.proof
        return (
            yield from in_worker(
                lambda flag: prove(address, slots, block, changes=changes, cancel=flag), self.timed_out
            )
        )


def shown(key: str) -> str:
    """Return a key as results show it: one of 63 or 64 digits as 32 bytes, a shorter one as a quantity."""
    digits = key[2:] if key[:2] in {"0x", "0X"} else key
    slot = slot_of(key)
    return hexadecimal(slot) if len(digits) >= WHOLE_KEY - 1 else hex(int.from_bytes(slot, "big"))


def _decode_keys(value: Any) -> StorageKeys:
    decode_array(value, "[]string")
    if len(value) > MAX_KEYS:
        raise invalid_params(f"too many storage keys requested (max {MAX_KEYS}, got {len(value)})")
    for item in value:
        if type(item) is not str and item is not None:
            raise mismatch(kind(item), "string")
    return StorageKeys(item or "" for item in value)


def add_methods(registry: Registry, limits: CallLimits, pending: PendingState) -> None:
    """Register this module's methods."""
    proofs = ProofMethods(limits, pending)
    method = partial(
        registry.method,
        deadline=limits.call_seconds,
        timeout_error=proofs.timed_out,
        errors=STATE_ERRORS,
        contracts=account_of,
    )
    method("eth_getProof", result=_PROOF)(proofs.get_proof)
    method("eth_getAccount", result=_ACCOUNT)(proofs.get_account)


register_type(StorageKeys, _decode_keys, list_of(ANY_STORAGE_KEY, most=MAX_KEYS))
