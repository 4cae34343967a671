"""Contents of a pool by hash and by sender, and the order in which a full pool drops them."""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from wsnode.ethereum.pool.entry import PoolEntry
from wsnode.ethereum.pool.sender import AccountState, SenderQueue

Worth: TypeAlias = tuple[int, int, int]


def worth(entry: PoolEntry, base_fee: int | None) -> Worth:
    """Return the sort key of a transaction: tip in the next block, maximum fee, maximum tip."""
    return entry.tip(base_fee), entry.max_fee, entry.max_priority_fee


class PriceHeap:
    """Heap of the pool's transactions, cheapest first, to find the ones to drop; built at its first use. It
    skips entries no longer in the mapping.
    """

    def __init__(self, entries: Mapping[bytes, PoolEntry]) -> None:
        self._entries = entries
        self._heap: list[tuple[Worth, int, int, PoolEntry]] | None = None
        self.base_fee: int | None = None

    def reprice(self, base_fee: int | None) -> None:
        """Use another base fee for the order from now on."""
        self.base_fee = base_fee
        self._heap = None

    def add(self, entry: PoolEntry) -> None:
        if self._heap is not None:
            heapq.heappush(self._heap, self._item(entry))

    def __iter__(self) -> Iterator[PoolEntry]:
        """Yield the entries, cheapest first; among equal ones higher nonces first, then newer ones."""
        heap = self._cleared()
        taken = []
        try:
            while heap:
                item = heapq.heappop(heap)
                if self._entries.get(item[3].hash) is item[3]:
                    taken.append(item)
                    yield item[3]
        finally:
            for item in taken:
                heapq.heappush(heap, item)

    def _cleared(self) -> list[tuple[Worth, int, int, PoolEntry]]:
        # A heap twice as large as the pool consists mostly of transactions that have left the pool, so it is
        # rebuilt.
        if self._heap is None or len(self._heap) > 2 * len(self._entries) + 64:
            self._heap = [self._item(entry) for entry in self._entries.values()]
            heapq.heapify(self._heap)
        return self._heap

    def _item(self, entry: PoolEntry) -> tuple[Worth, int, int, PoolEntry]:
        return worth(entry, self.base_fee), -entry.nonce, -entry.arrival, entry


class TransactionIndex:
    """Transactions by hash and by sender; the totals are updated with every change."""

    def __init__(self) -> None:
        self.entries: dict[bytes, PoolEntry] = {}
        self.senders: dict[bytes, SenderQueue] = {}
        self.authorities = Counter[bytes]()
        """Number of transactions with an authorization of each account."""
        self.pending = 0
        self.slots = 0
        self.bytes = 0
        self.cheapest = PriceHeap(self.entries)

    @property
    def queued(self) -> int:
        return len(self.entries) - self.pending

    @property
    def gapped_blobs(self) -> int:
        return sum(entry.is_blob for sender in self.senders.values() for entry in sender.queued.values())

    def put(self, sender: SenderQueue, entry: PoolEntry) -> list[PoolEntry]:
        """Add a transaction or replace that with its nonce; return those that became executable."""
        with_sender = self.senders.setdefault(entry.sender, sender)
        before = len(with_sender.pending)
        is_pending = with_sender.is_pending(entry.nonce)
        replaced = with_sender.put(entry)
        if replaced is not None:
            self._forget(replaced)
        self._count(entry)
        promoted = [entry] if is_pending else []
        # A replacement that costs less than the replaced transaction leaves funds for the queued ones.
        promoted += with_sender.promote()
        self.pending += len(with_sender.pending) - before
        if promoted:
            with_sender.beat = entry.since
        return promoted

    def drop(self, entry: PoolEntry) -> None:
        sender = self.senders[entry.sender]
        before = len(sender.pending)
        sender.remove(entry)
        self.pending += len(sender.pending) - before
        self._forget(entry)
        self._release(sender)

    def settle(self, sender: SenderQueue, account: AccountState, gas_limit: int) -> list[PoolEntry]:
        """Move a sender to a new state, and return the transactions that became executable."""
        before = len(sender.pending)
        dropped, promoted = sender.settle(account, gas_limit)
        self.pending += len(sender.pending) - before
        for entry in dropped:
            self._forget(entry)
        self._release(sender)
        return promoted

    def waiting(self) -> Iterator[SenderQueue]:
        """Yield the senders with queued transactions, the longest inactive first."""
        yield from sorted(
            (sender for sender in self.senders.values() if sender.queued), key=lambda sender: sender.beat
        )

    def _count(self, entry: PoolEntry) -> None:
        self.entries[entry.hash] = entry
        self.authorities.update(set(entry.transaction.authorities))
        self.slots += entry.slots
        self.bytes += entry.size
        self.cheapest.add(entry)

    def _forget(self, entry: PoolEntry) -> None:
        del self.entries[entry.hash]
        for authority in set(entry.transaction.authorities):
            self.authorities[authority] -= 1
            if not self.authorities[authority]:
                del self.authorities[authority]
        self.slots -= entry.slots
        self.bytes -= entry.size

    def _release(self, sender: SenderQueue) -> None:
        if not len(sender):
            del self.senders[sender.address]
