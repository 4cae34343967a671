"""Bounded pool of threads, for work that releases the GIL or must not block the event loop."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import outcome
import trio

from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.requests import InvalidRequestError
from wsnode.jsonrpc.work import CancelToken
from wsnode.server.scheduling.fair_limiter import FairLimiter

T = TypeVar("T")

NICENESS = 10
"""Niceness added to threads, so that the event loop does not wait for a core."""

SWITCH_SECONDS = 0.001
"""Seconds within which a running thread gives up the GIL for the loop.

The loop releases the GIL at each system call, so a turn with ten calls beside a busy thread waits ten times
as long; clients would notice CPython's 5 ms.
"""

EXPECTED = (RpcError, InvalidRequestError)
"""Exceptions caused by a request. A cancelled call drops them; any other one is a bug, and is reported."""

_thread = threading.local()


class WorkerPoolFullError(Exception):
    """Error of a function for which a thread was free only when it was too late to begin."""


class ThreadTurn:
    """Place of a function in the queue for a thread of the pool; `came` is True once it has begun."""

    __slots__ = ("_may_begin", "_on_come", "age", "came")

    def __init__(
        self,
        may_begin: Callable[[], bool] = lambda: True,
        on_come: Callable[[], None] = lambda: None,
        age: int | None = None,
    ) -> None:
        """Make a turn; `on_come` is called when it comes.

        `age` is its place among the turns of one client.
        """
        self._may_begin = may_begin
        self._on_come = on_come
        self.age = age
        self.came = False

    def come(self) -> None:
        """Record that a thread is free.

        Raises:
            WorkerPoolFullError: The function may no longer begin.
        """
        if not self._may_begin():
            raise WorkerPoolFullError
        self.came = True
        self._on_come()


class WorkerPool:
    """Pool of threads, shared fairly among its clients."""

    def __init__(self, threads: int) -> None:
        self._limiter = FairLimiter(threads)

    @property
    def waiting(self) -> int:
        return self._limiter.waiting

    def resize(self, threads: int) -> None:
        """Change the number of threads; running functions end first."""
        self._limiter.resize(threads)

    async def run(
        self, client: Any, function: Callable[[CancelToken], T], turn: ThreadTurn | None = None
    ) -> T:
        """Return `function(token)`, run in a thread; `turn` is marked when a thread is free.

        A cancellation sets the token and waits until the function has ended, because the function may read
        data that the caller closes afterwards.

        Raises:
            WorkerPoolFullError: `turn` could no longer be used when a thread was free.
        """
        await self._limiter.acquire(client, None if turn is None else turn.age)
        try:
            if turn is not None:
                turn.come()
            return await _run_in_thread(function)
        finally:
            self._limiter.release(client)


class _Failed:
    """Holder of a thread's exception, from which the caller takes it.

    Frames of the traceback refer to the thread's loop, which keeps the delivered result. If the result were
    the exception itself, both would be a cycle of garbage, possibly with a refused text of 5 MB.
    """

    __slots__ = ("_error",)

    def __init__(self, error: Exception) -> None:
        self._error: Exception | None = error

    def take(self) -> Exception:
        """Return the exception; may be called once."""
        error, self._error = self._error, None
        assert error is not None, "taken once"
        return error


async def _run_in_thread(function: Callable[[CancelToken], T]) -> T:
    token = CancelToken()
    task = trio.lowlevel.current_task()
    loop = trio.lowlevel.current_trio_token()

    def deliver(result: outcome.Outcome[T | _Failed]) -> None:
        loop.run_sync_soon(trio.lowlevel.reschedule, task, result)

    def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
        token.set()
        return trio.lowlevel.Abort.FAILED

    def work() -> T | _Failed:
        step_back()
        try:
            return function(token)
        except Exception as error:
            return _Failed(error)

    trio.lowlevel.start_thread_soon(work, deliver, "wsnode worker")
    result: T | _Failed = await trio.lowlevel.wait_task_rescheduled(abort)
    if not isinstance(result, _Failed):
        await trio.lowlevel.checkpoint_if_cancelled()
        return result
    error = result.take()
    try:
        if isinstance(error, EXPECTED):
            await trio.lowlevel.checkpoint_if_cancelled()
        raise error
    finally:
        # The error's traceback refers to this frame: without the deletion both would be a cycle of garbage.
        del error


@contextlib.contextmanager
def making_way() -> Iterator[None]:
    """Set the interpreter's switch interval to `SWITCH_SECONDS` until the block ends."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def step_back() -> None:
    """Lower the priority of this thread for good, below that of the event loop, on Linux."""
    if sys.platform == "linux" and not hasattr(_thread, "stepped_back"):
        _thread.stepped_back = True
        thread = threading.get_native_id()
        # A sandbox may forbid the change of priority; only the precedence of the event loop is lost then.
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICENESS)
