"""Sending of transactions to the process that writes: once for their senders, and again to its successor."""

import logging
import random
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import trio

from wsnode.cluster.membership import ClusterMembership
from wsnode.cluster.node_directory import PresentNodes
from wsnode.cluster.replica.peer_nodes import send_to_writer, writer_of
from wsnode.cluster.replica.unsent_txs import UnsentTransactions
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError
from wsnode.sync.follow.tx_sender import send_to
from wsnode.upstream.client import Client, running
from wsnode.upstream.errors import SendFailedError, UpstreamError, UpstreamRefusedError
from wsnode.upstream.link import Connect

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
    """Outcomes of transactions that were sent again."""

    taken: int = 0
    refused: int = 0
    failed: int = 0
    """Number without an answer: these are sent once more."""


class TxResender:
    """Sender of transactions to the writer, which `presence` knows; `run` has to be running."""

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
            # Also of a sender that has gone meanwhile.
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
        # Those that stay refused are offered for ever.
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
