"""Routing of messages between the process that follows and the workers, through the parent."""

from collections.abc import Iterator, Set

import msgspec

from wsnode.node.workers.master.worker_process import WorkerProcess, WorkerStage
from wsnode.node.workers.messages import (
    PendingTransactions,
    PoolChange,
    SendTransactionRequest,
    SendTransactionResponse,
    StatusRequest,
    StatusResponse,
    SyncStatus,
)


class MessageRouter:
    """Router of news from the process that follows to all workers, and of their requests to it."""

    def __init__(self, workers: Set[WorkerProcess]) -> None:
        """Prepare to route between `workers`, the set of running processes at any time."""
        self._workers = workers
        self._standings: dict[str, SyncStatus] = {}
        """Last status of each network."""

    def tell(self, message: SyncStatus | PendingTransactions | PoolChange) -> None:
        """Send news to all workers."""
        if isinstance(message, SyncStatus):
            self._standings[message.network] = message
        for worker in self._serving():
            worker.post(message)

    def supply(self, new: WorkerProcess) -> None:
        """Send a new worker the last status of each network."""
        if not new.follows:
            for status in self._standings.values():
                new.post(status)

    def ask(self, origin: WorkerProcess, message: SendTransactionRequest | StatusRequest) -> None:
        """Pass a request on to the process that follows; answer with a failure if it cannot be asked."""
        for worker in self._workers:
            if worker.follows and worker.can_answer:
                worker.post(msgspec.structs.replace(message, slot=origin.slot))
                return
        if isinstance(message, StatusRequest):
            origin.post(StatusResponse(message.number, b""))
        else:
            origin.post(SendTransactionResponse(message.number, self._hindrance()))

    def answer(self, message: SendTransactionResponse | StatusResponse) -> None:
        """Pass an answer on to the worker that asked."""
        for worker in self._workers:
            if worker.slot == message.slot:
                worker.post(message)

    def note_end(self, ended: WorkerProcess) -> None:
        """Tell all workers if the process that follows has ended."""
        if ended.follows:
            for status in self._standings.values():
                why = "the process that follows has ended"
                self.tell(msgspec.structs.replace(status, not_ready_reason=why, peers=0, progress=None))

    def _hindrance(self) -> str:
        """Return the reason why the process that follows cannot be asked."""
        is_silent = any(worker.follows and worker.is_silent for worker in self._workers)
        return f"the process that follows {'does not answer' if is_silent else 'is being started'}"

    def _serving(self) -> Iterator[WorkerProcess]:
        return (each for each in self._workers if each.stage is WorkerStage.SERVING and not each.follows)
