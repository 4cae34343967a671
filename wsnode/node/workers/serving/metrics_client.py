"""All workers of a node, as one of them asks about them: by the parent."""

import trio

from wsnode.node.workers.ipc import IpcChannel
from wsnode.node.workers.messages import (
    AllMetricsRequest,
    AllMetricsResponse,
    MetricsRequest,
    MetricsResponse,
    ProcessMetrics,
    ToWorker,
)
from wsnode.node.workers.pending_requests import PendingRequests
from wsnode.server.http.connection import PageContent
from wsnode.server.server import Server

PATIENCE_SECONDS = 2.0
"""Without an answer for this time, a worker reports itself alone: the parent may be gone."""
TELL_SECONDS = 1.0
"""How often a worker that has done something reports it: a killed one loses what it did since."""


class WorkerMetricsClient:
    """Answers the parent's questions, and asks it."""

    def __init__(self, server: Server, channel: IpcChannel[ToWorker], *, serves: bool = True) -> None:
        """`serves`: whether this process takes calls itself."""
        self._server = server
        self._serves = serves
        self._channel = channel
        self._questions = PendingRequests[ProcessMetrics]()

    async def metrics_page(self) -> PageContent:
        """Return the page of the metrics of all workers."""
        from wsnode.server.observability.metrics import page_of

        return page_of((await self._ask()).families)

    async def is_ready(self) -> bool:
        """Return whether one of them takes calls."""
        return (await self._ask()).is_ready

    def hear(self, message: MetricsRequest | AllMetricsResponse) -> None:
        """Do what the parent asks, or take its answer."""
        if isinstance(message, MetricsRequest):
            self._channel.post(MetricsResponse(message.number, self._report()))
        else:
            self._questions.answer(message.number, message.report)

    def tell(self) -> None:
        """Report what this worker has counted."""
        self._channel.post(MetricsResponse(0, self._report()))

    async def keep_telling(self) -> None:
        """Report now and then, for ever."""
        before = None
        while True:
            if (now := self._work()) != before:
                self.tell()
                before = now
            await trio.sleep(TELL_SECONDS)

    def _work(self) -> tuple[int, ...]:
        counters = self._server.shared.counters
        return counters.accepted, counters.messages, counters.http_requests, counters.notifications

    def _report(self) -> ProcessMetrics:
        return ProcessMetrics(self._server.families(), self._serves and self._server.ready)

    async def _ask(self) -> ProcessMetrics:
        answer = await self._questions.ask(
            lambda number: self._channel.post(AllMetricsRequest(number)), PATIENCE_SECONDS
        )
        return answer or self._report()
