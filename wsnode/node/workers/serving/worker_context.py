"""One of several processes of a node, as its networks see the others; implements `Processes`."""

import logging
from functools import partial
from typing import Final

from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.sync_feed import StatusReporter
from wsnode.ethereum.pool.pool import Relay, TransactionPool
from wsnode.ethereum.state import ChainSpec
from wsnode.node.process_group import LocalSyncService
from wsnode.node.workers.ipc import IpcChannel
from wsnode.node.workers.messages import (
    AddTransactionsRequest,
    BroadcastResponse,
    PendingTransactions,
    PoolChange,
    PoolDumpRequest,
    SendTransactionRequest,
    SendTransactionResponse,
    StatusRequest,
    StatusResponse,
    SyncStatus,
    ToWorker,
)
from wsnode.node.workers.pending_requests import PendingRequests
from wsnode.node.workers.scoreboard import KEYS, Scoreboard, SharedRateLimiter
from wsnode.node.workers.serving.pool_sync import PoolSync
from wsnode.node.workers.serving.sync_proxy import SyncProxy
from wsnode.node.workers.serving.sync_publisher import SyncPublisher
from wsnode.upstream.errors import SendFailedError

PATIENCE_SECONDS: Final = 12.0
"""How long a sender waits: longer than the process that follows waits for its nodes."""
INQUIRY_SECONDS: Final = 3.0

logger = logging.getLogger("wsnode.workers")

News = (
    AddTransactionsRequest
    | BroadcastResponse
    | PoolDumpRequest
    | PoolChange
    | SyncStatus
    | PendingTransactions
    | SendTransactionResponse
    | StatusResponse
)


class WorkerContext:
    """Joins networks to those of the other processes."""

    def __init__(
        self,
        channel: IpcChannel[ToWorker],
        scoreboard: Scoreboard,
        slot: int,
        *,
        writes: bool,
        is_first: bool = False,
    ) -> None:
        """`slot` is this process's in the ledger; `writes`: whether it follows, for all of them.

        `is_first`: whether it logs what it opens, for all of them.
        """
        self.writes = writes
        self.is_first = is_first
        self.telling = SyncPublisher(channel)
        self._channel = channel
        self._scoreboard = scoreboard
        self._slot = slot
        self._pools = PoolSync(channel)
        self._elsewhere: dict[str, SyncProxy] = {}
        self._sends, self._inquiries = (
            PendingRequests[SendTransactionResponse](),
            PendingRequests[bytes | None](),
        )

    def rate_limiter_of(self, network: str, digest: str, *, is_metered: bool) -> SharedRateLimiter | None:
        """Return what counts the use of a key by all processes, None if there are too many keys."""
        rate_limiter = self._scoreboard.rate_limiter_of(self._slot, network, digest, is_metered=is_metered)
        if rate_limiter is None:
            logger.error(
                "%s has more than %d keys: of this one each worker counts its own use", network, KEYS
            )
        return rate_limiter

    def join(self, network: str, pool: TransactionPool) -> Relay:
        """Take what is sent to other processes into `pool`; return what has them take a transaction."""
        return self._pools.join(network, pool)

    def follows(self, network: str, followed: LocalSyncService, journal: StatusReporter | None) -> None:
        """Report to the others on a network that this process follows."""
        self.telling.follows(network, followed, journal)

    def followed(
        self, network: str, spec: ChainSpec | None, hub: Hub | None, relay: Relay | None, mode: str
    ) -> SyncProxy:
        """Return what stands in for the follower of a network, which is another process's."""
        inquire = partial(self._inquire, network)
        made = SyncProxy(spec, hub, partial(self._send, network, relay), inquire, mode)
        self._elsewhere[network] = made
        return made

    def hear(self, message: News) -> None:
        """Take what the parent says of the other processes."""
        match message:
            case SyncStatus() | PendingTransactions():
                # Between two releases of a configuration others may follow what this one does not have.
                if (followed := self._elsewhere.get(message.network)) is not None:
                    followed.hear(message)
            case SendTransactionResponse(number):
                self._sends.answer(number, message)
            case StatusResponse(number, status):
                self._inquiries.answer(number, status or None)
            case _:
                self._pools.hear(message)

    async def _inquire(self, network: str) -> bytes | None:
        return await self._inquiries.ask(
            lambda number: self._channel.post(StatusRequest(number, network)), INQUIRY_SECONDS
        )

    async def _send(self, network: str, relay: Relay | None, encoded: bytes) -> None:
        sent = await self._sends.ask(
            lambda number: self._channel.post(SendTransactionRequest(number, network, bytes(encoded))),
            PATIENCE_SECONDS,
        )
        if sent is None:
            raise SendFailedError("the process that follows does not answer")
        if sent.failure is not None:
            raise SendFailedError(sent.failure)
        if relay is not None:
            await relay(encoded)
