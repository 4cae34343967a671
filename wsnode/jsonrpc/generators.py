"""Time limits of calls in slices, and the replies made of their results."""

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
"""Size in bytes above which a text stays in pieces."""


class _Time:
    """Budget of a call in seconds: `running` is left for running, `waiting` for waiting for turns and
    threads.
    """

    __slots__ = ("_clock", "_waits", "running", "waiting")

    def __init__(self, waits: Waits, running: float, waiting: float, clock: Callable[[], float]) -> None:
        self._waits = waits
        self._clock = clock
        self.running = running
        self.waiting = waiting

    def grant(self, step: Step, now: float) -> None:
        if isinstance(step, RunInThread):
            step.seconds, step.begin_by, step.began = self.running, now + self.waiting, None
        elif isinstance(step, Await):
            step.seconds = self.running

    def count(self, step: Step, begun: float) -> None:
        """Deduct the time of a step, yielded at `begun` and ended now, from the seconds for running or for
        waiting.
        """
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
        """Return the error of a call that has used all its seconds for waiting, and count it."""
        self.waiting = min(self.waiting, 0.0)
        self._waits.refused += 1
        return server_busy()


def timed(
    method: Method, slices: Steps, clock: Callable[[], float], wait_seconds: float, waited: float = 0.0
) -> Generator[Step, Any, Any]:
    """Run the steps of `slices`, each bounded by the remaining time, and return their result.

    The method's deadline bounds the seconds for running. `wait_seconds` bounds the seconds for waiting, with
    `waited` of them used already.

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
            # `value` may be an error whose traceback has this frame, so keeping it would create a reference
            # cycle.
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
            # Between two slices a call only waits, so a time limit there means that it was refused its next
            # turn.
            is_slice = step is None or isinstance(step, int)
            never_begun = is_slice or isinstance(error, NotStartedError)
            raise (left.refuse() if never_begun else method.timeout_error) from None
        except Exception as error:
            resume, value = slices.throw, error
        left.count(step, now)


def short_work(function: Callable[[CancelToken], Any]) -> RunInThread:
    """Return a step that calls `function` in a thread for short work."""
    work = RunInThread(function)
    work.is_short = True
    return work


def aside(function: Callable[[CancelToken], Any]) -> Generator[Step, Any, Any]:
    """Run `function` in a thread for short work, and return its result.

    Raises:
        RpcError: The request timed out, or no thread was free in time.
    """
    try:
        return (yield short_work(function))
    except TimeLimitError as error:
        raise out_of_time(error, request_timed_out()) from None


def replying(identity: bytes, slices: Steps) -> Generator[Step, Any, Reply]:
    """Run the steps of `slices`, and return the reply to request `identity` with their result."""
    return joined(reply_pieces(identity, (yield from slices)))


def joined(pieces: ReplyChunks) -> Reply:
    """Return the pieces as one text, unless it is large."""
    return b"".join(pieces) if size_of(pieces) <= LARGE_BYTES else pieces


def begun(call: Callable[[], Any]) -> Generator[Step, Any, Any]:
    """Return the result of `call`; if `call` returns steps, run them first."""
    result = call()
    if isinstance(result, GeneratorType):
        return (yield from result)
    return result


def begun_at_once(slices: Generator[Any, Any, Any]) -> Any:
    """Run the first slice of a call; return its result if it has ended, else steps that continue it."""
    try:
        next(slices)
    except StopIteration as end:
        return end.value
    return _continued(slices)


def _continued(slices: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    yield None
    return (yield from slices)


def failing(error: Exception) -> Generator[Step, Any, Any]:
    """Raise `error` where the steps of a call would begin."""
    yield from _failed(error)


def _failed(error: Exception) -> Iterator[Step]:
    try:
        raise error
    finally:
        # The error's traceback holds this frame, so keeping the name would create a reference cycle.
        del error
