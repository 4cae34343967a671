"""What goes through the parent between the process that follows and the workers."""

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
    """Brings news of what is followed to all workers, and their transactions to the process that follows."""

    def __init__(self, workers: Set[WorkerProcess]) -> None:
        """`workers` are the processes that there are, at any time."""
        self._workers = workers
        self._standings: dict[str, SyncStatus] = {}
        """The last of each network."""

    def tell(self, message: SyncStatus | PendingTransactions | PoolChange) -> None:
        """Bring news to all workers."""
        if isinstance(message, SyncStatus):
            self._standings[message.network] = message
        for worker in self._serving():
            worker.post(message)

    def supply(self, new: WorkerProcess) -> None:
        """Bring a new worker what the others know."""
        if not new.follows:
            for status in self._standings.values():
                new.post(status)

    def ask(self, origin: WorkerProcess, message: SendTransactionRequest | StatusRequest) -> None:
        """Pass a question on to the process that follows, or say that there is none."""
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
        """Return why the process that follows cannot be asked."""
        is_silent = any(worker.follows and worker.is_silent for worker in self._workers)
        return f"the process that follows {'does not answer' if is_silent else 'is being started'}"

    def _serving(self) -> Iterator[WorkerProcess]:
        return (each for each in self._workers if each.stage is WorkerStage.SERVING and not each.follows)
