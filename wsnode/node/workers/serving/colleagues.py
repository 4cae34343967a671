"""All workers of a node, as one of them asks about them: by the parent."""

import trio

from wsnode.node.workers.messages import Ask, Report, Summed, Tell, Told, ToWorker
from wsnode.node.workers.pair import Pair
from wsnode.node.workers.questions import Questions
from wsnode.server.http.connection import PageContent
from wsnode.server.server import Server

PATIENCE_SECONDS = 2.0
"""Without an answer for this time, a worker reports itself alone: the parent may be gone."""
TELL_SECONDS = 1.0
"""How often a worker that has done something reports it: a killed one loses what it did since."""


class Colleagues:
    """Answers the parent's questions, and asks it."""

    def __init__(self, server: Server, pair: Pair[ToWorker], *, serves: bool = True) -> None:
        """`serves`: whether this process takes calls itself."""
        self._server = server
        self._serves = serves
        self._pair = pair
        self._questions = Questions[Report]()

    async def metrics_page(self) -> PageContent:
        """Return the page of the metrics of all workers."""
        from wsnode.server.upkeep.metrics import page_of

        return page_of((await self._ask()).families)

    async def is_ready(self) -> bool:
        """Return whether one of them takes calls."""
        return (await self._ask()).is_ready

    def hear(self, message: Tell | Summed) -> None:
        """Do what the parent asks, or take its answer."""
        if isinstance(message, Tell):
            self._pair.post(Told(message.number, self._report()))
        else:
            self._questions.answer(message.number, message.report)

    def tell(self) -> None:
        """Report what this worker has counted."""
        self._pair.post(Told(0, self._report()))

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

    def _report(self) -> Report:
        return Report(self._server.families(), self._serves and self._server.ready)

    async def _ask(self) -> Report:
        answer = await self._questions.ask(lambda number: self._pair.post(Ask(number)), PATIENCE_SECONDS)
        return answer or self._report()
