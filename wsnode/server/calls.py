"""Brings slow calls to their end: slices in rotation with everybody else's, threads from the pool."""

from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

import trio

from wsnode.jsonrpc.errors import NeverBegunError, TimeLimitError
from wsnode.jsonrpc.messages import AsyncCall, InThread, Pending
from wsnode.jsonrpc.share import Share
from wsnode.server.fair import FairLimiter
from wsnode.server.limits import Limits
from wsnode.server.workers import Turn, WorkerPool

SHORT_THREADS = 2
"""Threads that compress and that read long messages, which never wait for one that a call runs in."""


class SlowLane:
    """The one lane of a server on which slow calls run.

    At most one slice runs between two passes of the scheduler, so a quick request waits for one slice at
    most, however many calls are in flight and whoever made them.
    """

    def __init__(self, limits: Limits) -> None:
        self._slices = FairLimiter(1)
        self.workers = WorkerPool(limits.threads)
        self.short_work = WorkerPool(SHORT_THREADS)
        self.calls = Share(limits.calls)
        """Slow calls in flight."""
        self._idle = trio.Event()

    def apply(self, limits: Limits) -> None:
        """Let other limits be in force; what runs goes on."""
        self.calls.limit = limits.calls
        self.workers.resize(limits.threads)

    @property
    def in_flight(self) -> int:
        """Return how many slow calls have not ended."""
        return self.calls.used

    async def finish(
        self, pending: Pending, party: Any, wait_room: Callable[[], Awaitable[None]]
    ) -> bytes | None:
        """Return the reply of `pending`; `wait_room` holds it up while its caller does not read.

        A call that is held up beyond its deadline fails, so that it gives up what it reads from.
        """
        self.calls.take(party)
        try:
            while True:
                with trio.move_on_at(pending.deadline) as waiting:
                    await wait_room()
                if waiting.cancelled_caught:
                    has_ended = pending.fail(TimeLimitError())
                else:
                    has_ended = await self._step(pending, party)
                if has_ended:
                    return pending.reply
        finally:
            self.calls.give_back(party)
            if not self.in_flight:
                self._idle.set()
            pending.close()

    async def wait_idle(self, seconds: float) -> None:
        """Wait until no call is in flight, `seconds` at most."""
        with trio.move_on_after(seconds):
            while self.in_flight:
                self._idle = trio.Event()
                await self._idle.wait()

    async def _step(self, pending: Pending, party: Any) -> bool:
        if pending.step is not None:
            return await self._work(pending, pending.step, party)
        await self._slices.acquire(party)
        try:
            return pending.resume()
        finally:
            self._slices.release(party)

    async def _work(self, pending: Pending, work: InThread | AsyncCall, party: Any) -> bool:
        turn = Turn()
        with trio.move_on_at(_end_of(work, pending)) as scope:
            try:
                if isinstance(work, AsyncCall):
                    value = await work.function()
                else:
                    pool = self.short_work if work.is_short else self.workers
                    value = await pool.run(party, work.function, turn)
            except Exception as error:
                return pending.fail(error)
        if scope.cancelled_caught:
            waited = isinstance(work, InThread) and not turn.came
            return pending.fail(NeverBegunError() if waited else TimeLimitError())
        return pending.resume(value)


def _end_of(work: InThread | AsyncCall, pending: Pending) -> float:
    if work.seconds is not None:
        return trio.current_time() + work.seconds
    # What is awaited on behalf of a chain that grows takes its time, and holds no thread.
    return inf if isinstance(work, AsyncCall) else pending.deadline
