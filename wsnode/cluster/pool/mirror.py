"""A pool that takes what the writer's pool has: each transaction is checked as if it was sent here."""

import logging
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from wsnode.cluster.pool.pool_changes import MOST_TRANSACTIONS, Encoded
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.pool.entry import BLOB_TYPE
from wsnode.ethereum.pool.errors import KnownError, PoolError
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.state import ReorganisedError

logger = logging.getLogger("wsnode.journal")


class PoolObserver(Protocol):
    """Keeps in mind what the writer says to have."""

    def heard(self, transaction_hash: bytes, epoch: int, /) -> None:
        """Take note that the writer of an epoch says itself that it has a transaction."""

    def doubted(self, hashes: Sequence[bytes], /) -> None:
        """Take note of transactions that the writer may not have any more."""


class NullObserver:
    """Keeps nothing in mind: nothing is sent from here to the writer."""

    def heard(self, transaction_hash: bytes, epoch: int, /) -> None:
        """Do nothing."""

    def doubted(self, hashes: Sequence[bytes], /) -> None:
        """Do nothing."""


class MirrorCounts(msgspec.Struct):
    """What became of transactions that the writer has, or had."""

    taken: int = 0
    refused: int = 0
    """By this pool; each is tried again as long as the writer has it."""
    dropped: int = 0


class Mirror:
    """Brings a pool to the contents of the writer's, as far as it takes them itself."""

    def __init__(self, pool: TransactionPool, hearer: PoolObserver, most: int = MOST_TRANSACTIONS) -> None:
        """The writer has no more than `most` transactions at once."""
        self._pool = pool
        self._hearer = hearer
        self._most: Final = most
        self.epoch = 0
        """Of the writer that has what is listed."""
        self.is_whole = False
        """Whether all that it has is listed."""
        self._listed: dict[bytes, None] = {}
        self._before: dict[bytes, None] = {}
        """What it had before its contents began anew."""
        self.counts = MirrorCounts()

    @property
    def listed(self) -> int:
        """Return how many transactions the writer has."""
        return len(self._listed)

    @property
    def lacking(self) -> int:
        """Return how many of those this pool does not have: it refuses them, or a block has them by now."""
        entries = self._pool.entries
        return sum(name not in entries for name in self._listed)

    def begin(self, epoch: int) -> None:
        """Forget what the writer has, to be given all of it anew."""
        self._before = {**self._before, **self._listed} if epoch == self.epoch else {}
        self._listed, self.epoch, self.is_whole = {}, epoch, False

    def complete(self) -> None:
        """Take note that all is listed that the writer has."""
        if self.is_whole:
            return
        self.is_whole = True
        # A block may have it, or have had it and be gone. So it is not dropped, but offered to the writer.
        self._hearer.doubted([name for name in self._before if name not in self._listed])
        self._before = {}

    def note(self, encoded: Sequence[Encoded]) -> list[PooledTransaction]:
        """Take note of what the writer has, and return what can be read of it."""
        for each in encoded:
            self._list(keccak256(each))
        return [transaction for each in encoded if (transaction := self._decoded(each)) is not None]

    def take(self, transactions: Sequence[PooledTransaction]) -> list[Encoded]:
        """Return the transactions that the pool has taken."""
        return [each.encoded for each in transactions if self._is_taken(each)]

    def drop(self, hashes: Sequence[bytes]) -> list[bytes]:
        """Take transactions off the list, and out of the pool; return the hashes of those that were there."""
        for name in hashes:
            self._listed.pop(name, None)
            self._before.pop(name, None)
        return self._drop(hashes)

    def lacked(self, most: int) -> list[bytes]:
        """Return hashes that are listed, and not in the pool."""
        entries = self._pool.entries
        found: list[bytes] = []
        for name in self._listed:
            if name not in entries:
                found.append(name)
                if len(found) == most:
                    break
        return found

    def take_again(self, hashes: Sequence[bytes], found: Sequence[Encoded | None]) -> list[Encoded]:
        """Try again to take what was lacked; return what the pool has taken.

        What the writer has not any more is None, and is not listed then.
        """
        again: list[Encoded] = []
        for name, encoded in zip(hashes, found, strict=True):
            if name not in self._listed:
                # It was dropped meanwhile.
                continue
            del self._listed[name]
            if encoded is not None and keccak256(encoded) == name:
                # Behind the others, so that each has its turn.
                self._list(name)
                again.append(encoded)
        # Each is counted once.
        refused = self.counts.refused
        decoded = [transaction for each in again if (transaction := self._decoded(each)) is not None]
        taken = self.take(sorted(decoded, key=lambda transaction: transaction.nonce))
        self.counts.refused = refused
        return taken

    def _list(self, name: bytes) -> None:
        self._listed[name] = None
        self._hearer.heard(name, self.epoch)
        if len(self._listed) > self._most:
            del self._listed[next(iter(self._listed))]

    def _decoded(self, encoded: Encoded) -> PooledTransaction | None:
        try:
            return self._pool.decode(encoded)
        except PoolError as error:
            self._refuse(keccak256(encoded), error)
            return None

    def _is_taken(self, transaction: PooledTransaction) -> bool:
        if transaction.type == BLOB_TYPE and self._pool.blobs is not None:
            # This node builds payloads, for which it would need the blobs.
            return False
        try:
            self._pool.check(transaction, needs_blobs=False)
            self._pool.admit(transaction)
        except KnownError:
            return False
        except (PoolError, ReorganisedError) as error:
            self._refuse(transaction.hash, error)
            return False
        self.counts.taken += 1
        return True

    def _refuse(self, name: bytes, error: Exception) -> None:
        self.counts.refused += 1
        logger.debug("0x%s, which the writer has, is not taken: %s", name.hex(), error)

    def _drop(self, hashes: Sequence[bytes]) -> list[bytes]:
        dropped = [name for name in hashes if self._pool.drop(name)]
        self.counts.dropped += len(dropped)
        return dropped
