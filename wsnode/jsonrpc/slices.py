"""The time that a call in slices may take, what it lacks, and how its result becomes a reply."""

from collections.abc import Callable, Generator, Iterator
from types import GeneratorType
from typing import Any

from wsnode.jsonrpc.codec import reply_pieces
from wsnode.jsonrpc.errors import TimeLimitError, out_of_time, request_timed_out
from wsnode.jsonrpc.method import Method
from wsnode.jsonrpc.work import AsyncCall, CancelToken, InThread, Shortage, Step, Steps

LARGE_BYTES = 1024 * 1024
"""Texts of more bytes are joined in a thread; from here on the interpreter runs others meanwhile."""


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


def replying(identity: bytes, slices: Steps) -> Generator[Step, Any, bytes]:
    """Yield the steps of `slices`, and return the reply to request `identity` with their result."""
    return (yield from joined(reply_pieces(identity, (yield from slices))))


def joined(pieces: list[bytes]) -> Generator[Step, Any, bytes]:
    """Return the pieces as one text, which a thread puts together if it is large."""
    size = sum(map(len, pieces))
    if size <= LARGE_BYTES:
        return b"".join(pieces)
    work = short_work(lambda _cancel: b"".join(pieces))
    # In the end there are the pieces and the text.
    work.made = 2 * size
    text: bytes = yield work
    return text


def supplied(steps: Steps, again: Callable[[], Any], shortage: Shortage) -> Generator[Step, Any, Any]:
    """Yield the steps of a call, and where they lack something fetch it and make the call again."""
    while True:
        try:
            return (yield from steps)
        except Exception as error:
            fetch = shortage.fetch_for(error)
            if fetch is None:
                raise
        finally:
            steps.close()
        yield AsyncCall(fetch)
        steps = _begun(again)


def _begun(again: Callable[[], Any]) -> Generator[Step, Any, Any]:
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
