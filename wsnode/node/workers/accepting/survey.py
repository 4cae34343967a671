"""Asks all workers what they have counted, for the one that was asked for it by a client."""

import time
from collections.abc import Set
from typing import Final

import trio

from wsnode.node.workers.accepting.member import Stage, Worker
from wsnode.node.workers.accepting.tally import Tally
from wsnode.node.workers.messages import Report, Summed, Tell
from wsnode.server.upkeep.families import Family, Labels, counter, gauge

TOLD_SECONDS: Final = 0.5
"""How long a worker may take to report."""


class Survey:
    """The reports of the workers that there are, and of those that have ended."""

    def __init__(self, workers: Set[Worker]) -> None:
        """`workers` are those that there are, at any time."""
        self._workers = workers
        self._tally = Tally()
        self._asked = self._ended = 0
        self._told: dict[Worker, int] = {}
        """The number of the last question that each has answered."""
        self._told_now = trio.lowlevel.ParkingLot()
        self._began = time.time()

    def note(self, worker: Worker, number: int, report: Report) -> None:
        """Take a worker's report, which answers the question `number`, or none if that is 0."""
        self._told[worker] = max(number, self._told.get(worker, 0))
        self._tally.note(worker, report)
        self._told_now.unpark_all()

    def bury(self, worker: Worker) -> None:
        """Keep what a worker that has ended had counted."""
        self._told.pop(worker, None)
        self._ended += worker.ready.is_set()
        self._tally.bury(worker)
        self._told_now.unpark_all()

    async def answer(self, asking: Worker, request: int) -> None:
        """Tell a worker what all have counted; of one that does not answer soon, its last report."""
        self._asked += 1
        asked, number = {each for each in self._workers if each.ready.is_set()}, self._asked
        for worker in asked:
            worker.post(Tell(number))
        with trio.move_on_after(TOLD_SECONDS):
            while any(self._told.get(worker, 0) < number for worker in asked & self._workers):
                await self._told_now.park()
        asking.post(Summed(request, self._tally.total(self._own())))

    def _own(self) -> list[Family]:
        shares = dict[Labels, float]()
        workers = [worker for worker in self._workers if not worker.follows]
        for worker in workers:
            labels = (("worker", str(worker.number)),)
            shares[labels] = shares.get(labels, 0.0) + worker.connections
        serving = sum(worker.stage is Stage.SERVING for worker in workers)
        return [
            gauge("wsnode_workers", "Workers that serve", {(): float(serving)}),
            gauge("wsnode_worker_connections", "Open connections of each worker", shares),
            counter("wsnode_workers_ended", "Workers that have ended", self._ended),
            counter(
                "process_cpu_seconds", "Total user and system CPU time spent in seconds.", time.process_time()
            ),
            gauge("process_start_time_seconds", "Start of the node in Unix time", {(): self._began}),
        ]
