"""Methods that return transactions, by hash or by place in a block, and receipts."""

from functools import partial

from wsnode.ethereum.codec.rendering import (
    render_receipts,
    render_transaction,
    stored_receipt,
    stored_transaction,
)
from wsnode.ethereum.codec.rows import Row
from wsnode.ethereum.codec.transactions import render_pooled_transaction
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.blocks.methods import (
    BlockMethods,
    HashParameters,
    IndexByHashParameters,
    IndexByNumberParameters,
)
from wsnode.ethereum.rpc.common.lookup import is_pending, numbered, viewed_rows
from wsnode.ethereum.rpc.common.parameters import BlockParameter, BlockParameters
from wsnode.ethereum.rpc.common.results import BLOCK_ERRORS, NOT_CANONICAL, NULL
from wsnode.ethereum.rpc.common.schemas import TRANSACTION
from wsnode.ethereum.rpc.transactions.partner_fallback import PARTNER_FAILED
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import list_of, or_null, reference
from wsnode.jsonrpc.work import JsonText


def get_transaction_by_block_hash(view: Snapshot, params: IndexByHashParameters) -> JsonText:
    """Return the transaction at an index of a block, or null."""
    return _render(view.block_rows(params.hash), params.index)


def get_transaction_receipt(view: Snapshot, params: HashParameters) -> JsonText:
    """Return the receipt of a canonical transaction, or null if the hash is unknown."""
    return stored_receipt(view.reader, params.hash) or NULL


def _receipts_by_hash(view: Snapshot, block: BlockParameter) -> JsonText:
    assert block.hash is not None
    number = view.number_of(block.hash)
    if number is not None:
        return _receipts(viewed_rows(view, number), view.view_receipts(number))
    found = view.block_rows(block.hash)
    if found is None:
        return NULL
    receipts = view.side_receipts(block.hash)
    if block.require_canonical or receipts is None:
        # A block that never was canonical was never executed, so it has no receipts.
        raise server_error("hash is not currently canonical")
    return _receipts(found, receipts)


def _receipts(found: tuple[bytes, Row] | None, receipts: Row | None) -> JsonText:
    return NULL if found is None or receipts is None else render_receipts(*found, receipts)


def _render(found: tuple[bytes, Row] | None, index: int, *, pending: bool = False) -> JsonText:
    transaction = None if found is None else render_transaction(*found, index, pending=pending)
    return NULL if transaction is None else transaction


class TransactionMethods:
    """Handlers that read the pool and the pending block too."""

    def __init__(self, blocks: BlockMethods, pool: TransactionPool | None) -> None:
        self._blocks = blocks
        self._pool = pool

    def get_transaction_by_hash(self, view: Snapshot, params: HashParameters) -> JsonText:
        """Return a canonical transaction or one in the pool, or null if the hash is unknown."""
        if (stored := stored_transaction(view.reader, params.hash)) is not None:
            return stored
        waiting = None if self._pool is None else self._pool.find(params.hash)
        return NULL if waiting is None else render_pooled_transaction(waiting)

    def get_transaction_by_block_number(self, view: Snapshot, params: IndexByNumberParameters) -> JsonText:
        """Return the transaction at an index of a canonical or the pending block, or null."""
        # Only the specification's form omits the place of a pending transaction.
        pending = view.caller.service_form and is_pending(view, params.block)
        return _render(self._blocks.rows_of(view, params.block), params.index, pending=pending)

    def get_block_receipts(self, view: Snapshot, params: BlockParameters) -> JsonText:
        """Return the list of a block's receipts, or null if the block is unknown."""
        block = params.block
        if block.number is None:
            return _receipts_by_hash(view, block)
        if is_pending(view, block.number):
            return render_receipts(*self._blocks.pending_rows(view))
        number = numbered(view, block.number)
        return NULL if number is None else _receipts(viewed_rows(view, number), view.view_receipts(number))


def add_methods(registry: Registry, blocks: BlockMethods, pool: TransactionPool | None = None) -> None:
    """Register this module's methods."""
    transactions = TransactionMethods(blocks, pool)
    method, transaction = registry.method, or_null(TRANSACTION)
    native = partial(method, native=True)
    native("eth_getTransactionByHash", result=transaction, errors=(PARTNER_FAILED,))(
        transactions.get_transaction_by_hash
    )
    native("eth_getTransactionReceipt", result=or_null(reference("Receipt")))(get_transaction_receipt)
    method("eth_getTransactionByBlockHashAndIndex", result=transaction)(get_transaction_by_block_hash)
    method("eth_getTransactionByBlockNumberAndIndex", result=transaction, errors=BLOCK_ERRORS)(
        transactions.get_transaction_by_block_number
    )
    receipts = or_null(list_of(reference("Receipt")))
    method("eth_getBlockReceipts", result=receipts, errors=(*BLOCK_ERRORS, NOT_CANONICAL))(
        transactions.get_block_receipts
    )
