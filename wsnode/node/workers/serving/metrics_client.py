"""Metrics of all workers of a node, which a worker requests from the master."""

import trio

from wsnode.node.workers.ipc import IpcChannel, PendingRequests
from wsnode.node.workers.messages import MetricsRequest, MetricsResponse, ProcessMetrics, ToWorker
from wsnode.server.http.service import PageContent
from wsnode.server.server import Server

TIMEOUT_SECONDS = 2.0
"""Seconds without an answer after which a worker reports itself alone, as the master may have ended."""
TELL_SECONDS = 1.0
"""Seconds between reports of a worker that has counted something; a killed worker loses later counts."""


class WorkerMetricsClient:
    """Client in a worker for the metrics of all workers, which the master sums; it also answers the master's
    requests for this worker's metrics.
    """

    def __init__(self, server: Server, channel: IpcChannel[ToWorker], *, serves: bool = True) -> None:
        """Prepare to report the metrics of `server`; `serves` is True if this process takes calls."""
        self._server = server
        self._serves = serves
        self._channel = channel
        self._questions = PendingRequests[ProcessMetrics]()

    async def metrics_page(self) -> PageContent:
        """Return the page of the metrics of all workers."""
        from wsnode.server.observability.metrics import page_of

        return page_of((await self._ask()).families)

    async def is_ready(self) -> bool:
        """Return True if a worker takes calls."""
        return (await self._ask()).is_ready

    def hear(self, message: MetricsRequest | MetricsResponse) -> None:
        """Answer the master's request, or record its answer."""
        if isinstance(message, MetricsRequest):
            self._channel.post(MetricsResponse(message.number, self._report()))
        else:
            self._questions.answer(message.number, message.report)

    def tell(self) -> None:
        """Report this worker's metrics to the master."""
        self._channel.post(MetricsResponse(0, self._report()))

    async def keep_telling(self) -> None:
        """Report every `TELL_SECONDS` if something was counted, for ever."""
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
            lambda number: self._channel.post(MetricsRequest(number)), TIMEOUT_SECONDS
        )
        return answer or self._report()
