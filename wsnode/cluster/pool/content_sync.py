"""Changes that lead from the contents in a journal to those of the writer's pool."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Protocol

import msgspec

from wsnode.cluster.pool.pool_changes import (
    ADDED_AT_ONCE,
    ADDED_BYTES_AT_ONCE,
    DROPPED_AT_ONCE,
    LARGEST_TRANSACTION,
    MOST_BYTES,
    MOST_TRANSACTIONS,
)
from wsnode.ethereum.pool.entry import PoolEntry


class PoolReader(Protocol):
    """Pool that is read."""

    @property
    def entries(self) -> Mapping[bytes, PoolEntry]:
        """Return the live mapping of all entries, by hash."""
        ...


class PoolDiff(msgspec.Struct, frozen=True):
    """Part of the changes."""

    added: list[PoolEntry]
    """Added transactions, in the order in which they came."""
    dropped: list[bytes]
    """Hashes of transactions that readers are to drop too."""
    gone: list[bytes]
    """Hashes of transactions that leave the readers' pools by a block."""

    @property
    def is_silent(self) -> bool:
        """Return True if readers need not know of the changes."""
        return not self.added and not self.dropped

    @property
    def is_empty(self) -> bool:
        """Return True if nothing changes."""
        return self.is_silent and not self.gone


class PoolJournalDiff:
    """Contents in a journal, compared with the pool."""

    def __init__(
        self,
        pool: PoolReader,
        *,
        most: int = MOST_TRANSACTIONS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._pool = pool
        self._most, self._most_bytes = most, most_bytes
        self._listed: dict[bytes, PoolEntry] = {}
        self._bytes = 0
        self._dropped: dict[bytes, None] = {}
        """Hashes that the pool has dropped, to be published."""
        self.left_out = 0
        """Number of the pool's transactions that are not listed: impersonated ones, and those beyond the
        bounds.
        """

    def __len__(self) -> int:
        return len(self._listed)

    def drop(self, hashes: Sequence[bytes]) -> None:
        """Note hashes that the pool has dropped; beyond the bound the first ones are forgotten."""
        self._dropped |= dict.fromkeys(hashes)
        while len(self._dropped) > self._most:
            del self._dropped[next(iter(self._dropped))]

    def begin_anew(self) -> None:
        """Forget the listed transactions; dropped ones are still to be published."""
        self._listed, self._bytes = {}, 0

    def next_batch(self) -> PoolDiff:
        """Return the next part of the changes, which may be empty."""
        entries = self._pool.entries
        # What was dropped may have come again.
        self._dropped = {name: None for name in self._dropped if name not in entries}
        left = self._listed.keys() - entries.keys()
        dropped = list(islice(self._dropped, DROPPED_AT_ONCE))
        gone = list(islice((name for name in left if name not in self._dropped), DROPPED_AT_ONCE))
        missing = sorted(
            filter(_can_be_listed, map(entries.__getitem__, entries.keys() - self._listed.keys())),
            key=lambda entry: entry.arrival,
        )
        leaving = [self._listed[name] for name in (*dropped, *gone) if name in self._listed]
        added = self._fitting(missing, len(leaving), sum(map(_size, leaving)))
        self.left_out = len(entries) - (len(self._listed) - len(left)) - len(added)
        return PoolDiff(added, dropped, gone)

    def note(self, batch: PoolDiff) -> None:
        """Note that a part is published."""
        for name in (*batch.dropped, *batch.gone):
            self._dropped.pop(name, None)
            if (entry := self._listed.pop(name, None)) is not None:
                self._bytes -= _size(entry)
        for entry in batch.added:
            self._listed[entry.hash] = entry
            self._bytes += _size(entry)

    def _fitting(self, missing: list[PoolEntry], leaving: int, leaving_bytes: int) -> list[PoolEntry]:
        added, size = list[PoolEntry](), 0
        room = self._most - len(self._listed) + leaving
        room_bytes = self._most_bytes - self._bytes + leaving_bytes
        for entry in missing[: min(ADDED_AT_ONCE, room)]:
            if size >= ADDED_BYTES_AT_ONCE or size + _size(entry) > room_bytes:
                break
            added.append(entry)
            size += _size(entry)
        return added


def _can_be_listed(entry: PoolEntry) -> bool:
    # No other node could check an impersonated sender.
    return not entry.transaction.is_impersonated and _size(entry) <= LARGEST_TRANSACTION


def _size(entry: PoolEntry) -> int:
    return len(entry.transaction.encoded)
