"""Other processes of a node, seen from a worker; implements `SiblingProcesses`."""

import logging
from contextlib import suppress
from functools import partial
from typing import Final

from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.sync_feed import StatusReporter
from wsnode.ethereum.pool.errors import PoolError
from wsnode.ethereum.pool.pool import Relay, TransactionPool
from wsnode.ethereum.state import ChainSpec
from wsnode.node.process_group import LocalSyncService
from wsnode.node.workers.ipc import IpcChannel, PendingRequests
from wsnode.node.workers.messages import (
    CorruptStore,
    PendingTransactions,
    PoolDumpRequest,
    PoolUpdateRequest,
    PoolUpdateResponse,
    SyncRequest,
    SyncResponse,
    SyncStatus,
    ToWorker,
    parts,
)
from wsnode.node.workers.scoreboard import KEYS, Scoreboard, SharedRateLimiter
from wsnode.node.workers.serving.sync_status import SyncProxy, SyncPublisher
from wsnode.upstream.errors import SendFailedError

POOL_SECONDS: Final = 1.0
"""Seconds for which a sender waits for other workers; one of them may be ending."""
TIMEOUT_SECONDS: Final = 12.0
"""Seconds for which a sender waits; the process that follows waits for other nodes for a shorter time."""
INQUIRY_SECONDS: Final = 3.0
logger = logging.getLogger("wsnode.workers")


class PoolSync:
    """Relay between this worker's pools and those of the other workers: each pool gets the transactions of
    all.
    """

    def __init__(self, channel: IpcChannel[ToWorker]) -> None:
        self._channel = channel
        self._pools: dict[str, TransactionPool] = {}
        self._questions = PendingRequests[None]()

    def join(self, network: str, pool: TransactionPool) -> Relay:
        """Take transactions of other workers into `pool`; return the relay that sends them a transaction."""
        self._pools[network] = pool
        return partial(self._relay, network)

    def hear(self, message: PoolUpdateRequest | PoolUpdateResponse | PoolDumpRequest) -> None:
        match message:
            case PoolUpdateRequest(number, network, added, dropped):
                self._update(network, added, dropped)
                if number:
                    self._channel.post(PoolUpdateResponse(number))
            case PoolUpdateResponse(number):
                self._questions.answer(number, None)
            case PoolDumpRequest(slot):
                for network, pool in self._pools.items():
                    for part in parts(transaction.encoded for transaction in pool.held()):
                        self._channel.post(PoolUpdateRequest(0, network, part, slot=slot))

    async def _relay(self, network: str, encoded: bytes) -> None:
        """Send a transaction to all other workers; return once they have it, or after `POOL_SECONDS`."""
        await self._questions.ask(
            lambda number: self._channel.post(PoolUpdateRequest(number, network, [bytes(encoded)])),
            POOL_SECONDS,
        )

    def _update(self, network: str, added: list[bytes], dropped: list[bytes]) -> None:
        """Add transactions to a network's pool, and drop others by their hashes.

        Transactions that the pool refuses are skipped, such as one with a nonce already taken.
        """
        # While processes with a new configuration replace the old ones, another process may have a network
        # that this one lacks.
        if (pool := self._pools.get(network)) is None:
            return
        for each in added:
            with suppress(PoolError):
                pool.admit(pool.decode(each))
        for name in dropped:
            pool.drop(name)


News = (
    PoolUpdateRequest
    | PoolUpdateResponse
    | PoolDumpRequest
    | SyncStatus
    | PendingTransactions
    | SyncResponse
    | CorruptStore
)


class WorkerSiblings:
    """Implementation of `SiblingProcesses` for a worker, which exchanges messages with the other processes
    through the master.
    """

    def __init__(
        self,
        channel: IpcChannel[ToWorker],
        scoreboard: Scoreboard,
        slot: int,
        *,
        writes: bool,
        is_first: bool = False,
    ) -> None:
        """Prepare with a slot of the scoreboard.

        `writes` is True if this process follows and writes for all of them, `is_first` if it logs for all of
        them which chains are opened.
        """
        self.writes = writes
        self.is_first = is_first
        self.telling = SyncPublisher(channel)
        self._channel = channel
        self._scoreboard = scoreboard
        self._slot = slot
        self._pools = PoolSync(channel)
        self._elsewhere: dict[str, SyncProxy] = {}
        self._damage: dict[str, str | None] = {}
        self._questions = PendingRequests[SyncResponse]()

    def rate_limiter_of(self, network: str, digest: str, *, is_metered: bool) -> SharedRateLimiter | None:
        """Return the counters of a key over all processes, None if there are too many keys."""
        rate_limiter = self._scoreboard.rate_limiter_of(self._slot, network, digest, is_metered=is_metered)
        if rate_limiter is None:
            logger.error(
                "%s has more than %d keys: of this one each worker counts its own use", network, KEYS
            )
        return rate_limiter

    def join(self, network: str, pool: TransactionPool) -> Relay:
        return self._pools.join(network, pool)

    def follows(self, network: str, followed: LocalSyncService, journal: StatusReporter | None) -> None:
        self.telling.follows(network, followed, journal)

    def followed(self, network: str, spec: ChainSpec, hub: Hub, relay: Relay | None, mode: str) -> SyncProxy:
        """Return the sync service of a network that another process follows."""
        inquire = partial(self._inquire, network)
        made = SyncProxy(spec, hub, partial(self._send, network, relay), inquire, mode)
        self._elsewhere[network] = made
        return made

    def tell_damage(self, network: str, reason: str) -> None:
        self._channel.post(CorruptStore(network, reason))

    def told_damage(self, network: str) -> str | None:
        return self._damage.get(network)

    def hear(self, message: News) -> None:
        """Record a message of the other processes, which the master has sent."""
        match message:
            case CorruptStore(network, reason):
                self._damage[network] = reason
            case SyncStatus() | PendingTransactions():
                # While processes with a new configuration replace the old ones, another process may follow a
                # network that this one lacks.
                if (followed := self._elsewhere.get(message.network)) is not None:
                    followed.hear(message)
            case SyncResponse(number):
                self._questions.answer(number, message)
            case _:
                self._pools.hear(message)

    async def _inquire(self, network: str) -> bytes | None:
        found = await self._questions.ask(
            lambda number: self._channel.post(SyncRequest(number, network)), INQUIRY_SECONDS
        )
        return None if found is None else found.status or None

    async def _send(self, network: str, relay: Relay | None, encoded: bytes) -> None:
        sent = await self._questions.ask(
            lambda number: self._channel.post(SyncRequest(number, network, bytes(encoded))),
            TIMEOUT_SECONDS,
        )
        if sent is None:
            raise SendFailedError("the process that follows does not answer")
        if sent.failure is not None:
            raise SendFailedError(sent.failure)
        if relay is not None:
            await relay(encoded)
