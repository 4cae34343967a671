"""Transactions of blocks that have left the chain, read from the store."""

from collections.abc import Iterator, Sequence
from typing import Final

from wsnode.ethereum.codec.rlp import block_transactions
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.head import Head
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError

DEEPEST: Final = 64
"""Maximum depth of a reorganisation whose transactions return, as in geth: a deeper one is another chain."""
_OTHER_CHAIN: Final = "chain_id"


def returned_transactions(view: Snapshot, blocks: Sequence[Head]) -> Iterator[PooledTransaction]:
    """Yield the transactions of blocks (given highest first) in the order of inclusion, without blobs."""
    if len(blocks) > DEEPEST:
        return
    for block in reversed(blocks):
        rows = view.block_rows(block.hash)
        for encoded in () if rows is None else block_transactions(*rows):
            transaction = _decoded(view.spec, encoded)
            if transaction is not None:
                yield transaction


def _decoded(spec: ChainSpec, encoded: bytes) -> PooledTransaction | None:
    """Return a transaction; None for one of a chain id that a development chain no longer has."""
    # The latter are unsigned: only a development chain with impersonation can include them.
    for decode in (PooledTransaction, PooledTransaction.impersonated):
        try:
            return decode(spec, encoded)
        except InvalidTransactionError as error:
            if error.kind == _OTHER_CHAIN:
                return None
    raise AssertionError("a block holds what can be decoded")
