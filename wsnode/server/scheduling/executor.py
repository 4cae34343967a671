"""Execution of slow calls: slices in turn with other connections' slices, threads from a pool."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import Any, Final

import trio

from wsnode.jsonrpc.errors import NotStartedError, RpcError, TimeLimitError, limit_exceeded
from wsnode.jsonrpc.work import Await, CallTask, Gather, Reply, RunInThread
from wsnode.server.scheduling.client_quota import ClientQuota
from wsnode.server.scheduling.fair_limiter import FairLimiter
from wsnode.server.scheduling.resources import Resources
from wsnode.server.scheduling.worker_pool import ThreadTurn, WorkerPool, WorkerPoolFullError

SHORT_THREADS = 2
"""Threads for compressing and for reading long messages, separate from those in which calls run."""
SLOT_SECONDS: Final = 0.002
MAX_IN_A_SLOT: Final = 8


class CoalescedDeadlines:
    """Deadlines of all calls of a server, spread so that few waits end in one pass of the scheduler.

    Calls that began together would time out together, and each takes 0.1 ms to end: hundreds of them would
    block the event loop.
    """

    def __init__(self) -> None:
        self._taken = Counter[int]()
        """Number of waits that end in each slot of `SLOT_SECONDS`, by the slot's number."""

    @contextmanager
    def move_on_at(self, time: float) -> Iterator[trio.CancelScope]:
        """Cancel the block at `time` (trio's clock), and yield its `CancelScope`.

        If many blocks end then, some end later: of N blocks with one deadline the last is cancelled N / 4
        milliseconds later.
        """
        if time == inf:
            with trio.CancelScope() as scope:
                yield scope
            return
        slot = self._free_slot(int(time / SLOT_SECONDS))
        self._taken[slot] += 1
        try:
            with trio.CancelScope(deadline=max(time, slot * SLOT_SECONDS)) as scope:
                yield scope
        finally:
            self._give_back(slot)

    def _free_slot(self, slot: int) -> int:
        while self._taken.get(slot, 0) >= MAX_IN_A_SLOT:
            slot += 1
        return slot

    def _give_back(self, slot: int) -> None:
        self._taken[slot] -= 1
        if not self._taken[slot]:
            del self._taken[slot]


class TaskExecutor:
    """Executor of all slow calls of a server.

    At most one slice runs between two passes of the scheduler, so a quick request waits for one slice at
    most, however many calls are in flight.
    """

    def __init__(self, resources: Resources) -> None:
        threads = resources.limits.threads
        self.turns = FairLimiter(1)
        """Turns for slices of slow calls, and for other long work on the event loop's thread."""
        self.workers = WorkerPool(threads)
        self._large = FairLimiter(threads)
        """Limit of concurrent work in threads with a large result."""
        self.short_work = WorkerPool(SHORT_THREADS)
        self.resources = resources
        self._deadlines = CoalescedDeadlines()
        self._idle = trio.Event()

    def resize(self, threads: int) -> None:
        """Change the number of threads for calls; calls in flight continue."""
        self.workers.resize(threads)
        self._large.resize(threads)

    @property
    def in_flight(self) -> int:
        return self.resources.calls.used

    async def finish(self, call: CallTask, client: Any, quota: ClientQuota) -> Reply | None:
        """Run `call` to its end and return its reply, None for a notification.

        The call waits while `quota` has no room for more of its result. A call beyond its deadline fails,
        which releases its view. Of several calls of a client the oldest has its turns first.
        """
        self.resources.calls.take(client)
        quota.begin(call)
        try:
            while not await self._go_on(call, client, quota):
                pass
            return call.take_reply()
        finally:
            quota.end(call)
            self.resources.calls.give_back(client)
            if not self.in_flight:
                self._idle.set()
            call.close()

    async def wait_idle(self, seconds: float) -> None:
        """Wait until no call is in flight, at most `seconds`."""
        with trio.move_on_after(seconds):
            while self.in_flight:
                self._idle = trio.Event()
                await self._idle.wait()

    async def _go_on(self, call: CallTask, client: Any, quota: ClientQuota) -> bool:
        refusal: RpcError | None = None
        # One cancel scope covers all slices up to the next step, because a scope costs as much as an
        # uncontended turn.
        with self._deadlines.move_on_at(call.deadline) as waiting:
            while (refusal := await quota.wait_turn(call)) is None and call.step is None:
                await self.turns.acquire(client, call.age)
                if self._run_slice(call, client, quota):
                    return True
        if waiting.cancelled_caught:
            has_ended = call.fail(TimeLimitError())
        elif refusal is not None:
            has_ended = call.fail(refusal)
        else:
            assert call.step is not None
            has_ended = await self._work(call, call.step, client, quota)
        quota.note(call)
        return has_ended

    def _run_slice(self, call: CallTask, client: Any, quota: ClientQuota) -> bool:
        try:
            # Calls ahead of this one in the queue for turns may have used up the room since `wait_turn`.
            if not quota.may_go_on(call):
                return False
            has_ended = call.resume()
            quota.note(call)
            return has_ended
        finally:
            self.turns.release(client)

    async def _work(self, call: CallTask, work: RunInThread | Await, client: Any, quota: ClientQuota) -> bool:
        with self._deadlines.move_on_at(_end_of_wait(work, call)) as scope:
            turn = _turn_for(work, call, quota, scope)
            try:
                if isinstance(work, Gather):
                    value = await gather(work.functions)
                elif isinstance(work, Await):
                    value = await work.function()
                else:
                    value = await self._run(client, work, turn)
            except WorkerPoolFullError:
                # Calls that were given threads earlier have used up the room, so this call waits for its turn
                # again.
                return False
            except Exception as error:
                return call.fail(error)
        if scope.cancelled_caught:
            waited = isinstance(work, RunInThread) and not turn.came
            return call.fail(NotStartedError() if waited else TimeLimitError())
        return call.resume(value)

    async def _run(self, client: Any, work: RunInThread, turn: ThreadTurn) -> Any:
        if work.is_short:
            return await self.short_work.run(client, work.function, turn)
        if not work.most_bytes:
            return await self.workers.run(client, work.function, turn)
        # Only calls that can be in a thread reserve room: a call that waits for a thread needs none.
        await self._large.acquire(client, turn.age)
        try:
            return await self._run_large(client, work, turn)
        finally:
            self._large.release(client)

    async def _run_large(self, client: Any, work: RunInThread, turn: ThreadTurn) -> Any:
        await self.resources.waiting.reserve(client, work.most_bytes)
        try:
            return await self.workers.run(client, work.function, turn)
        finally:
            self.resources.waiting.end_reservation(client, work.most_bytes)


async def gather(functions: Sequence[Callable[[], Awaitable[Any]]]) -> list[Exception | None]:
    """Await several functions concurrently; return the RpcError of each, None for those that succeeded.

    Raises:
        Exception: A function failed with any other exception.
    """
    failures: list[Exception | None] = [None] * len(functions)

    async def one(index: int) -> None:
        try:
            await functions[index]()
        except RpcError as error:
            failures[index] = error

    async with trio.open_nursery() as nursery:
        for index in range(len(functions)):
            nursery.start_soon(one, index)
    return failures


def _turn_for(
    work: RunInThread | Await, call: CallTask, quota: ClientQuota, scope: trio.CancelScope
) -> ThreadTurn:
    """Return the turn for which work waits; the `seconds` of the work begin with the turn."""

    def begin() -> None:
        now = trio.current_time()
        if isinstance(work, RunInThread):
            work.began = now
        if work.seconds is not None:
            scope.deadline = now + work.seconds

    # A call that has reserved room may use it, so it need not check for room again.
    has_room = isinstance(work, RunInThread) and work.most_bytes > 0
    may_begin = (lambda: not quota.is_closed) if has_room else partial(quota.may_go_on, call)
    return ThreadTurn(may_begin, begin, call.age)


def _end_of_wait(work: RunInThread | Await, call: CallTask) -> float:
    """Return the time, on trio's clock in seconds, until which work may wait for its turn.

    An `Await` needs no turn, so its `seconds` begin now.
    """
    if isinstance(work, RunInThread):
        return call.deadline if work.begin_by is None else min(work.begin_by, call.deadline)
    # An Await, such as one for a growing chain, takes time but holds no thread, so the call's deadline does
    # not bound it.
    return inf if work.seconds is None else trio.current_time() + work.seconds


def too_many_calls() -> RpcError:
    """Return the error of a slow call beyond the limit of calls in flight."""
    return limit_exceeded("too many calls in flight")
