"""Methods that read balances, nonces, code and storage slots after a block."""

from functools import partial
from typing import Final

import msgspec

from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Address, hexadecimal
from wsnode.ethereum.rpc.common.lookup import is_pending, state_block
from wsnode.ethereum.rpc.common.parameters import (
    LATEST_BLOCK,
    BlockParameter,
    StorageKey,
    account_of,
    slot_of,
)
from wsnode.ethereum.rpc.common.pending_state import PendingState, StateBlock
from wsnode.ethereum.rpc.common.results import STATE_ERRORS, data, quantity, refused_argument
from wsnode.ethereum.rpc.common.schemas import BYTES, HASH, QUANTITY
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import record
from wsnode.jsonrpc.work import JsonText, Steps

_ACCOUNT: Final = record({**dict.fromkeys(("balance", "nonce"), QUANTITY), "code": BYTES})


class AccountParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, block]`; without `block`, the latest."""

    address: Address
    block: BlockParameter = LATEST_BLOCK


class StorageParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, position, block]`; without `block`, the latest."""

    address: Address
    position: StorageKey
    block: BlockParameter = LATEST_BLOCK


class StateMethods:
    """Handlers that read values of accounts, after a stored block or after the pending one."""

    def __init__(self, pending: PendingState, pool: TransactionPool | None) -> None:
        self._pending = pending
        self._pool = pool

    def get_balance(self, view: Snapshot, params: AccountParameters) -> JsonText | Steps:
        """Return the balance of an account after a block, in wei."""
        return self._pending.read_at(view, params.block, lambda block: _balance(view, params.address, block))

    def get_transaction_count(self, view: Snapshot, params: AccountParameters) -> JsonText:
        """Return the nonce of an account after a block; `pending` counts its executable transactions too."""
        try:
            if not is_pending(view, params.block.number):
                return _nonce(view, params.address, state_block(view, params.block))
            if self._pool is None:
                return _nonce(view, params.address, (view.number, view.head.hash))
            return quantity(self._pool.next_nonce(params.address, view))
        except ReorganisedError:
            raise header_not_found() from None

    def get_code(self, view: Snapshot, params: AccountParameters) -> JsonText | Steps:
        """Return the code of an account after a block; for a delegated account, the designator (EIP-7702)."""
        return self._pending.read_at(view, params.block, lambda block: _code(view, params.address, block))

    def get_account_info(self, view: Snapshot, params: AccountParameters) -> dict[str, str] | Steps:
        """Return `{balance, nonce, code}` of an account after a block, the balance in wei."""
        return self._pending.read_at(view, params.block, lambda block: _account(view, params.address, block))

    def get_storage_at(self, view: Snapshot, params: StorageParameters) -> JsonText | Steps:
        """Return the value of a storage slot after a block, 32 bytes."""
        return self._pending.read_at(view, params.block, lambda block: _storage(view, params, block))


def _balance(view: Snapshot, address: bytes, block: StateBlock) -> JsonText:
    account = view.state.account(address, block)
    return quantity(account[1]) if account else b'"0x0"'


def _nonce(view: Snapshot, address: bytes, block: StateBlock) -> JsonText:
    account = view.state.account(address, block)
    return quantity(account[0]) if account else b'"0x0"'


def _account(view: Snapshot, address: bytes, block: StateBlock) -> dict[str, str]:
    nonce, balance = (view.state.account(address, block) or (0, 0))[:2]
    code = view.state.code(address, block)
    return {"balance": hex(balance), "nonce": hex(nonce), "code": hexadecimal(code)}


def _code(view: Snapshot, address: bytes, block: StateBlock) -> JsonText:
    return data(view.state.code(address, block))


def _storage(view: Snapshot, params: StorageParameters, block: StateBlock) -> JsonText:
    try:
        return data(view.state.storage(params.address, slot_of(params.position), block))
    except ValueError as error:
        raise refused_argument(error) from None


def add_methods(registry: Registry, pending: PendingState, pool: TransactionPool | None = None) -> None:
    """Register this module's methods."""
    methods = StateMethods(pending, pool)
    method = partial(registry.method, errors=STATE_ERRORS)
    native = partial(method, native=True)
    # A key's operator cannot list the accounts of its users beforehand, so these methods name no contracts.
    native("eth_getBalance", result=QUANTITY)(methods.get_balance)
    native("eth_getTransactionCount", result=QUANTITY)(methods.get_transaction_count)
    native("eth_getCode", result=BYTES, contracts=account_of)(methods.get_code)
    native("eth_getStorageAt", result=HASH, contracts=account_of)(methods.get_storage_at)
    method("eth_getAccountInfo", result=_ACCOUNT, contracts=account_of)(methods.get_account_info)
