"""Transactions of a replica's pool that the writer of the chain may not have."""

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Final

import msgspec

from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.pool.entry import PoolEntry
from wsnode.ethereum.pool.queries import PoolView

AGAIN_SECONDS: Final = 60.0
"""Seconds after which a writer is asked again for a refused transaction: its pool may have been full.

The same holds for a writer that has accepted it, if it does not list it for all nodes.
"""


class _Answer(msgspec.Struct, frozen=True):
    epoch: int
    valid_until: float


class UnsentTransactions:
    """Transactions of a pool still to be sent to the writer, by the answers of writers and their epochs."""

    def __init__(self, pool: PoolView, clock: Callable[[], float], *, hears: bool = False) -> None:
        """Prepare with a `clock` in seconds; `hears`: a writer lists its transactions."""
        self._pool = pool
        self._clock = clock
        self._hears = hears
        self._answers: dict[bytes, _Answer] = {}
        self._mirrored: set[bytes] = set()
        """Hashes of transactions that came from other nodes."""

    def given(self, transaction_hash: bytes, epoch: int) -> None:
        """Note that the writer of an epoch has a transaction, or is about to be asked."""
        # One that it took, and dropped before it said so, is offered once more.
        answer = self._answers.get(transaction_hash)
        is_heard = answer is not None and answer.epoch == epoch and answer.valid_until == inf
        is_final = is_heard or not self._hears
        self._answers[transaction_hash] = _Answer(epoch, inf if is_final else self._clock() + AGAIN_SECONDS)

    def heard(self, transaction_hash: bytes, epoch: int) -> None:
        if transaction_hash not in self._answers:
            self._mirrored.add(transaction_hash)
        self._answers[transaction_hash] = _Answer(epoch, inf)

    def refused(self, transaction_hash: bytes, epoch: int) -> None:
        self._answers[transaction_hash] = _Answer(epoch, self._clock() + AGAIN_SECONDS)

    def unanswered(self, transaction_hash: bytes) -> None:
        """Note that it is unknown whether a transaction was accepted."""
        self._answers.pop(transaction_hash, None)

    def doubted(self, hashes: Iterable[bytes]) -> None:
        """Note transactions that the writer may not have any more.

        They are back from blocks that left the chain, or it does not list them any more.
        """
        for transaction_hash in hashes:
            self.unanswered(transaction_hash)

    def due(self, epoch: int) -> list[PooledTransaction]:
        """Return the transactions to send to the writer of an epoch, by sender and nonce, so that none has to
        wait.

        Those from other nodes are last: the others send them as well, and usually the writer has them before
        this node's turn.
        """
        now = self._clock()
        self._answers = {
            each: answer for each, answer in self._answers.items() if self._pool.find(each) is not None
        }
        self._mirrored &= self._answers.keys()
        entries = [entry for entry in self._entries() if not self._is_answered(entry, epoch, now)]
        entries.sort(key=lambda entry: entry.hash in self._mirrored)
        return [entry.transaction for entry in entries]

    def is_due(self, transaction_hash: bytes, epoch: int) -> bool:
        """Return True if the writer of an epoch is still to be sent a transaction."""
        is_pooled = self._pool.find(transaction_hash) is not None
        return is_pooled and not self._has_answer(transaction_hash, epoch, self._clock())

    def _entries(self) -> Iterator[PoolEntry]:
        for sender in self._pool.senders:
            yield from sender.pending
            yield from (sender.queued[nonce] for nonce in sorted(sender.queued))

    def _is_answered(self, entry: PoolEntry, epoch: int, now: float) -> bool:
        # Blobs are not kept here, and who was impersonated has not signed.
        cannot_be_sent = entry.is_blob or entry.transaction.is_impersonated
        return cannot_be_sent or self._has_answer(entry.hash, epoch, now)

    def _has_answer(self, transaction_hash: bytes, epoch: int, now: float) -> bool:
        answer = self._answers.get(transaction_hash)
        return answer is not None and answer.epoch == epoch and now < answer.valid_until
