"""Brings slow calls to their end: slices in rotation with everybody else's, threads from the pool."""

from collections.abc import Awaitable, Callable, Hashable

import trio

from wsnode.jsonrpc.errors import NeverBegunError, TimeLimitError
from wsnode.jsonrpc.messages import AsyncCall, InThread, Pending
from wsnode.server.fair import FairLimiter
from wsnode.server.limits import Limits
from wsnode.server.workers import Turn, WorkerPool


class SlowLane:
    """The one lane of a server on which slow calls run.

    At most one slice runs between two passes of the scheduler, so a quick request waits for one slice at
    most, however many calls are in flight and whoever made them.
    """

    def __init__(self, limits: Limits) -> None:
        self._slices = FairLimiter(1)
        self.workers = WorkerPool(limits.threads)
        self._limit = limits.calls
        self.in_flight = 0
        self._idle = trio.Event()

    def apply(self, limits: Limits) -> None:
        """Let other limits be in force; what runs goes on."""
        self._limit = limits.calls
        self.workers.resize(limits.threads)

    @property
    def is_full(self) -> bool:
        """Tell whether the process can take no further call."""
        return self.in_flight >= self._limit

    async def finish(
        self, pending: Pending, key: Hashable, wait_room: Callable[[], Awaitable[None]]
    ) -> bytes | None:
        """Return the reply of `pending`; `wait_room` holds it up while its caller does not read."""
        self.in_flight += 1
        try:
            while True:
                await wait_room()
                if await self._step(pending, key):
                    return pending.reply
        finally:
            self.in_flight -= 1
            if not self.in_flight:
                self._idle.set()
            pending.close()

    async def wait_idle(self, seconds: float) -> None:
        """Wait until no call is in flight, `seconds` at most."""
        with trio.move_on_after(seconds):
            while self.in_flight:
                self._idle = trio.Event()
                await self._idle.wait()

    async def _step(self, pending: Pending, key: Hashable) -> bool:
        if pending.step is not None:
            return await self._work(pending, pending.step, key)
        await self._slices.acquire(key)
        try:
            return pending.resume()
        finally:
            self._slices.release()

    async def _work(self, pending: Pending, work: InThread | AsyncCall, key: Hashable) -> bool:
        turn = Turn()
        with trio.move_on_after(float("inf") if work.seconds is None else work.seconds) as scope:
            try:
                if isinstance(work, AsyncCall):
                    value = await work.function()
                else:
                    value = await self.workers.run(key, work.function, turn)
            except Exception as error:
                return pending.fail(error)
        if scope.cancelled_caught:
            waited = isinstance(work, InThread) and not turn.came
            return pending.fail(NeverBegunError() if waited else TimeLimitError())
        return pending.resume(value)
