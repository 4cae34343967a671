"""Transactions by hash and by place, and their receipts."""

import msgspec

from wsnode.ethereum.codec.rendering import render_receipt, render_receipts, render_transaction
from wsnode.ethereum.rpc.answers import NULL
from wsnode.ethereum.rpc.blocks import Blocks, HashParameters, IndexByHashParameters, IndexByNumberParameters
from wsnode.ethereum.rpc.lookup import Rows, hashed_rows, is_pending, numbered, rows
from wsnode.ethereum.rpc.parameters import BlockParameter
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry


class BlockParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[block]`, by number, tag or hash."""

    block: BlockParameter


def get_transaction_by_hash(view: Snapshot, params: HashParameters) -> bytes:
    """Return a canonical transaction, or null when unknown."""
    found = view.transaction_and_body(params.hash)
    if found is None:
        return NULL
    number, index, body = found
    header = view.header(number)
    return (None if header is None else render_transaction(header, body, index)) or NULL


def get_transaction_by_block_hash(view: Snapshot, params: IndexByHashParameters) -> bytes:
    """Return a transaction of a block, or null."""
    return _render(hashed_rows(view, params.hash), params.index)


def get_transaction_receipt(view: Snapshot, params: HashParameters) -> bytes:
    """Return the receipt of a canonical transaction, or null when unknown."""
    found = view.transaction_and_body(params.hash)
    if found is None:
        return NULL
    number, index, body = found
    header, receipts = view.header(number), view.receipts(number)
    if header is None or receipts is None:
        return NULL
    return render_receipt(header, body, receipts, index) or NULL


def get_block_receipts(view: Snapshot, params: BlockParameters) -> bytes:
    """Return all receipts of a block, or null when it is unknown."""
    block = params.block
    if block.number is None:
        return _receipts_by_hash(view, block)
    if is_pending(block.number):
        return b"[]"
    number = numbered(view, block.number)
    return NULL if number is None else _receipts(rows(view, number), view.receipts(number))


def _receipts_by_hash(view: Snapshot, block: BlockParameter) -> bytes:
    assert block.hash is not None
    number = view.number_of(block.hash)
    if number is not None:
        return _receipts(rows(view, number), view.receipts(number))
    found = hashed_rows(view, block.hash)
    if found is None:
        return NULL
    receipts = view.side_receipts(block.hash)
    if block.require_canonical or receipts is None:
        # A block that never was canonical has not been executed, so it has no receipts.
        raise server_error("hash is not currently canonical")
    return _receipts(found, receipts)


def _receipts(found: Rows | None, receipts: bytes | None) -> bytes:
    return NULL if found is None or receipts is None else render_receipts(*found, receipts)


def _render(found: Rows | None, index: int) -> bytes:
    transaction = None if found is None else render_transaction(*found, index)
    return NULL if transaction is None else transaction


def add_methods(registry: Registry, blocks: Blocks) -> None:
    """Register this module's methods."""

    def get_transaction_by_block_number(view: Snapshot, params: IndexByNumberParameters) -> bytes:
        """Return a transaction of a canonical block, or null."""
        return _render(blocks.rows_of(view, params.block), params.index)

    method = registry.method
    method("eth_getTransactionByHash")(get_transaction_by_hash)
    method("eth_getTransactionByBlockHashAndIndex")(get_transaction_by_block_hash)
    method("eth_getTransactionByBlockNumberAndIndex")(get_transaction_by_block_number)
    method("eth_getTransactionReceipt")(get_transaction_receipt)
    method("eth_getBlockReceipts")(get_block_receipts)
