"""The time that a call in slices may take, what it lacks, and how its result becomes a reply."""

from collections.abc import Callable, Generator, Iterator
from types import GeneratorType
from typing import Any

from wsnode.jsonrpc.codec import reply_pieces
from wsnode.jsonrpc.errors import RpcError, TimeLimitError, out_of_time, request_timed_out
from wsnode.jsonrpc.method import Method, Turn
from wsnode.jsonrpc.work import (
    AsyncCall,
    CancelToken,
    Fetching,
    InThread,
    Pieces,
    Reply,
    Shortage,
    Step,
    Steps,
    size_of,
)

LARGE_BYTES = 1024 * 1024
"""Texts of more bytes stay in pieces."""


def timed(method: Method, slices: Steps, clock: Callable[[], float]) -> Generator[Step, Any, Any]:
    """Yield the steps of `slices`, each bounded by the remaining time, and return their result.

    Raises:
        RpcError: The method's `timeout_error` once its deadline has passed, or `server_busy` if it passed
        while the call waited for a thread.
    """
    if method.deadline is None:
        try:
            return (yield from slices)
        except TimeLimitError as error:
            raise out_of_time(error, method.timeout_error) from None
    end = clock() + method.deadline
    resume, value = slices.send, None
    while True:
        try:
            step = resume(value)
        except StopIteration as stop:
            return stop.value
        finally:
            # An error in here has this frame, and would be in a cycle.
            value = None
        if (left := end - clock()) <= 0:
            raise method.timeout_error
        if isinstance(step, InThread | AsyncCall):
            step.seconds = left
        try:
            resume, value = slices.send, (yield step)
        except TimeLimitError as error:
            raise out_of_time(error, method.timeout_error) from None
        except Exception as error:
            resume, value = slices.throw, error


def short_work(function: Callable[[CancelToken], Any]) -> InThread:
    """Return what has a thread for short work call `function`."""
    work = InThread(function)
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


def joined(pieces: Pieces) -> Reply:
    """Return the pieces as one text, unless it is large."""
    return b"".join(pieces) if size_of(pieces) <= LARGE_BYTES else pieces


class Again:
    """Makes a call again: at the moment that it saw first or, where it may move on, once at a later one."""

    __slots__ = ("_answer", "_seen", "_turn", "has_moved", "may_move")

    def __init__(self, turn: Turn, answer: Callable[[], Any], *, may_move: bool) -> None:
        self._turn = turn
        self._answer = answer
        # The view is the call's own by the time that it is made again, and the turn may have another.
        self._seen = turn.scope, turn.view
        self.may_move = may_move
        self.has_moved = False

    def __call__(self) -> Any:
        """Return what the handler returns."""
        turn = self._turn
        held, (turn.scope, turn.view) = (turn.scope, turn.view), self._seen
        try:
            return self._answer()
        finally:
            self._seen, (turn.scope, turn.view) = (turn.scope, turn.view), held

    def move(self) -> None:
        """Have the call open a view of its own, of what is there then."""
        self._seen, self.may_move, self.has_moved = (None, None), False, True

    def close(self) -> None:
        """Close the view that the call has opened."""
        scope = self._seen[0]
        if self.has_moved and scope is not None:
            scope.__exit__(None, None, None)


def supplied(steps: Steps, again: Again, shortage: Shortage) -> Generator[Step, Any, Any]:
    """Yield the steps of a call, and where they lack something fetch it and make the call again."""
    try:
        while True:
            try:
                return (yield from steps)
            except Exception as error:
                fetch = shortage.fetch_for(error)
                if fetch is None:
                    raise
            finally:
                steps.close()
            try:
                yield Fetching(fetch)
            except RpcError:
                if not (again.may_move and shortage.moves_on()):
                    raise
                again.move()
            steps = begun(again)
    finally:
        again.close()


def begun(again: Callable[[], Any]) -> Generator[Step, Any, Any]:
    """Return what a call returns, at once or in the end."""
    result = again()
    if isinstance(result, GeneratorType):
        return (yield from result)
    return result


def failing(error: Exception) -> Generator[Step, Any, Any]:
    """Raise the error of a call that has failed at once, where its steps would begin."""
    yield from _failed(error)


def _failed(error: Exception) -> Iterator[Step]:
    try:
        raise error
    finally:
        # The error's traceback holds this frame.
        del error
