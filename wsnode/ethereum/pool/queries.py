"""Queries of a pool: its transactions, and those that a block could include."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.pool.entry import PoolEntry
from wsnode.ethereum.pool.order import BlockSpace, TransactionOrder, in_order
from wsnode.ethereum.pool.pool_state import PoolState
from wsnode.ethereum.pool.sender import SenderQueue
from wsnode.ethereum.pool.transaction_index import TransactionIndex
from wsnode.ethereum.snapshot import Snapshot


class PoolView:
    """Transactions of a pool, and its head; only the pool changes them."""

    at: PoolState

    def __init__(self) -> None:
        self._contents = TransactionIndex()
        self.order = TransactionOrder.FEES
        """Order in which a block takes the transactions."""

    @property
    def pending(self) -> int:
        """Return the number of executable transactions."""
        return self._contents.pending

    @property
    def queued(self) -> int:
        """Return the number of transactions that wait for an earlier nonce or for funds."""
        return self._contents.queued

    @property
    def entries(self) -> Mapping[bytes, PoolEntry]:
        """Return a live view of all transactions, by hash."""
        return MappingProxyType(self._contents.entries)

    @property
    def senders(self) -> Sequence[SenderQueue]:
        """Return the accounts with transactions, in the order of their addresses."""
        return [sender for _, sender in sorted(self._contents.senders.items())]

    def sender(self, address: bytes) -> SenderQueue | None:
        return self._contents.senders.get(address)

    def find(self, transaction_hash: bytes) -> PooledTransaction | None:
        entry = self._contents.entries.get(transaction_hash)
        return None if entry is None else entry.transaction

    def next_nonce(self, address: bytes, view: Snapshot) -> int:
        """Return the nonce of an account's next transaction, after its executable ones."""
        sender = self._contents.senders.get(address)
        if sender is not None and sender.pending:
            return sender.next_nonce
        account = view.state.account(address, (view.number, view.head.hash))
        return 0 if account is None else account[0]

    def executable(
        self, *, base_fee: int | None = None, blob_fee: int | None = None, gas_limit: int | None = None
    ) -> list[PooledTransaction]:
        """Return the transactions for the block after the head, in the pool's order, each account's by nonce.

        By default fees and gas limit follow from the head. The transactions may exceed the block's gas limit.
        """
        following = self.at.space
        block = BlockSpace(
            base_fee=following.base_fee if base_fee is None else base_fee,
            blob_fee=following.blob_fee if blob_fee is None else blob_fee,
            gas_limit=following.gas_limit if gas_limit is None else gas_limit,
            blobs=following.blobs,
        )
        found = in_order(self._contents.senders.values(), block, self.order)
        return [entry.transaction for entry in found]

    def held(self) -> list[PooledTransaction]:
        """Return all transactions, in an order in which they can be put back."""
        entries = sorted(self._contents.entries.values(), key=lambda entry: entry.nonce)
        return [entry.transaction for entry in entries]
