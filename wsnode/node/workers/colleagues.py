"""All workers of a node, as one of them asks about them: by the parent."""

import trio

from wsnode.node.workers.messages import Ask, Report, Summed, Tell, Told, ToWorker
from wsnode.node.workers.pair import Pair
from wsnode.server.http.connection import PageContent
from wsnode.server.server import Server

PATIENCE_SECONDS = 2.0
"""Without an answer for so long, a worker tells of itself alone: the parent may be gone."""
TELL_SECONDS = 1.0
"""How often a worker that has done something reports it: a killed one loses what it did since."""


class Colleagues:
    """Answers the parent's questions, and asks it."""

    def __init__(self, server: Server, pair: Pair[ToWorker]) -> None:
        self._server = server
        self._pair = pair
        self._asked = 0
        self._answers: dict[int, Report] = {}
        self._has_answered = trio.Event()

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
            self._answers[message.number] = message.report
            self._has_answered.set()

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
        return Report(self._server.families(), self._server.ready)

    async def _ask(self) -> Report:
        self._asked += 1
        number = self._asked
        self._pair.post(Ask(number))
        with trio.move_on_after(PATIENCE_SECONDS):
            while number not in self._answers:
                self._has_answered = trio.Event() if self._has_answered.is_set() else self._has_answered
                await self._has_answered.wait()
        return self._answers.pop(number, None) or self._report()
