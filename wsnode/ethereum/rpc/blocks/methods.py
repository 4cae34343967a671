"""Methods that return blocks, headers, uncles and access lists (EIP-7928)."""

from contextlib import suppress
from functools import partial
from typing import Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codec.rendering import render_access_list, render_block, render_header, render_uncle
from wsnode.ethereum.codec.rows import Rows, header_fields, ommer_hashes, transaction_count
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.common.lookup import is_pending, numbered, numbered_rows, viewed_rows
from wsnode.ethereum.rpc.common.parameters import (
    BlockHash,
    BlockParameter,
    BlockParameters,
    Flag,
    Index,
    NumberOrTag,
)
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.results import BLOCK_ERRORS, NULL, PRUNED, data, quantity
from wsnode.ethereum.rpc.common.schemas import ADDRESS, BYTES, HASH, QUANTITY
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import RESOURCE_NOT_FOUND, RpcError
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import Schema, list_of, or_null, record, reference
from wsnode.jsonrpc.work import JsonText

Header: TypeAlias = dict[str, str]

HASH_BYTES: Final = 32
_NO_MINER: Final = b"00" * 20
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


class NumberParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[block]`, by number or tag."""

    block: NumberOrTag


class HashParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[hash]`, of a transaction or of a contract's code."""

    hash: Hash32


class BlockHashParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[block's hash]`."""

    hash: BlockHash


class BlockByNumberParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[block, full]`, by number or tag; `full` is true for whole transactions, false for their hashes."""

    block: NumberOrTag
    full: Flag


class BlockByHashParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[hash, full]`, the block's hash; `full` is true for whole transactions, false for their hashes."""

    hash: BlockHash
    full: Flag


class IndexByNumberParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[block, index]`, by number or tag; `index` is that of a transaction or uncle in the block."""

    block: NumberOrTag
    index: Index


class IndexByHashParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[hash, index]`, the block's hash; `index` is that of a transaction or uncle in the block."""

    hash: BlockHash
    index: Index


class BlockMethods:
    """Handlers of methods on blocks and uncles by number; they also answer for the pending block."""

    def __init__(self, pending: PendingState) -> None:
        self._pending = pending

    def get_block_by_number(self, view: Snapshot, params: BlockByNumberParameters) -> JsonText:
        """Return a canonical or the pending block, with transactions as hashes or objects, or null."""
        if is_pending(view, params.block):
            return self._render_pending(view, full=params.full.is_set)
        number = numbered(view, params.block)
        found = None if number is None else viewed_rows(view, number)
        if number is None or found is None:
            return NULL
        if not view.caller.service_form:
            return render_block(*found, full=params.full.is_set)
        return render_block(
            *found,
            full=params.full.is_set,
            with_total_difficulty=True,
            total_difficulty=None if view.spec.is_sealed_by_authority else view.total_difficulty(number),
        )

    def _render_pending(self, view: Snapshot, *, full: bool) -> JsonText:
        block = self._pending.after(view)
        if not view.caller.service_form:
            return _render_pending(block, full=full)
        text = render_block(
            block.header,
            block.body,
            full=full,
            pending=True,
            with_total_difficulty=True,
            total_difficulty=view.total_difficulty(view.number) + block.difficulty,
        )
        return text.replace(b'"number":%b' % quantity(block.number), b'"number":null', 1)

    def pending_rows(self, view: Snapshot) -> tuple[bytes, bytes, bytes]:
        """Return the rows of the pending block: header, body and receipts."""
        block = self._pending.after(view)
        return block.header, block.body, block.receipts

    def rows_of(self, view: Snapshot, number: NumberOrTag) -> Rows | None:
        """Return the rows of a canonical or the pending block, None beyond the head."""
        if is_pending(view, number):
            block = self._pending.after(view)
            return block.header, block.body
        return numbered_rows(view, number)

    def get_uncle_by_number(self, view: Snapshot, params: IndexByNumberParameters) -> JsonText:
        """Return an uncle of a canonical block, or null if the block or the uncle does not exist."""
        return _render_uncle(view, self.rows_of(view, params.block), params.index)

    def count_transactions_by_number(self, view: Snapshot, params: NumberParameters) -> JsonText:
        """Return the number of transactions of a canonical or the pending block, or null beyond the head."""
        return _transaction_count(self.rows_of(view, params.block))

    def count_uncles_by_number(self, view: Snapshot, params: NumberParameters) -> JsonText:
        """Return the number of uncles of a canonical block, or null beyond the head."""
        return _uncle_count(self.rows_of(view, params.block))


def get_block_by_hash(view: Snapshot, params: BlockByHashParameters) -> JsonText:
    """Return a block, canonical or not, with transactions as hashes or objects, or null."""
    found = view.block_rows(params.hash)
    if found is None:
        return NULL
    if not view.caller.service_form:
        return render_block(*found, full=params.full.is_set)
    return render_block(
        *found,
        full=params.full.is_set,
        with_total_difficulty=True,
        total_difficulty=None if view.spec.is_sealed_by_authority else view.total_difficulty_of(params.hash),
    )


def get_uncle_by_hash(view: Snapshot, params: IndexByHashParameters) -> JsonText:
    """Return an uncle of a block, or null if the block or the uncle does not exist."""
    return _render_uncle(view, view.block_rows(params.hash), params.index)


def count_transactions_by_hash(view: Snapshot, params: BlockHashParameters) -> JsonText:
    """Return the number of transactions of a block, or null if the hash is unknown."""
    return _transaction_count(view.block_rows(params.hash))


def count_uncles_by_hash(view: Snapshot, params: BlockHashParameters) -> JsonText:
    """Return the number of uncles of a block, or null if the hash is unknown."""
    return _uncle_count(view.block_rows(params.hash))


def _render_pending(block: BuiltBlock, *, full: bool) -> JsonText:
    """Return the pending block as geth does: `hash`, `miner` and `nonce` are null.

    Its transactions name the hash nevertheless.
    """
    text = render_block(block.header, block.body, full=full)
    members = (
        (b'"hash":"0x%b"' % block.hash.hex().encode(), b'"hash":null'),
        (b'"miner":"0x%b"' % _NO_MINER, b'"miner":null'),
        (b'"nonce":"0x0000000000000000"', b'"nonce":null'),
    )
    for member, nothing in members:
        text = text.replace(member, nothing, 1)
    return text


def _render_uncle(view: Snapshot, found: Rows | None, index: int) -> JsonText:
    if found is None:
        return NULL
    uncle = render_uncle(found[1], index, with_total_difficulty=view.caller.service_form)
    return NULL if uncle is None else uncle


def _transaction_count(found: Rows | None) -> JsonText:
    return NULL if found is None else quantity(transaction_count(found[1]))


def _uncle_count(found: Rows | None) -> JsonText:
    return NULL if found is None else quantity(len(ommer_hashes(found[1])) // HASH_BYTES)


def get_header_by_number(view: Snapshot, params: NumberParameters) -> Header | JsonText:
    """Return the header of a canonical block, or null beyond the head and for a tag that names no block."""
    number = None
    if not is_pending(view, params.block):
        with suppress(RpcError):
            number = numbered(view, params.block)
    header = None if number is None else view.header(number)
    return NULL if header is None else _shown(header)


def get_header_by_hash(view: Snapshot, params: BlockHashParameters) -> Header | JsonText:
    """Return the header of a block, canonical or not, or null if the hash is unknown."""
    number = view.number_of(params.hash)
    header = view.side_header(params.hash) if number is None else view.header(number)
    return NULL if header is None else _shown(header)


def _shown(header: bytes) -> Header:
    """Return a header without the members that are null, as block objects have it."""
    members = msgspec.json.decode(render_header(header))
    return {name: members[name] for name in sorted(members) if members[name] is not None}


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


def add_methods(registry: Registry, blocks: BlockMethods) -> None:
    """Register this module's methods."""
    block, uncle, count = or_null(reference("Block")), or_null(reference("Uncle")), or_null(QUANTITY)
    method, by_number = registry.method, partial(registry.method, errors=BLOCK_ERRORS)
    by_number("eth_getBlockByNumber", result=block, native=True)(blocks.get_block_by_number)
    method("eth_getBlockByHash", result=block, native=True)(get_block_by_hash)
    by_number("eth_getUncleByBlockNumberAndIndex", result=uncle)(blocks.get_uncle_by_number)
    method("eth_getUncleByBlockHashAndIndex", result=uncle)(get_uncle_by_hash)
    by_number("eth_getUncleCountByBlockNumber", result=count)(blocks.count_uncles_by_number)
    method("eth_getUncleCountByBlockHash", result=count)(count_uncles_by_hash)
    by_number("eth_getBlockTransactionCountByNumber", result=count)(blocks.count_transactions_by_number)
    method("eth_getBlockTransactionCountByHash", result=count)(count_transactions_by_hash)
    header = or_null(reference("Header"))
    registry.method("eth_getHeaderByNumber", result=header)(get_header_by_number)
    registry.method("eth_getHeaderByHash", result=header)(get_header_by_hash)
    errors = (*BLOCK_ERRORS, NO_ACCESS_LIST)
    registry.method("eth_getBlockAccessList", result=or_null(list_of(_ACCOUNT)), errors=errors)(
        get_block_access_list
    )
    registry.method("debug_getRawBlockAccessList", result=BYTES, errors=errors)(get_raw_block_access_list)
