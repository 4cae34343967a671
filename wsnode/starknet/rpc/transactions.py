"""Methods that return the head, blocks with their transactions, single transactions, and receipts."""

from collections.abc import Iterable
from typing import Any

from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.work import RenderedJson, Steps
from wsnode.starknet.body import (
    ACCEPTED_ON_L2,
    StoredBody,
    flagged_transaction,
    hashed_transaction,
    placed_receipt,
    transaction_status,
)
from wsnode.starknet.felt import felt_text
from wsnode.starknet.followed import PRE_CONFIRMED, RECEIVED
from wsnode.starknet.header_json import render_header, render_pending_header
from wsnode.starknet.rpc.errors import (
    TRANSACTION_HASH_NOT_FOUND,
    chain_id_unknown,
    invalid_transaction_index,
    needs_newer_version,
    no_blocks,
    transaction_hash_not_found,
    transactions_unavailable,
)
from wsnode.starknet.rpc.forwarded.methods import forward
from wsnode.starknet.rpc.params import (
    BlockParams,
    FlaggedBlockParams,
    FlaggedHashParams,
    IndexParams,
    TransactionFlags,
    TransactionParams,
)
from wsnode.starknet.rpc.resolution import ResolvedState, resolve
from wsnode.starknet.snapshot import StarknetSnapshot


def block_number(snapshot: StarknetSnapshot) -> int:
    """Return the number of the head."""
    if (head := snapshot.head) is None:
        raise no_blocks()
    return head


def block_hash_and_number(snapshot: StarknetSnapshot) -> dict[str, Any]:
    """Return `{block_hash, block_number}` of the head."""
    number = block_number(snapshot)
    if (block := snapshot.block(number)) is None:
        raise no_blocks()
    return {"block_hash": felt_text(block.hash), "block_number": number}


def chain_id(snapshot: StarknetSnapshot) -> str:
    """Return the chain's name as a felt: SN_MAIN is 0x534e5f4d41494e."""
    if (name := snapshot.chain_id) is None:
        raise chain_id_unknown()
    return "0x" + name.encode().hex()


def spec_version(snapshot: StarknetSnapshot) -> str:
    """Return the version of starknet-specs that the results follow."""
    return snapshot.spec_version


def syncing(_snapshot: StarknetSnapshot) -> bool:
    """Return False: the chain holds imported blocks and does not sync."""
    return False


EMPTY = StoredBody(ACCEPTED_ON_L2, [], [], [], [])


def get_block_with_tx_hashes(snapshot: StarknetSnapshot, params: BlockParams) -> RenderedJson:
    """Return a block with the hashes of its transactions."""
    state = resolve(snapshot, params.block_id)
    body = _body(snapshot, state)
    return _block(snapshot, state, body, (b'"%b"' % text.encode() for text in body.hashes))


def get_block_with_txs(snapshot: StarknetSnapshot, params: FlaggedBlockParams) -> RenderedJson:
    """Return a block with its transactions, each with its hash."""
    _check_flags(snapshot, params.response_flags)
    state = resolve(snapshot, params.block_id)
    body = _body(snapshot, state)
    wanted = bool(params.response_flags)
    items = (hashed_transaction(body, index, with_proof_facts=wanted) for index in range(len(body.hashes)))
    return _block(snapshot, state, body, items)


def get_block_with_receipts(snapshot: StarknetSnapshot, params: FlaggedBlockParams) -> RenderedJson:
    """Return a block with its transactions and their receipts."""
    _check_flags(snapshot, params.response_flags)
    state = resolve(snapshot, params.block_id)
    body = _body(snapshot, state)
    wanted = bool(params.response_flags)
    items = (
        b'{"transaction":%b,"receipt":%b}'
        % (flagged_transaction(body, index, with_proof_facts=wanted), receipt)
        for index, receipt in enumerate(body.receipts)
    )
    return _block(snapshot, state, body, items)


def get_block_transaction_count(snapshot: StarknetSnapshot, params: BlockParams) -> int:
    """Return the number of transactions of a block."""
    state = resolve(snapshot, params.block_id)
    return len(_body(snapshot, state).hashes)


def get_transaction_by_hash(snapshot: StarknetSnapshot, params: FlaggedHashParams) -> RenderedJson:
    """Return the transaction of that hash."""
    _check_flags(snapshot, params.response_flags)
    _, index, body = _found(snapshot, params.transaction_hash)
    return RenderedJson(hashed_transaction(body, index, with_proof_facts=bool(params.response_flags)))


def get_transaction_by_block_id_and_index(snapshot: StarknetSnapshot, params: IndexParams) -> RenderedJson:
    """Return the transaction at an index of a block."""
    _check_flags(snapshot, params.response_flags)
    state = resolve(snapshot, params.block_id)
    body = _body(snapshot, state)
    if params.index >= len(body.hashes):
        raise invalid_transaction_index()
    wanted = bool(params.response_flags)
    return RenderedJson(hashed_transaction(body, params.index, with_proof_facts=wanted))


def get_transaction_receipt(snapshot: StarknetSnapshot, params: TransactionParams) -> RenderedJson:
    """Return the receipt of a transaction, with hash and number of its block."""
    number, index, body = _found(snapshot, params.transaction_hash)
    block = None if body.status == PRE_CONFIRMED else snapshot.block(number)
    return RenderedJson(placed_receipt(body, index, None if block is None else block.hash, number))


def get_transaction_status(snapshot: StarknetSnapshot, params: TransactionParams) -> dict[str, Any] | Steps:
    """Return the finality and the outcome of a transaction; of a reverted one with the reason.

    Of a transaction that no stored block has, the status is an upstream's answer if the chain follows others.
    """
    found = _find(snapshot, params.transaction_hash)
    if found is not None:
        _, index, body = found
        return transaction_status(body, index)
    if snapshot.followed is None:
        raise transaction_hash_not_found()
    return _forwarded_status(snapshot, felt_text(params.transaction_hash))


def _forwarded_status(snapshot: StarknetSnapshot, transaction_hash: str) -> Steps:
    """Return an upstream's answer, or RECEIVED for a transaction sent through this node and unknown there.

    Raises:
        RpcError: The upstream's error, or no upstream answers.
    """
    try:
        return (yield from forward(snapshot, "getTransactionStatus", {"transaction_hash": transaction_hash}))
    except RpcError as error:
        followed = snapshot.followed
        is_unknown = error.code == TRANSACTION_HASH_NOT_FOUND
        if followed is None or not is_unknown or followed.sent.find(transaction_hash) is None:
            raise
        return {"finality_status": RECEIVED}


def _check_flags(snapshot: StarknetSnapshot, flags: TransactionFlags) -> None:
    if flags and snapshot.is_before_0_10:
        raise needs_newer_version("a response flag")


def _body(snapshot: StarknetSnapshot, state: ResolvedState) -> StoredBody:
    """Return the transactions of a block.

    Raises:
        RpcError: The block was imported without them.
    """
    if state.is_pending:
        return EMPTY if state.pre_confirmed is None else state.pre_confirmed.body
    if (body := snapshot.body(state.number)) is None:
        raise transactions_unavailable(state.number)
    return body


def _found(snapshot: StarknetSnapshot, transaction_hash: bytes) -> tuple[int, int, StoredBody]:
    """Return the block's number, the transaction's index and the block's body.

    Raises:
        RpcError: Neither a stored block nor the pre-confirmed one has the transaction.
    """
    if (found := _find(snapshot, transaction_hash)) is None:
        raise transaction_hash_not_found()
    return found


def _find(snapshot: StarknetSnapshot, transaction_hash: bytes) -> tuple[int, int, StoredBody] | None:
    """Return the number of a transaction's block, its index and the block's body; None for an unknown
    transaction.
    """
    if (place := snapshot.transaction(transaction_hash)) is not None:
        number, index = place
        body = snapshot.body(number)
        return None if body is None else (number, index, body)
    if (block := snapshot.pre_confirmed) is None:
        return None
    pending = block.index_of(felt_text(transaction_hash))
    return None if pending is None else (block.number, pending, block.body)


def _block(
    snapshot: StarknetSnapshot, state: ResolvedState, body: StoredBody, transactions: Iterable[bytes]
) -> RenderedJson:
    if state.is_pending:
        pre_confirmed = state.pre_confirmed
        header = (
            render_pending_header(state.number, state.block)
            if pre_confirmed is None
            else pre_confirmed.header
        )
        return RenderedJson(b'%b,"transactions":[%b]}' % (header[:-1], b",".join(transactions)))
    header = render_header(snapshot, state.number, state.block)
    parts = (body.status.encode(), header[1:-1], b",".join(transactions))
    return RenderedJson(b'{"status":"%b",%b,"transactions":[%b]}' % parts)
