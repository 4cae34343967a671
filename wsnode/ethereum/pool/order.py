"""Order of a block's transactions: best tip or oldest first, each account's by nonce."""

import heapq
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from wsnode.ethereum.pool.entry import PoolEntry
from wsnode.ethereum.pool.sender import SenderQueue

LOWEST_GAS: Final = 21_000
BLOCK_BYTES: Final = (8 << 20) - 1_000_000
"""Maximum bytes of a block's transactions: the limit of EIP-7934, less geth's margin for the rest."""


Head: TypeAlias = tuple[int, bool, int, int, PoolEntry, list[PoolEntry]]
"""Next transaction of an account: the keys of its order, the entry, and the account's entries."""


class BlockSpace(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of the next block for transactions: base fee and blob fee in wei, None before these fees
    exist; maximum gas, and maximum number of blobs.
    """

    base_fee: int | None
    blob_fee: int | None
    gas_limit: int
    blobs: int


class TransactionOrder(StrEnum):
    """Order in which a block takes transactions from the pool, each sender's by nonce (anvil's `--order`)."""

    FEES = "fees"
    """Best tip first, as in geth."""
    FIFO = "fifo"
    """Oldest first."""


def in_order(
    senders: Iterable[SenderQueue], room: BlockSpace, order: TransactionOrder = TransactionOrder.FEES
) -> Iterator[PoolEntry]:
    """Yield the transactions that such a block could include, in order.

    They may exceed the block's gas limit, since most transactions use less gas than their own limits.
    """
    heap = [head for sender in senders if (head := _head(sender.pending, 0, room, order)) is not None]
    heapq.heapify(heap)
    count, size, blobs = room.gas_limit // LOWEST_GAS, BLOCK_BYTES, room.blobs
    while heap and count > 0:
        index, entry, pending = heap[0][-3:]
        size -= len(entry.transaction.encoded)
        if size < 0:
            return
        after = None
        if entry.blobs <= blobs:
            yield entry
            count, blobs = count - 1, blobs - entry.blobs
            after = _head(pending, index + 1, room, order)
        if after is None:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, after)


def _head(pending: list[PoolEntry], index: int, room: BlockSpace, order: TransactionOrder) -> Head | None:
    if index >= len(pending):
        return None
    entry = pending[index]
    if entry.gas > room.gas_limit or not entry.pays(room.base_fee, room.blob_fee):
        return None
    if order is TransactionOrder.FIFO:
        return entry.arrival, False, entry.arrival, index, entry, pending
    # At equal prices geth takes a transaction without blobs first, then the older one.
    return -entry.tip(room.base_fee), entry.is_blob, entry.arrival, index, entry, pending
