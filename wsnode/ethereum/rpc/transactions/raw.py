"""Methods that return headers, blocks, transactions and receipts in their consensus encoding."""

from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from wsnode.ethereum.codec.rlp import Item, block_transactions, encode, encoded_items, number
from wsnode.ethereum.codec.rows import Rows, block_rlp
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.blocks.methods import (
    BlockMethods,
    HashParameters,
    IndexByHashParameters,
    IndexByNumberParameters,
)
from wsnode.ethereum.rpc.common.lookup import rows
from wsnode.ethereum.rpc.common.parameters import BlockParameter, BlockParameters, any_contract
from wsnode.ethereum.rpc.common.results import BLOCK_ERRORS, NULL, data
from wsnode.ethereum.rpc.common.schemas import BYTES
from wsnode.ethereum.rpc.transactions.methods import TransactionMethods
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import RpcError, server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import list_of, or_null
from wsnode.jsonrpc.work import JsonText

_NOTHING = data(b"")


class RawMethods:
    """Handlers that return encodings, also of the pending block and of transactions in the pool."""

    def __init__(
        self, transactions: TransactionMethods, blocks: BlockMethods, pool: TransactionPool | None
    ) -> None:
        self._transactions = transactions
        self._blocks = blocks
        self._pool = pool

    def get_raw_block(self, view: Snapshot, params: BlockParameters) -> JsonText:
        """Return the RLP of a block, or `0x` beyond the head."""
        found = self._rows(view, params.block, "block")
        return _NOTHING if found is None else data(block_rlp(*found))

    def get_raw_header(self, view: Snapshot, params: BlockParameters) -> JsonText:
        """Return the RLP of a block's header, or `0x` beyond the head."""
        found = self._rows(view, params.block, "header")
        return _NOTHING if found is None else data(encoded_items(block_rlp(*found))[0])

    def get_raw_transaction(self, view: Snapshot, params: HashParameters) -> JsonText:
        """Return the encoding of a canonical or pooled transaction without its blobs, or `0x` if unknown."""
        place = view.transaction(params.hash)
        found = None if place is None else rows(view, place[0])
        if place is not None and found is not None:
            return data(block_transactions(*found)[place[1]])
        waiting = None if self._pool is None else self._pool.find(params.hash)
        return _NOTHING if waiting is None else data(waiting.encoded)

    def get_raw_transaction_by_block_hash(self, view: Snapshot, params: IndexByHashParameters) -> JsonText:
        """Return the encoding of the transaction at an index of a block, without blobs, or `0x` if none."""
        return _indexed(view.block_rows(params.hash), params.index)

    def get_raw_transaction_by_block_number(
        self, view: Snapshot, params: IndexByNumberParameters
    ) -> JsonText:
        """Return the encoding of the transaction at an index of a canonical or the pending block, or `0x`."""
        found = None
        # As in geth, a missing block is no error, whatever the reason.
        with suppress(RpcError):
            found = self._blocks.rows_of(view, params.block)
        return _indexed(found, params.index)

    def get_code(self, view: Snapshot, params: HashParameters) -> JsonText:
        """Return the contract code with this hash, or `0x` if no contract of the chain ever had it."""
        return data(view.state.find_code(params.hash) or b"")

    def get_raw_receipts(self, view: Snapshot, params: BlockParameters) -> list[str] | JsonText:
        """Return the list of a block's encoded receipts; null beyond the head, empty for an unknown hash."""
        receipts = msgspec.json.decode(self._transactions.get_block_receipts(view, params))
        if receipts is None:
            return NULL if params.block.hash is None else b"[]"
        return [f"0x{_encode_receipt(receipt).hex()}" for receipt in receipts]

    def _rows(self, view: Snapshot, block: BlockParameter, name: str) -> Rows | None:
        if block.number is not None:
            return self._blocks.rows_of(view, block.number)
        assert block.hash is not None
        found = view.block_rows(block.hash)
        if found is None:
            raise server_error(f"{name} #{list(block.hash)} not found".replace(",", ""))
        return found


def _indexed(found: Rows | None, index: int) -> JsonText:
    transactions = [] if found is None else block_transactions(*found)
    return data(transactions[index]) if index < len(transactions) else _NOTHING


def _encode_receipt(receipt: dict[str, Any]) -> bytes:
    outcome = _bytes(receipt["root"]) if "root" in receipt else _number(receipt["status"])
    logs: list[Item] = [
        [_bytes(log["address"]), list(map(_bytes, log["topics"])), _bytes(log["data"])]
        for log in receipt["logs"]
    ]
    # The encoding of a deposit's receipt includes the nonce only if the receipt has a version.
    deposit = ("depositNonce", "depositReceiptVersion") if "depositReceiptVersion" in receipt else ()
    content: list[Item] = [outcome, _number(receipt["cumulativeGasUsed"]), _bytes(receipt["logsBloom"]), logs]
    return _number(receipt["type"]) + encode(content + [_number(receipt[name]) for name in deposit])


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def _number(text: str) -> bytes:
    return number(int(text, 16))


def add_methods(registry: Registry, blocks: BlockMethods, pool: TransactionPool | None = None) -> None:
    """Register this module's methods."""
    raw = RawMethods(TransactionMethods(blocks, pool), blocks, pool)
    method = registry.method
    # A code hash does not name a contract.
    method("debug_codeByHash", result=BYTES, contracts=any_contract)(raw.get_code)
    of_block = partial(method, errors=BLOCK_ERRORS)
    of_block("debug_getRawBlock", result=or_null(BYTES))(raw.get_raw_block)
    of_block("debug_getRawHeader", result=or_null(BYTES))(raw.get_raw_header)
    of_block("debug_getRawReceipts", result=or_null(list_of(BYTES)))(raw.get_raw_receipts)
    method("debug_getRawTransaction", result=or_null(BYTES))(raw.get_raw_transaction)
    method("eth_getRawTransactionByHash", result=BYTES)(raw.get_raw_transaction)
    method("eth_getRawTransactionByBlockHashAndIndex", result=BYTES)(raw.get_raw_transaction_by_block_hash)
    method("eth_getRawTransactionByBlockNumberAndIndex", result=BYTES)(
        raw.get_raw_transaction_by_block_number
    )
