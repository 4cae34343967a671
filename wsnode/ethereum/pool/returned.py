"""The transactions of blocks that have left the chain, out of the store."""

from collections.abc import Iterator, Sequence
from typing import Final

from wsnode.ethereum.codec.rlp import block_transactions
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.head import Head
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError

DEEPEST: Final = 64
"""Reorganisations of more blocks return nothing, as in geth: it is no fork then but another chain."""
_OTHER_CHAIN: Final = "chain_id"


def returned_transactions(view: Snapshot, blocks: Sequence[Head]) -> Iterator[PooledTransaction]:
    """Yield the transactions of blocks, given highest first, the oldest first; those with blobs lack them."""
    if len(blocks) > DEEPEST:
        return
    for block in reversed(blocks):
        rows = view.block_rows(block.hash)
        for encoded in () if rows is None else block_transactions(*rows):
            transaction = _decoded(view.spec, encoded)
            if transaction is not None:
                yield transaction


def _decoded(spec: ChainSpec, encoded: bytes) -> PooledTransaction | None:
    """Return the transaction, None of one for a chain id that a development chain has no longer."""
    # Nobody signed the latter: only on a development chain, told not to mind, can a block hold it.
    for decode in (PooledTransaction, PooledTransaction.impersonated):
        try:
            return decode(spec, encoded)
        except InvalidTransactionError as error:
            if error.kind == _OTHER_CHAIN:
                return None
    raise AssertionError("a block holds what can be decoded")
