"""Sum of the metrics of all workers, including ended ones."""

import time
from collections.abc import Container, Hashable, Iterable, Set
from typing import Final

import trio

from wsnode.node.workers.master.worker_process import WorkerProcess, WorkerStage
from wsnode.node.workers.messages import MetricsRequest, MetricsResponse, ProcessMetrics
from wsnode.server.observability.families import (
    CheckedFamilies,
    Family,
    Labels,
    added,
    family_of,
    keep_declared,
    keep_first,
    lasting,
)

REPORT_SECONDS: Final = 0.5
"""Seconds in which a worker has to report."""


class MetricsSum:
    """Sum of the metrics of all workers, made of the last report of each running worker and the last counters
    of the ended ones.
    """

    def __init__(self) -> None:
        self._reports: dict[Hashable, ProcessMetrics] = {}
        self._gone: list[Family] = []
        self.dropped = 0
        """Number of dropped metric families and samples: undeclared ones, and those beyond the bounds."""

    def note(self, worker: Hashable, report: ProcessMetrics) -> None:
        """Replace a worker's last report by the declared part of a new one."""
        families = self._kept(keep_declared(report.families))
        self._reports[worker] = ProcessMetrics(self._kept(keep_first(families)), report.is_ready)

    def retire_counters(self, worker: Hashable) -> None:
        """Keep the counters of a worker that has ended, since a counter must not decrease."""
        if (report := self._reports.pop(worker, None)) is not None:
            # Processes may have different labels, so the sum may have more samples than one report may have.
            self._gone = self._kept(keep_first(added([self._gone, lasting(report.families)])))

    def total(self, own: Iterable[Family], *, answering: Container[Hashable]) -> ProcessMetrics:
        """Return the sum, with the master's own metrics; only workers that are `answering` can be ready."""
        families = added([self._gone, *(report.families for report in self._reports.values())])
        families = added([self._kept(keep_first(families)), own])
        ready = (worker for worker, report in self._reports.items() if report.is_ready)
        return ProcessMetrics(families, any(worker in answering for worker in ready))

    def _kept(self, checked: CheckedFamilies) -> list[Family]:
        self.dropped += checked.dropped
        return checked.families


class MetricsAggregator:
    """Collector of the workers' metrics in the master: it asks the running ones, and answers with the sum,
    ended ones included.
    """

    def __init__(self, workers: Set[WorkerProcess]) -> None:
        """Prepare to collect from `workers`, the set of running processes at any time."""
        self._workers = workers
        self._counts = MetricsSum()
        self._asked = self._ended = self._hung = self._failures = 0
        self._told: dict[WorkerProcess, int] = {}
        """Number of the last request that each worker has answered."""
        self._told_now = trio.lowlevel.ParkingLot()
        self._began = time.time()

    def note(self, worker: WorkerProcess, number: int, report: ProcessMetrics) -> None:
        """Record a worker's report in answer to the request `number`; 0 if it was not requested."""
        self._told[worker] = max(number, self._told.get(worker, 0))
        self._counts.note(worker, report)
        self._told_now.unpark_all()

    def note_failure(self) -> None:
        """Count a connection that could not be accepted."""
        self._failures += 1

    def note_hung(self) -> None:
        """Count a process that is ended because it hangs."""
        self._hung += 1

    def retire_counters(self, worker: WorkerProcess) -> None:
        self._told.pop(worker, None)
        self._ended += worker.ready.is_set()
        self._counts.retire_counters(worker)
        self._told_now.unpark_all()

    async def answer(self, asking: WorkerProcess, request: int) -> None:
        """Send a worker the sum of all metrics.

        A worker that does not answer within `REPORT_SECONDS` counts with its last report.
        """
        self._asked += 1
        number = self._asked
        asked = {each for each in self._workers if each.ready.is_set() and not each.is_silent}
        for worker in asked:
            worker.post(MetricsRequest(number))
        with trio.move_on_after(REPORT_SECONDS):
            while any(self._told.get(worker, 0) < number for worker in asked & self._workers):
                await self._told_now.park()
        asking.post(MetricsResponse(request, self._counts.total(self._own(), answering=asked)))

    def _own(self) -> list[Family]:
        shares = dict[Labels, float]()
        workers = [worker for worker in self._workers if not worker.follows]
        for worker in workers:
            labels = (("worker", str(worker.number)),)
            shares[labels] = shares.get(labels, 0.0) + worker.connections
        serving = sum(worker.stage is WorkerStage.SERVING for worker in workers)
        silent = sum(worker.is_silent for worker in self._workers)
        return [
            family_of("wsnode_workers", {(): serving}),
            family_of("wsnode_worker_connections", shares),
            family_of("wsnode_workers_silent", {(): silent}),
            family_of("wsnode_workers_ended_total", {(): self._ended}),
            family_of("wsnode_workers_hung_total", {(): self._hung}),
            family_of("wsnode_worker_metrics_dropped_total", {(): self._counts.dropped}),
            family_of("wsnode_accept_failures_total", {(): self._failures}),
            family_of("process_cpu_seconds_total", {(): time.process_time()}),
            family_of("process_start_time_seconds", {(): self._began}),
        ]
