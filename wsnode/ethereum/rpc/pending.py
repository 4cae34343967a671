"""The block to come: the pool's transactions on top of the head, built by the engine as blocks are."""

import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

from wsnode.ethereum.codec.blocks import VerifiedBlock
from wsnode.ethereum.codec.rendering import render_block
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.answers import header_not_found
from wsnode.ethereum.rpc.lookup import rows
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import BlockAttributes, ReorganisedError
from wsnode.jsonrpc.errors import server_error

FRESH_SECONDS: Final = 1.0
SHARE: Final = 0.1
"""How much of the time may be spent on building the same block again, as everybody waits meanwhile."""
MOST_GAS: Final = 100_000_000
_ZERO_ADDRESS: Final = bytes(20)
_ZERO_HASH: Final = bytes(32)


class PendingBlock:
    """Builds the block after a head when it is asked for, and again when the head or the pool has changed.

    On the same head it does so only as long as that takes little of the time: a full block, asked for again
    and again, may be some seconds old.
    """

    def __init__(
        self,
        pool: TransactionPool | None = None,
        *,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._timer = timer
        self._parent = b""
        self._version = -1
        self._built_at = 0.0
        self._allowed_at = 0.0
        self._block: VerifiedBlock | None = None

    def after(self, view: Snapshot) -> VerifiedBlock:
        """Return the block after the view's head.

        Raises:
            RpcError: There is none, as `continues` says, or the head is gone.
        """
        now = self._timer()
        if self._block is None or self._parent != view.head_hash or self._is_outdated(now):
            self._block = self._build(view, int(self._clock()))
            self._parent, self._built_at = view.head_hash, now
            taken = self._timer() - now
            # Little is saved up for later: just so much that several changes may come at once.
            self._allowed_at = max(self._allowed_at, now - FRESH_SECONDS) + taken / SHARE
        return self._block

    def _is_outdated(self, now: float) -> bool:
        version = -1 if self._pool is None else self._pool.version
        old = version != self._version or now - self._built_at >= FRESH_SECONDS
        return old and now >= self._allowed_at

    def _build(self, view: Snapshot, now: int) -> VerifiedBlock:
        parent = rows(view, view.head)
        assert parent is not None, "the head is stored"
        header = header_fields(parent[0])
        if not continues(header):
            raise server_error("pending block is not available")
        attributes = BlockAttributes(
            timestamp=max(now, header.timestamp + 1),
            fee_recipient=_ZERO_ADDRESS,
            prev_randao=_ZERO_HASH,
            gas_limit=header.gas_limit,
            parent_beacon_block_root=_ZERO_HASH,
        )
        executable: list[PooledTransaction] = []
        if self._pool is not None:
            self._version = self._pool.version
            executable = within(self._pool.executable(), header.gas_limit)
        transactions = [transaction.encoded for transaction in executable]
        senders = [named_sender(transaction) for transaction in executable]
        try:
            return view.state.build_block(parent, attributes, transactions, senders=senders)[0]
        except ReorganisedError:
            raise header_not_found() from None


def continues(head: Header) -> bool:
    """Tell whether there is a block to come: none on proof of work."""
    return head.difficulty == 0


def within(transactions: Sequence[PooledTransaction], gas_limit: int) -> list[PooledTransaction]:
    """Return as many of the transactions as can be run while everybody waits.

    That is all that a block holds, but for chains whose blocks have next to no limit.
    """
    if gas_limit <= MOST_GAS:
        return list(transactions)
    spent = accumulate(transaction.gas for transaction in transactions)
    return [transaction for transaction, gas in zip(transactions, spent, strict=True) if gas <= MOST_GAS]


def named_sender(transaction: PooledTransaction) -> bytes | None:
    """Return whom a transaction is taken to be from though nobody signed it, None for any other."""
    return transaction.sender if transaction.is_impersonated else None


def render_in_plain_form(block: VerifiedBlock, *, full: bool) -> bytes:
    """Return the block to come as geth does: nobody's, without a hash, yet its transactions name the hash."""
    text = render_block(block.header, block.body, full=full)
    members = (
        (b'"hash":"0x%b"' % block.hash.hex().encode(), b'"hash":null'),
        (b'"miner":"0x%b"' % _ZERO_ADDRESS.hex().encode(), b'"miner":null'),
        (b'"nonce":"0x0000000000000000"', b'"nonce":null'),
    )
    for member, nothing in members:
        text = text.replace(member, nothing, 1)
    return text
