"""What all workers have counted, those that have ended among them."""

from collections.abc import Hashable, Iterable

from wsnode.node.workers.messages import Report
from wsnode.server.upkeep.families import Family, added, lasting


class Tally:
    """The last report of each worker, and what those that have ended had counted when they last reported."""

    def __init__(self) -> None:
        self._reports: dict[Hashable, Report] = {}
        self._gone: list[Family] = []

    def note(self, worker: Hashable, report: Report) -> None:
        """Take a worker's report in place of its last one."""
        self._reports[worker] = report

    def bury(self, worker: Hashable) -> None:
        """Keep what a worker has counted: a counter must not go back."""
        if (report := self._reports.pop(worker, None)) is not None:
            self._gone = added([self._gone, lasting(report.families)])

    def total(self, own: Iterable[Family]) -> Report:
        """Return the sum, with the parent's own metrics."""
        reports = self._reports.values()
        families = added([self._gone, *(report.families for report in reports), own])
        return Report(families, any(report.is_ready for report in reports))
