"""Methods that return the access list of a block (EIP-7928)."""

from typing import Final

from wsnode.ethereum.codec.rendering import render_access_list
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.common.errors import BLOCK_ERRORS, PRUNED
from wsnode.ethereum.rpc.common.lookup import is_pending, numbered
from wsnode.ethereum.rpc.common.parameters import BlockParameter, BlockParameters
from wsnode.ethereum.rpc.common.results import NULL, data
from wsnode.ethereum.rpc.common.schemas import ADDRESS, BYTES, HASH, QUANTITY
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import RESOURCE_NOT_FOUND, RpcError
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import Schema, list_of, or_null, record
from wsnode.jsonrpc.work import JsonText

NO_ACCESS_LIST: Final = RpcError(RESOURCE_NOT_FOUND, "Resource not found")
"""The block is unknown to debug_getRawBlockAccessList, or older than Amsterdam."""


def _changes_of(name: str, schema: Schema) -> Schema:
    return list_of(record({"index": QUANTITY, name: schema}))


_ACCOUNT: Final = record(
    {
        "address": ADDRESS,
        "storageChanges": list_of(record({"key": HASH, "changes": _changes_of("value", HASH)})),
        "storageReads": list_of(HASH),
        "balanceChanges": _changes_of("value", QUANTITY),
        "nonceChanges": _changes_of("value", QUANTITY),
        "codeChanges": _changes_of("code", BYTES),
    }
)


def get_block_access_list(view: Snapshot, params: BlockParameters) -> JsonText:
    """Return every account and slot that a block touched, with their new values, or null beyond the head.

    Index 0 stands for the system calls before the transactions, n for transaction n - 1, and the last index
    for what comes after them. Slots and their values have 32 bytes, balances are in wei.
    """
    encoded = _access_list(view, params.block)
    return NULL if encoded is None else render_access_list(encoded)


def get_raw_block_access_list(view: Snapshot, params: BlockParameters) -> JsonText:
    """Return the RLP of a block's access list."""
    encoded = _access_list(view, params.block)
    if encoded is None:
        raise NO_ACCESS_LIST
    return data(encoded)


def _hash_of(view: Snapshot, block: BlockParameter) -> Hash32 | None:
    """Return the hash of the block that a parameter names, None for the pending one and beyond the head."""
    if block.number is None:
        return block.hash
    if is_pending(view, block.number):
        return None
    number = numbered(view, block.number)
    return None if number is None else view.hash_of(number)


def _access_list(view: Snapshot, block: BlockParameter) -> bytes | None:
    """Return the RLP of a block's access list, None for an unknown block, the pending one among them.

    Raises:
        RpcError: The block is older than Amsterdam, or its list is not kept.
    """
    block_hash = _hash_of(view, block)
    if block_hash is None or (rows := view.block_rows(block_hash)) is None:
        return None
    if header_fields(rows[0]).slot_number is None:
        raise NO_ACCESS_LIST
    encoded = view.access_list(block_hash)
    if encoded is None:
        raise PRUNED
    return encoded


def add_methods(registry: Registry) -> None:
    """Register this module's methods."""
    errors = (*BLOCK_ERRORS, NO_ACCESS_LIST)
    registry.method("eth_getBlockAccessList", result=or_null(list_of(_ACCOUNT)), errors=errors)(
        get_block_access_list
    )
    registry.method("debug_getRawBlockAccessList", result=BYTES, errors=errors)(get_raw_block_access_list)
