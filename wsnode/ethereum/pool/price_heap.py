"""Order in which a full pool drops transactions."""

import heapq
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from wsnode.ethereum.pool.entry import PoolEntry

Worth: TypeAlias = tuple[int, int, int]


def worth(entry: PoolEntry, base_fee: int | None) -> Worth:
    """Return the sort key of a transaction: tip in the next block, maximum fee, maximum tip."""
    return entry.tip(base_fee), entry.max_fee, entry.max_priority_fee


class PriceHeap:
    """Heap of a mapping's entries, built at first use; entries removed since are skipped."""

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
        # Twice as many as there are: most of them have gone.
        if self._heap is None or len(self._heap) > 2 * len(self._entries) + 64:
            self._heap = [self._item(entry) for entry in self._entries.values()]
            heapq.heapify(self._heap)
        return self._heap

    def _item(self, entry: PoolEntry) -> tuple[Worth, int, int, PoolEntry]:
        return worth(entry, self.base_fee), -entry.nonce, -entry.arrival, entry
