"""Pools of one worker, which also take transactions from other workers."""

from contextlib import suppress
from functools import partial
from typing import Final

from wsnode.ethereum.pool.errors import PoolError
from wsnode.ethereum.pool.pool import Relay, TransactionPool
from wsnode.node.workers.ipc import IpcChannel
from wsnode.node.workers.messages import (
    PoolDumpRequest,
    PoolUpdateRequest,
    PoolUpdateResponse,
    ToWorker,
    parts,
)
from wsnode.node.workers.pending_requests import PendingRequests

TIMEOUT_SECONDS: Final = 1.0
"""Seconds for which a sender waits for other workers; one of them may be ending."""


class PoolSync:
    """Synchronisation of this worker's pools with those of the other workers."""

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
        """Send a transaction to all other workers; return once they have it, or after `TIMEOUT_SECONDS`."""
        await self._questions.ask(
            lambda number: self._channel.post(PoolUpdateRequest(number, network, [bytes(encoded)])),
            TIMEOUT_SECONDS,
        )

    def _update(self, network: str, added: list[bytes], dropped: list[bytes]) -> None:
        """Add transactions to a network's pool, and drop others by their hashes.

        Transactions that the pool refuses are skipped, such as one with a nonce already taken.
        """
        # Between two releases of a configuration others may have a network that this one does not have.
        if (pool := self._pools.get(network)) is None:
            return
        for each in added:
            with suppress(PoolError):
                pool.admit(pool.decode(each))
        for name in dropped:
            pool.drop(name)
