"""What the contents in a journal are to become, so that they are what the writer's pool has."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from wsnode.cluster.pool.changes import (
    ADDED_AT_ONCE,
    ADDED_BYTES_AT_ONCE,
    DROPPED_AT_ONCE,
    LARGEST_TRANSACTION,
    MOST_BYTES,
    MOST_TRANSACTIONS,
)
from wsnode.ethereum.pool.entry import Entry
from wsnode.ethereum.state import ReorganisedError


class Entries(Protocol):
    """A pool."""

    @property
    def entries(self) -> Mapping[bytes, Entry]:
        """Return everything by its hash, as it is at any time."""
        ...


class Batch(msgspec.Struct, frozen=True):
    """A part of what is to be changed."""

    added: list[Entry]
    """In the order in which they came."""
    dropped: list[bytes]
    """Hashes of those that readers are to drop too."""
    mined: list[bytes]
    """Of those that the readers' pools lose by a block."""

    @property
    def is_silent(self) -> bool:
        """Return whether readers need not know of it."""
        return not self.added and not self.dropped

    @property
    def is_empty(self) -> bool:
        """Return whether nothing changes."""
        return self.is_silent and not self.mined


class Listing:
    """The contents in a journal, compared with the pool."""

    def __init__(
        self,
        pool: Entries,
        nonce_of: Callable[[bytes], int],
        *,
        most: int = MOST_TRANSACTIONS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """`nonce_of` returns the next nonce of an account; it may raise ReorganisedError."""
        self._pool = pool
        self._nonce_of = nonce_of
        self._most, self._most_bytes = most, most_bytes
        self._listed: dict[bytes, Entry] = {}
        self._bytes = 0
        self.left_out = 0
        """How many of the pool's transactions are not to be listed: impersonated, or there is no room."""

    def __len__(self) -> int:
        return len(self._listed)

    def next_batch(self) -> Batch:
        """Return the next part of what is to be changed, which may be nothing."""
        entries = self._pool.entries
        gone = [name for name in self._listed if name not in entries]
        missing = sorted(
            (entry for name, entry in entries.items() if name not in self._listed and _can_be_listed(entry)),
            key=lambda entry: entry.arrival,
        )
        dropped, mined = self._parted(gone[:DROPPED_AT_ONCE])
        leaving = sum(_size(self._listed[name]) for name in (*dropped, *mined))
        added = self._fitting(missing, len(dropped) + len(mined), leaving)
        self.left_out = len(entries) - (len(self._listed) - len(gone)) - len(added)
        return Batch(added, dropped, mined)

    def note(self, batch: Batch) -> None:
        """Take note that a part is changed."""
        for name in (*batch.dropped, *batch.mined):
            self._bytes -= _size(self._listed.pop(name))
        for entry in batch.added:
            self._listed[entry.hash] = entry
            self._bytes += _size(entry)

    def _parted(self, gone: list[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Return what left for reasons of the pool, and what left because a block has used the nonce."""
        dropped, mined = list[bytes](), list[bytes]()
        for name in gone:
            entry = self._listed[name]
            try:
                is_mined = entry.nonce < self._nonce_of(entry.sender)
            except ReorganisedError:
                # The chain has moved on meanwhile: the next look says why it left.
                continue
            (mined if is_mined else dropped).append(name)
        return dropped, mined

    def _fitting(self, missing: list[Entry], leaving: int, leaving_bytes: int) -> list[Entry]:
        added, size = list[Entry](), 0
        room = self._most - len(self._listed) + leaving
        room_bytes = self._most_bytes - self._bytes + leaving_bytes
        for entry in missing[: min(ADDED_AT_ONCE, room)]:
            if size >= ADDED_BYTES_AT_ONCE or size + _size(entry) > room_bytes:
                break
            added.append(entry)
            size += _size(entry)
        return added


def _can_be_listed(entry: Entry) -> bool:
    # No other node could check an impersonated sender.
    return not entry.transaction.is_impersonated and _size(entry) <= LARGEST_TRANSACTION


def _size(entry: Entry) -> int:
    return len(entry.transaction.encoded)
