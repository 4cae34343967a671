"""Sending of transactions to the process that writes: once for their senders, and again to its successor."""

import logging
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import Final

import msgspec
import trio

from wsnode.cluster.membership import ClusterMembership, PresentNodes
from wsnode.cluster.replica.peer_nodes import send_to_writer, writer_of
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.pool.entry import PoolEntry
from wsnode.ethereum.pool.queries import PoolView
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError
from wsnode.sync.follow.upstream_txs import send_to
from wsnode.upstream.client import Client, running
from wsnode.upstream.errors import SendFailedError, UpstreamError, UpstreamRefusedError
from wsnode.upstream.link import Connect

AGAIN_SECONDS: Final = 60.0
"""Seconds after which a writer is asked again for a refused transaction: its pool may have been full.

The same holds for a writer that has accepted it, if it does not list it for all nodes.
"""


class _Answer(msgspec.Struct, frozen=True):
    epoch: int
    valid_until: float


class UnsentTransactions:
    """Queue of this node's pooled transactions still to be sent to the journal's writer. It keeps each answer
    of a writer with the writer's epoch, to send again to a new writer.
    """

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
        # The writer may take a transaction, and drop it before listing it. So, if the writer lists its
        # transactions, the answer is valid for `AGAIN_SECONDS` only until the transaction is listed, and the
        # transaction is offered once more.
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
        # This node does not keep blobs, and the transaction of an impersonated sender has no signature.
        cannot_be_sent = entry.is_blob or entry.transaction.is_impersonated
        return cannot_be_sent or self._has_answer(entry.hash, epoch, now)

    def _has_answer(self, transaction_hash: bytes, epoch: int, now: float) -> bool:
        answer = self._answers.get(transaction_hash)
        return answer is not None and answer.epoch == epoch and now < answer.valid_until


SENT_PER_SECOND: Final = 1000
"""Maximum number of transactions a second that all nodes together send again to a new writer."""
BYTES_PER_SECOND: Final = 8 << 20
"""Maximum number of bytes a second that all nodes together send again to a new writer."""
WAITED_MEETINGS: Final = 2
"""Exchanges with the journal in which a new writer may list its transactions, before it is sent
everything.
"""

logger = logging.getLogger("wsnode.replica")


class ResendCounts(msgspec.Struct):
    """Numbers of transactions that were sent to a writer again, by its answer: taken, refused, or none."""

    taken: int = 0
    refused: int = 0
    failed: int = 0
    """Number without an answer: these are sent once more."""


class TxResender:
    """Task that sends this node's transactions to the process writing the chain, found in the directory
    `presence`, and sends them again to a new writer; works while `run` is running.
    """

    def __init__(
        self,
        spec: ChainSpec,
        outbox: UnsentTransactions,
        presence: ClusterMembership,
        *,
        connect: Connect | None = None,
        has_heard: Callable[[int], bool] = lambda _epoch: True,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Prepare to send; `connect` opens connections, by TCP if it is None, and `chance` returns numbers
        from 0 to 1.

        `has_heard` returns True if the writer of an epoch has listed its transactions.
        """
        self._spec = spec
        self._outbox = outbox
        self._presence = presence
        self._connect = connect
        self._has_heard = has_heard
        self._chance = chance
        self._waited = 0, 0
        """Epoch, and the number of exchanges in which its writer had not listed its transactions."""
        self.counts = ResendCounts()

    async def send(self, encoded: bytes) -> None:
        """Return once the process that writes the chain has taken a signed transaction.

        Raises:
            SendFailedError: It has not, or is not known.
        """
        present = self._presence.present
        name = self._name_of(encoded)
        self._outbox.given(name, present.epoch)
        try:
            await send_to_writer(present, encoded, self._connect)
        except BaseException:
            # BaseException includes the cancellation of a call whose sender has disconnected meanwhile.
            self._outbox.unanswered(name)
            raise

    def _name_of(self, encoded: bytes) -> bytes:
        try:
            return PooledTransaction(self._spec, encoded).hash
        except InvalidTransactionError as error:
            # The chain has got another id since the transaction was checked.
            raise SendFailedError(str(error)) from None

    async def run(self) -> None:
        """Send again, for ever, transactions that the present writer was not sent."""
        while True:
            present = await self._presence.next_meeting()
            upstream = writer_of(present, self._connect)
            if upstream is None or not self._may_begin(present.epoch):
                continue
            if due := self._outbox.due(present.epoch):
                await self._send_again(present, upstream.client, due)

    def _may_begin(self, epoch: int) -> bool:
        """Return True if the writer of an epoch has listed its transactions, or was waited for long
        enough.
        """
        if self._has_heard(epoch):
            return True
        waited = self._waited[1] + 1 if self._waited[0] == epoch else 1
        self._waited = epoch, waited
        return waited > WAITED_MEETINGS

    async def _send_again(
        self, present: PresentNodes, client: Client, due: Sequence[PooledTransaction]
    ) -> None:
        before = msgspec.structs.replace(self.counts)
        async with running([client]):
            for transaction in due:
                await trio.sleep(self._pause(present, transaction))
                if not await self._is_answered(present, client, transaction):
                    break
        taken, refused = self.counts.taken - before.taken, self.counts.refused - before.refused
        # Refused transactions are offered again and again, so a round in which none was taken is not logged.
        if taken:
            logger.info(
                "%d pending transactions were sent again, to the writer of epoch %d; it refused %d",
                taken + refused,
                present.epoch,
                refused,
            )

    def _pause(self, present: PresentNodes, transaction: PooledTransaction) -> float:
        """Return the seconds to wait before a transaction is sent: each node has its part of the common rate.

        A random factor keeps nodes from sending at the same moments.
        """
        seconds = max(1 / SENT_PER_SECOND, len(transaction.encoded) / BYTES_PER_SECOND)
        return 2 * self._chance() * seconds * max(1, len(present.nodes))

    async def _is_answered(
        self, present: PresentNodes, client: Client, transaction: PooledTransaction
    ) -> bool:
        """Send a transaction, if it is still to be sent; return True if the next one may follow."""
        name, epoch = transaction.hash, present.epoch
        if self._presence.present.epoch != epoch:
            return False
        if not self._outbox.is_due(name, epoch):
            return True
        try:
            await send_to(client, transaction.encoded)
        except UpstreamError as error:
            return self._is_refused(name, epoch, error)
        self._outbox.given(name, epoch)
        self.counts.taken += 1
        return True

    def _is_refused(self, name: bytes, epoch: int, error: UpstreamError) -> bool:
        """Note an error; return True if it is about the transaction."""
        logger.debug("0x%s was sent again: %s", name.hex(), error)
        if isinstance(error, UpstreamRefusedError) and error.is_about_what_was_asked:
            self._outbox.refused(name, epoch)
            self.counts.refused += 1
            return True
        self.counts.failed += 1
        return False
