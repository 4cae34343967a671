"""Runs slow calls to their end: slices in rotation with those of other connections, threads from the pool."""

from functools import partial
from math import inf
from typing import Any

import trio

from wsnode.jsonrpc.errors import NeverBegunError, RpcError, TimeLimitError, limit_exceeded
from wsnode.jsonrpc.share import Share
from wsnode.jsonrpc.work import AsyncCall, InThread, Reply, SlowCall
from wsnode.server.limits import Limits
from wsnode.server.turns.budget import Budget
from wsnode.server.turns.deadlines import Deadlines
from wsnode.server.turns.fair import FairLimiter
from wsnode.server.turns.making import Account, Making
from wsnode.server.turns.workers import NoRoomError, Turn, WorkerPool

SHORT_THREADS = 2
"""Threads that compress and that read long messages, which never wait for one that a call runs in."""


class SlowLane:
    """The one lane of a server on which slow calls run.

    At most one slice runs between two passes of the scheduler, so a quick request waits for one slice at
    most, however many calls are in flight.
    """

    def __init__(self, limits: Limits, making: Making | None = None) -> None:
        making = making or Making(Budget(limits.waiting_bytes))
        self.turns = FairLimiter(1)
        """Turns for slices of slow calls and other long work on the scheduler's thread."""
        self.workers = WorkerPool(limits.threads)
        self._large = FairLimiter(limits.threads)
        """Work in threads whose result may be large."""
        self.short_work = WorkerPool(SHORT_THREADS)
        self.calls = Share(limits.calls)
        """Slow calls in flight."""
        self.making = making
        self._deadlines = Deadlines()
        self._idle = trio.Event()

    def apply(self, limits: Limits) -> None:
        """Apply new limits; running calls continue."""
        self.calls.limit = limits.calls
        self.workers.resize(limits.threads)
        self._large.resize(limits.threads)

    @property
    def in_flight(self) -> int:
        """Return how many slow calls have not ended."""
        return self.calls.used

    async def finish(self, call: SlowCall, party: Any, account: Account) -> Reply | None:
        """Return the reply of `call`, which waits while `account` has no room for more of its result.

        A call that waits beyond its deadline fails, so that it releases its view.
        """
        self.calls.take(party)
        account.begin(call)
        try:
            while not await self._go_on(call, party, account):
                pass
            return call.take_reply()
        finally:
            account.end(call)
            self.calls.give_back(party)
            if not self.in_flight:
                self._idle.set()
            call.close()

    async def wait_idle(self, seconds: float) -> None:
        """Wait until no call is in flight, `seconds` at most."""
        with trio.move_on_after(seconds):
            while self.in_flight:
                self._idle = trio.Event()
                await self._idle.wait()

    async def _go_on(self, call: SlowCall, party: Any, account: Account) -> bool:
        refusal: RpcError | None = None
        # One for all slices up to the next step: it costs as much as a turn that nobody else waits for.
        with self._deadlines.move_on_at(call.deadline) as waiting:
            while (refusal := await account.wait_turn(call)) is None and call.step is None:
                await self.turns.acquire(party)
                if self._run_slice(call, party, account):
                    return True
        if waiting.cancelled_caught:
            has_ended = call.fail(TimeLimitError())
        elif refusal is not None:
            has_ended = call.fail(refusal)
        else:
            assert call.step is not None
            has_ended = await self._work(call, call.step, party, account)
        account.note(call)
        return has_ended

    def _run_slice(self, call: SlowCall, party: Any, account: Account) -> bool:
        try:
            # Those before it in the queue may have used up what there was room for.
            if not account.may_go_on(call):
                return False
            has_ended = call.resume()
            account.note(call)
            return has_ended
        finally:
            self.turns.release(party)

    async def _work(self, call: SlowCall, work: InThread | AsyncCall, party: Any, account: Account) -> bool:
        # A call may use the room that it has reserved.
        has_room = isinstance(work, InThread) and work.most_bytes > 0
        turn = Turn((lambda: not account.is_closed) if has_room else partial(account.may_go_on, call))
        with self._deadlines.move_on_at(_end_of(work, call)) as scope:
            try:
                if isinstance(work, AsyncCall):
                    value = await work.function()
                else:
                    value = await self._run(party, work, turn)
            except NoRoomError:
                # Those that had threads before have used up what there was room for.
                return False
            except Exception as error:
                return call.fail(error)
        if scope.cancelled_caught:
            waited = isinstance(work, InThread) and not turn.came
            return call.fail(NeverBegunError() if waited else TimeLimitError())
        return call.resume(value)

    async def _run(self, party: Any, work: InThread, turn: Turn) -> Any:
        if work.is_short:
            return await self.short_work.run(party, work.function, turn)
        if not work.most_bytes:
            return await self.workers.run(party, work.function, turn)
        # No more than can be in a thread reserve room: those that wait for one have no need of it.
        await self._large.acquire(party)
        try:
            return await self._run_large(party, work, turn)
        finally:
            self._large.release(party)

    async def _run_large(self, party: Any, work: InThread, turn: Turn) -> Any:
        await self.making.reserve(party, work.most_bytes)
        try:
            return await self.workers.run(party, work.function, turn)
        finally:
            self.making.give_back(party, work.most_bytes)


def _end_of(work: InThread | AsyncCall, call: SlowCall) -> float:
    if work.seconds is not None:
        return trio.current_time() + work.seconds
    # Awaiting a growing chain takes time but holds no thread.
    return inf if isinstance(work, AsyncCall) else call.deadline


def too_many_calls() -> RpcError:
    """Return the error of a slow call when no more can be in flight."""
    return limit_exceeded("too many calls in flight")
