"""A bounded pool of threads for work that releases the GIL or must not block the event loop."""

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
"""By how much threads step back behind the loop, which is then not kept waiting for a core."""

SWITCH_SECONDS = 0.001
"""Within which a thread that runs Python makes way for the loop. The loop gives way at each system call, so a
turn with ten of them beside one busy thread waits ten times as long: with CPython's 5 ms, more than a client
should notice."""

EXPECTED = (RpcError, InvalidRequestError)
"""Faults of a request. A cancelled call drops them; every other error is a bug, and is reported."""

_thread = threading.local()


class WorkerPoolFullError(Exception):
    """A function's turn has come, and it may not begin any more."""


class ThreadTurn:
    """Whether a function's turn has come, which a cancellation alone does not show."""

    __slots__ = ("_may_begin", "_on_come", "age", "came")

    def __init__(
        self,
        may_begin: Callable[[], bool] = lambda: True,
        on_come: Callable[[], None] = lambda: None,
        age: int | None = None,
    ) -> None:
        """`on_come` is called when it comes; `age` is the place of the waiter among those of its client."""
        self._may_begin = may_begin
        self._on_come = on_come
        self.age = age
        self.came = False

    def come(self) -> None:
        """Take note that there is a thread.

        Raises:
            WorkerPoolFullError: It cannot be used now.
        """
        if not self._may_begin():
            raise WorkerPoolFullError
        self.came = True
        self._on_come()


class WorkerPool:
    """Runs functions in threads, as many at once as it has, shared fairly among the clients that ask."""

    def __init__(self, threads: int) -> None:
        self._limiter = FairLimiter(threads)

    @property
    def waiting(self) -> int:
        """Return how many functions wait for a thread."""
        return self._limiter.waiting

    def resize(self, threads: int) -> None:
        """Have another number of threads; those that work end first."""
        self._limiter.resize(threads)

    async def run(
        self, client: Any, function: Callable[[CancelToken], T], turn: ThreadTurn | None = None
    ) -> T:
        """Return `function(token)`, and mark `turn` when there is a thread for it.

        A cancellation sets the token and waits until the function has ended: the function
        may be reading from what the caller closes afterwards, so it is never left behind.

        Raises:
            WorkerPoolFullError: By then `turn` could not be used.
        """
        await self._limiter.acquire(client, None if turn is None else turn.age)
        try:
            if turn is not None:
                turn.come()
            return await _run_in_thread(function)
        finally:
            self._limiter.release(client)


class _Failed:
    """An error for the caller, who takes it out.

    The frames of its traceback lead to that of the thread's loop, which keeps what it delivers. With the
    error in there all of them would be garbage in a cycle, a text of 5 MB that was refused too.
    """

    __slots__ = ("_error",)

    def __init__(self, error: Exception) -> None:
        self._error: Exception | None = error

    def take(self) -> Exception:
        """Return the error, once."""
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
        # Its traceback has this frame.
        del error


@contextlib.contextmanager
def making_way() -> Iterator[None]:
    """Have all threads make way for each other within `SWITCH_SECONDS`, meanwhile."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def step_back() -> None:
    """Give the loop's thread precedence over this one for good, where threads have priorities."""
    if sys.platform == "linux" and not hasattr(_thread, "stepped_back"):
        _thread.stepped_back = True
        thread = threading.get_native_id()
        # A sandbox may forbid it, which costs nothing but the precedence.
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICENESS)
