"""Sum of the metrics of all workers, ended ones included."""

from collections.abc import Container, Hashable, Iterable

from wsnode.node.workers.messages import ProcessMetrics
from wsnode.server.observability.declared_metrics import CheckedFamilies, keep_declared, keep_first
from wsnode.server.observability.families import Family, added, lasting


class MetricsSum:
    """Last report of each running worker, and the last counters of the ended ones."""

    def __init__(self) -> None:
        self._reports: dict[Hashable, ProcessMetrics] = {}
        self._gone: list[Family] = []
        self.dropped = 0
        """Number of dropped families and samples: those that no process of a node declares, and those beyond
        the bounds.
        """

    def note(self, worker: Hashable, report: ProcessMetrics) -> None:
        """Replace a worker's last report by the declared part of a new one."""
        families = self._kept(keep_declared(report.families))
        self._reports[worker] = ProcessMetrics(self._kept(keep_first(families)), report.is_ready)

    def retire_counters(self, worker: Hashable) -> None:
        """Keep the counters of a worker that has ended: a counter must not go back."""
        if (report := self._reports.pop(worker, None)) is not None:
            # Labels may differ from process to process.
            self._gone = self._kept(keep_first(added([self._gone, lasting(report.families)])))

    def total(self, own: Iterable[Family], *, answering: Container[Hashable]) -> ProcessMetrics:
        """Return the sum, with the parent's own metrics; only workers that are `answering` can be ready."""
        families = added([self._gone, *(report.families for report in self._reports.values())])
        families = added([self._kept(keep_first(families)), own])
        ready = (worker for worker, report in self._reports.items() if report.is_ready)
        return ProcessMetrics(families, any(worker in answering for worker in ready))

    def _kept(self, checked: CheckedFamilies) -> list[Family]:
        self.dropped += checked.dropped
        return checked.families
