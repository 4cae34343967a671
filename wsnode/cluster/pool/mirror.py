"""Copy of the writer's pool: each transaction is checked as if it was sent here."""

import logging
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from wsnode.cluster.pool.stream import MAX_TRANSACTIONS, Encoded
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.pool.entry import BLOB_TYPE
from wsnode.ethereum.pool.errors import KnownError, PoolError
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.state import ReorganisedError

logger = logging.getLogger("wsnode.journal")


class WriterPoolObserver(Protocol):
    """Observer of the transactions in the pool of the journal's writer, called by `Mirror`; implemented by
    `UnsentTransactions`, and by `NullObserver`.
    """

    def heard(self, transaction_hash: bytes, epoch: int, /) -> None:
        """Note that the writer of an epoch lists a transaction."""

    def doubted(self, hashes: Sequence[bytes], /) -> None:
        """Note transactions that the writer may not have any more."""


class NullObserver:
    """Observer that ignores all calls, for a node without transactions to send to the writer."""

    def heard(self, transaction_hash: bytes, epoch: int, /) -> None: ...

    def doubted(self, hashes: Sequence[bytes], /) -> None: ...


class MirrorCounts(msgspec.Struct):
    """Numbers of transactions that this pool has taken from the writer's, has refused, or has dropped because
    the writer dropped them.
    """

    taken: int = 0
    refused: int = 0
    """Number that this pool has refused; each is tried again as long as the writer lists it."""
    dropped: int = 0


class Mirror:
    """Copier of the writer's pool: adds its transactions to this node's pool as far as it accepts them, and
    drops the ones dropped by the writer.
    """

    def __init__(
        self, pool: TransactionPool, hearer: WriterPoolObserver, most: int = MAX_TRANSACTIONS
    ) -> None:
        self._pool = pool
        self._hearer = hearer
        self._most: Final = most
        self.epoch = 0
        """Epoch of the writer whose transactions are listed."""
        self.is_whole = False
        """True if all of the writer's transactions are listed."""
        self._listed: dict[bytes, None] = {}
        self._before: dict[bytes, None] = {}
        """Transactions that the writer listed before its contents began anew."""
        self.counts = MirrorCounts()

    @property
    def listed(self) -> int:
        return len(self._listed)

    @property
    def lacking(self) -> int:
        """Return the number of listed transactions that this pool does not have: it refuses them, or a block
        has them.
        """
        entries = self._pool.entries
        return sum(name not in entries for name in self._listed)

    def begin(self, epoch: int) -> None:
        """Forget the list, to receive all of it anew from the writer of an epoch."""
        self._before = {**self._before, **self._listed} if epoch == self.epoch else {}
        self._listed, self.epoch, self.is_whole = {}, epoch, False

    def complete(self) -> None:
        """Note that all of the writer's transactions are listed."""
        if self.is_whole:
            return
        self.is_whole = True
        # A transaction that the writer no longer lists may be in a block, or its block may have left the
        # chain. So the mirror does not drop the transaction, but has it offered to the writer again.
        self._hearer.doubted([name for name in self._before if name not in self._listed])
        self._before = {}

    def note(self, encoded: Sequence[Encoded]) -> list[PooledTransaction]:
        """List transactions of the writer, and return those that can be decoded."""
        for each in encoded:
            self._list(keccak256(each))
        return [transaction for each in encoded if (transaction := self._decoded(each)) is not None]

    def take(self, transactions: Sequence[PooledTransaction]) -> list[Encoded]:
        """Add transactions to the pool, and return the encoded ones that it has accepted."""
        return [each.encoded for each in transactions if self._is_taken(each)]

    def drop(self, hashes: Sequence[bytes]) -> list[bytes]:
        """Take transactions off the list and out of the pool; return the hashes of those that were in the
        pool.
        """
        for name in hashes:
            self._listed.pop(name, None)
            self._before.pop(name, None)
        return self._drop(hashes)

    def lacked(self, most: int) -> list[bytes]:
        """Return up to `most` listed hashes that are not in the pool."""
        entries = self._pool.entries
        found: list[bytes] = []
        for name in self._listed:
            if name not in entries:
                found.append(name)
                if len(found) == most:
                    break
        return found

    def take_again(self, hashes: Sequence[bytes], found: Sequence[Encoded | None]) -> list[Encoded]:
        """Try again to add missing transactions; return the encoded ones that the pool has accepted.

        One that the writer no longer has is None in `found`, and is taken off the list.
        """
        again: list[Encoded] = []
        for name, encoded in zip(hashes, found, strict=True):
            if name not in self._listed:
                # The transaction was taken off the list while it was fetched.
                continue
            del self._listed[name]
            if encoded is not None and keccak256(encoded) == name:
                # Listing the hash again moves it to the end of the list, so that each missing transaction has
                # its turn.
                self._list(name)
                again.append(encoded)
        # A transaction that is refused again is not counted a second time.
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
            # This node builds payloads, for which it would need the blobs. The writer's list has none.
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
        logger.debug("transaction 0x%s of the writer is not added to this node's pool: %s", name.hex(), error)

    def _drop(self, hashes: Sequence[bytes]) -> list[bytes]:
        dropped = [name for name in hashes if self._pool.drop(name)]
        self.counts.dropped += len(dropped)
        return dropped
