"""Broadcast of a transaction from one worker to all others, and of a pool to a new worker."""

from collections.abc import Set
from typing import Final

import trio

from wsnode.node.workers.master.worker_process import WorkerProcess, WorkerStage
from wsnode.node.workers.messages import PoolDumpRequest, PoolUpdateRequest, PoolUpdateResponse

TAKING_SECONDS: Final = 0.5
"""Seconds for which the sender of a transaction waits for a silent worker."""


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
