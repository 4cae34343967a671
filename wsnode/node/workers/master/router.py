"""Routing of status, requests and transactions between the processes of a node, through the master."""

from collections.abc import Iterator, Set
from typing import Final

import msgspec
import trio

from wsnode.node.workers.master.worker_process import WorkerProcess, WorkerStage
from wsnode.node.workers.messages import (
    CorruptStore,
    PendingTransactions,
    PoolDumpRequest,
    PoolUpdateRequest,
    PoolUpdateResponse,
    SyncRequest,
    SyncResponse,
    SyncStatus,
)

TAKING_SECONDS: Final = 0.5
"""Seconds for which the sender of a transaction waits for a silent worker."""


class MessageRouter:
    """Router of messages in the master: status from the process that follows to workers, their requests to
    it, and reports of damage to all processes.
    """

    def __init__(self, workers: Set[WorkerProcess]) -> None:
        """Prepare to route between `workers`, the set of running processes at any time."""
        self._workers = workers
        self._standings: dict[str, SyncStatus] = {}
        """Last status of each network."""
        self._damage: dict[tuple[int, str], str] = {}
        """Text of the damaged row that a process has met, by the process's slot and the network."""

    def tell(self, message: SyncStatus | PendingTransactions | PoolUpdateRequest) -> None:
        """Send a message of the process that follows to all workers."""
        if isinstance(message, SyncStatus):
            self._standings[message.network] = message
        for worker in self._serving():
            worker.post(message)

    def supply(self, new: WorkerProcess) -> None:
        """Send a new worker the last status of each network."""
        if not new.follows:
            for status in self._standings.values():
                new.post(status)
        for network in {network for _, network in self._damage}:
            new.post(self._damage_of(network))

    def ask(self, origin: WorkerProcess, message: SyncRequest) -> None:
        """Pass a request on to the process that follows; answer with a failure if it cannot answer."""
        for worker in self._workers:
            if worker.follows and worker.can_answer:
                worker.post(msgspec.structs.replace(message, slot=origin.slot))
                return
        origin.post(SyncResponse(message.number, self._hindrance()))

    def answer(self, message: SyncResponse) -> None:
        """Pass an answer on to the worker that asked."""
        for worker in self._workers:
            if worker.slot == message.slot:
                worker.post(message)

    def note_end(self, ended: WorkerProcess) -> None:
        """Notify all workers if the process that follows has ended, and of the remaining damage."""
        if ended.follows:
            for status in self._standings.values():
                why = "the process that follows has ended"
                self.tell(msgspec.structs.replace(status, not_ready_reason=why, peers=0, progress=None))
        for network in [network for slot, network in self._damage if slot == ended.slot]:
            del self._damage[ended.slot, network]
            self._tell_damage(network)

    def note_damage(self, origin: WorkerProcess, network: str, reason: str | None) -> None:
        """Notify all processes of a damaged row, until `origin` ends."""
        if reason is not None and (origin.slot, network) not in self._damage:
            self._damage[origin.slot, network] = reason
            self._tell_damage(network)

    def _tell_damage(self, network: str) -> None:
        for worker in self._workers:
            if worker.stage is WorkerStage.SERVING:
                worker.post(self._damage_of(network))

    def _damage_of(self, network: str) -> CorruptStore:
        return CorruptStore(
            network, next((reason for (_, name), reason in self._damage.items() if name == network), None)
        )

    def _hindrance(self) -> str:
        is_silent = any(worker.follows and worker.is_silent for worker in self._workers)
        return f"the process that follows {'does not answer' if is_silent else 'is being started'}"

    def _serving(self) -> Iterator[WorkerProcess]:
        return (each for each in self._workers if each.stage is WorkerStage.SERVING and not each.follows)


class TxBroadcaster:
    """Broadcaster of transactions between the pools of workers."""

    def __init__(self, workers: Set[WorkerProcess]) -> None:
        """Prepare to broadcast to `workers`, the set of running processes at any time."""
        self._workers = workers
        self._number = 0
        self._missing: dict[int, set[WorkerProcess]] = {}
        """Workers that have not confirmed a broadcast yet, by its number."""
        self._taken_now = trio.lowlevel.ParkingLot()

    def took(self, worker: WorkerProcess, number: int) -> None:
        """Record that a worker has taken the transactions of a broadcast."""
        if (missing := self._missing.get(number)) is not None:
            missing.discard(worker)
            self._taken_now.unpark_all()

    async def spread(self, origin: WorkerProcess, message: PoolUpdateRequest) -> None:
        """Send transactions to all workers but `origin`; notify `origin` when they have them."""
        self._number += 1
        number = self._number
        others = {each for each in self._workers if each.stage is WorkerStage.SERVING and each is not origin}
        for worker in others:
            worker.post(PoolUpdateRequest(number, message.network, message.added))
        missing = self._missing[number] = {each for each in others if each.can_answer}
        with trio.move_on_after(TAKING_SECONDS):
            while missing & self._workers:
                await self._taken_now.park()
        del self._missing[number]
        origin.post(PoolUpdateResponse(message.number))

    def supply(self, new: WorkerProcess) -> None:
        """Have another worker send the contents of its pools for a new one."""
        others = (each for each in self._workers if each.can_answer and each is not new)
        if (lender := next(others, None)) is not None:
            lender.post(PoolDumpRequest(new.slot))

    def lent(self, message: PoolUpdateRequest) -> None:
        """Send a new worker the contents of another worker's pool."""
        for worker in self._workers:
            if worker.slot == message.slot and message.added:
                worker.post(PoolUpdateRequest(0, message.network, message.added))

    def note_end(self) -> None:
        """Stop waiting for a worker that has ended."""
        self._taken_now.unpark_all()
