"""The time that a call in slices may take, and how its result becomes a reply."""

from collections.abc import Callable, Generator, Iterator
from types import GeneratorType
from typing import Any

from wsnode.jsonrpc.codec import reply_pieces
from wsnode.jsonrpc.errors import (
    NotStartedError,
    RpcError,
    TimeLimitError,
    out_of_time,
    request_timed_out,
    server_busy,
)
from wsnode.jsonrpc.method import Method, Waits
from wsnode.jsonrpc.work import (
    Await,
    CancelToken,
    Reply,
    ReplyChunks,
    RunInThread,
    Step,
    Steps,
    size_of,
)

LARGE_BYTES = 1024 * 1024
"""Texts of more bytes stay in pieces."""


class _Time:
    """The seconds that a call has left: to run, and to wait for turns and threads."""

    __slots__ = ("_clock", "_waits", "running", "waiting")

    def __init__(self, waits: Waits, running: float, waiting: float, clock: Callable[[], float]) -> None:
        self._waits = waits
        self._clock = clock
        self.running = running
        self.waiting = waiting

    def grant(self, step: Step, now: float) -> None:
        """Bound a step by what is left."""
        if isinstance(step, RunInThread):
            step.seconds, step.begin_by, step.began = self.running, now + self.waiting, None
        elif isinstance(step, Await):
            step.seconds = self.running

    def count(self, step: Step, begun: float) -> None:
        """Count a step that was yielded at `begun` and has ended: what it ran, and what it waited."""
        ended = self._clock()
        if isinstance(step, Await):
            ran = ended - begun
        elif isinstance(step, RunInThread):
            ran = ended - (begun if step.began is None else step.began)
        else:
            ran = 0.0
        self.running -= ran
        self.waiting -= ended - begun - ran

    def refuse(self) -> RpcError:
        """Return the error of a call that has waited for all the time it had, and count it."""
        self.waiting = min(self.waiting, 0.0)
        self._waits.refused += 1
        return server_busy()


def timed(
    method: Method, slices: Steps, clock: Callable[[], float], wait_seconds: float, waited: float = 0.0
) -> Generator[Step, Any, Any]:
    """Yield the steps of `slices`, each bounded by the remaining time, and return their result.

    The method's deadline counts the time that the call runs. What it waits is counted by `wait_seconds`, of
    which it has `waited` so many.

    Raises:
        RpcError: The method's `timeout_error` once its deadline has passed, or `server_busy` if the call
            waited too long.
    """
    if method.deadline is None:
        try:
            return (yield from slices)
        except TimeLimitError as error:
            raise out_of_time(error, method.timeout_error) from None
    left = _Time(method.waits, method.deadline, wait_seconds - waited, clock)
    try:
        return (yield from _within(left, method, slices, clock))
    finally:
        method.waits.observe(wait_seconds - left.waiting)


def _within(
    left: _Time, method: Method, slices: Steps, clock: Callable[[], float]
) -> Generator[Step, Any, Any]:
    resume, value = slices.send, None
    while True:
        began = clock()
        try:
            step = resume(value)
        except StopIteration as stop:
            return stop.value
        finally:
            # An error in here has this frame, and would be in a cycle.
            value = None
        now = clock()
        left.running -= now - began
        if left.running <= 0:
            raise method.timeout_error
        if left.waiting <= 0:
            raise left.refuse()
        left.grant(step, now)
        try:
            resume, value = slices.send, (yield step)
        except TimeLimitError as error:
            # Between two slices a call does nothing but wait.
            is_slice = step is None or isinstance(step, int)
            never_begun = is_slice or isinstance(error, NotStartedError)
            raise (left.refuse() if never_begun else method.timeout_error) from None
        except Exception as error:
            resume, value = slices.throw, error
        left.count(step, now)


def short_work(function: Callable[[CancelToken], Any]) -> RunInThread:
    """Return what has a thread for short work call `function`."""
    work = RunInThread(function)
    work.is_short = True
    return work


def aside(function: Callable[[CancelToken], Any]) -> Generator[Step, Any, Any]:
    """Return what `function` returns, which a thread for short work calls.

    Raises:
        RpcError: The request timed out, or there was no thread for it in time.
    """
    try:
        return (yield short_work(function))
    except TimeLimitError as error:
        raise out_of_time(error, request_timed_out()) from None


def replying(identity: bytes, slices: Steps) -> Generator[Step, Any, Reply]:
    """Yield the steps of `slices`, and return the reply to request `identity` with their result."""
    return joined(reply_pieces(identity, (yield from slices)))


def joined(pieces: ReplyChunks) -> Reply:
    """Return the pieces as one text, unless it is large."""
    return b"".join(pieces) if size_of(pieces) <= LARGE_BYTES else pieces


def begun(call: Callable[[], Any]) -> Generator[Step, Any, Any]:
    """Return what a call returns, at once or in the end."""
    result = call()
    if isinstance(result, GeneratorType):
        return (yield from result)
    return result


def begun_at_once(slices: Generator[Any, Any, Any]) -> Any:
    """Run the first slice of a call; return its result if that was all, else the steps that continue it."""
    try:
        next(slices)
    except StopIteration as end:
        return end.value
    return _continued(slices)


def _continued(slices: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    yield None
    return (yield from slices)


def failing(error: Exception) -> Generator[Step, Any, Any]:
    """Raise the error of a call that has failed at once, where its steps would begin."""
    yield from _failed(error)


def _failed(error: Exception) -> Iterator[Step]:
    try:
        raise error
    finally:
        # The error's traceback holds this frame.
        del error
