"""Queries of a pool: its state, its transactions, and those for the next block."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.head import Head
from wsnode.ethereum.pool.entry import PoolEntry
from wsnode.ethereum.pool.order import BlockSpace, TransactionOrder, in_order
from wsnode.ethereum.pool.sender import AccountState, SenderQueue
from wsnode.ethereum.pool.transaction_index import TransactionIndex
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import State
from wsnode.ethereum.storage import state_patches

NO_CODE: Final = keccak256(b"")
DELEGATION: Final = b"\xef\x01\x00"


class PoolState(msgspec.Struct, frozen=True):
    """Head on which a pool's transactions are checked, with its header row and state root, and the fees and
    limits of the block after it.
    """

    head: Head
    header: bytes
    space: BlockSpace
    state_root: Hash32
    """Root of the state after the head, with its patches."""
    chain_id: int
    """Chain id of the block after the head."""

    def account(self, state: State, address: bytes) -> AccountState:
        """Return an account in the state after the head; an unknown account is empty."""
        block = self.head.number, self.head.hash
        found = state.account(address, block)
        if found is None:
            return AccountState(0, 0)
        nonce, balance, code_hash = found
        if code_hash == NO_CODE:
            return AccountState(nonce, balance)
        is_delegated = state.code(address, block).startswith(DELEGATION)
        return AccountState(nonce, balance, code_hash, is_delegated)


def standpoint(view: Snapshot) -> PoolState:
    """Return the pool state at the view's head."""
    header = view.header(view.number)
    assert header is not None, "the head is stored"
    fields = header_fields(header)
    blobs = view.spec.blob_parameters(fields.timestamp)
    space = BlockSpace(
        base_fee=view.spec.next_base_fee(fields),
        blob_fee=view.spec.next_blob_base_fee(fields),
        gas_limit=fields.gas_limit,
        blobs=blobs[1] if blobs else 0,
    )
    return PoolState(
        view.head, header, space, state_patches.state_root(view.reader, view.number), view.chain_id
    )


class PoolView:
    """Queries of a pool's transactions; only the subclass `TransactionPool` changes them."""

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
        self, *, base_fee: int | None = None, gas_limit: int | None = None
    ) -> list[PooledTransaction]:
        """Return the transactions for the block after the head, in the pool's order, each account's by nonce.

        By default fees and gas limit follow from the head. The transactions may exceed the block's gas limit.
        """
        following = self.at.space
        block = BlockSpace(
            base_fee=following.base_fee if base_fee is None else base_fee,
            blob_fee=following.blob_fee,
            gas_limit=following.gas_limit if gas_limit is None else gas_limit,
            blobs=following.blobs,
        )
        found = in_order(self._contents.senders.values(), block, self.order)
        return [entry.transaction for entry in found]

    def held(self) -> list[PooledTransaction]:
        """Return all transactions, in an order in which they can be put back."""
        entries = sorted(self._contents.entries.values(), key=lambda entry: entry.nonce)
        return [entry.transaction for entry in entries]
