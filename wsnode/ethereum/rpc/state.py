"""Balances, nonces, code and storage slots after a block."""

import msgspec

from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.answers import (
    data,
    header_not_found,
    quantity,
    refused_argument,
)
from wsnode.ethereum.rpc.lookup import is_pending, state_block
from wsnode.ethereum.rpc.parameters import LATEST_BLOCK, BlockParameter, StorageKey, slot_of
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError
from wsnode.jsonrpc.registry import Registry


class AccountParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, block]`; without `block`, the latest."""

    address: Address
    block: BlockParameter = LATEST_BLOCK


class StorageParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, position, block]`; without `block`, the latest."""

    address: Address
    position: StorageKey
    block: BlockParameter = LATEST_BLOCK


def get_balance(view: Snapshot, params: AccountParameters) -> bytes:
    """Return the balance of an account in wei."""
    try:
        account = view.state.account(params.address, state_block(view, params.block))
    except ReorganisedError:
        raise header_not_found() from None
    return quantity(account[1]) if account else b'"0x0"'


def get_transaction_count(view: Snapshot, params: AccountParameters) -> bytes:
    """Return the nonce of an account."""
    try:
        account = view.state.account(params.address, state_block(view, params.block))
    except ReorganisedError:
        raise header_not_found() from None
    return quantity(account[0]) if account else b'"0x0"'


def get_code(view: Snapshot, params: AccountParameters) -> bytes:
    """Return the code of an account, of a delegated one the designator."""
    try:
        return data(view.state.code(params.address, state_block(view, params.block)))
    except ReorganisedError:
        raise header_not_found() from None


def get_storage_at(view: Snapshot, params: StorageParameters) -> bytes:
    """Return the 32 bytes in a slot."""
    block = state_block(view, params.block)
    try:
        return data(view.state.storage(params.address, slot_of(params.position), block))
    except ValueError as error:
        raise refused_argument(error) from None
    except ReorganisedError:
        raise header_not_found() from None


def add_methods(registry: Registry, pool: TransactionPool | None = None) -> None:
    """Register this module's methods."""

    def get_next_nonce(view: Snapshot, params: AccountParameters) -> bytes:
        """Return the nonce of an account, at the block to come after its executable transactions."""
        if pool is not None and is_pending(params.block.number):
            try:
                return quantity(pool.next_nonce(params.address, view))
            except ReorganisedError:
                raise header_not_found() from None
        return get_transaction_count(view, params)

    registry.method("eth_getBalance")(get_balance)
    registry.method("eth_getTransactionCount")(get_next_nonce)
    registry.method("eth_getCode")(get_code)
    registry.method("eth_getStorageAt")(get_storage_at)
