"""The time that a call in slices may take."""

from collections.abc import Callable, Generator
from typing import Any

from wsnode.jsonrpc.errors import TimeLimitError, out_of_time
from wsnode.jsonrpc.messages import AsyncCall, InThread, Step, Steps
from wsnode.jsonrpc.registry import Method


def timed(method: Method, slices: Steps, clock: Callable[[], float]) -> Generator[Step, Any, Any]:
    """Yield what `slices` yield, each step bound by the time that is left, and return what they return.

    Raises:
        RpcError: The method's `timeout_error`, once its deadline has passed; that the server is busy, where
            it passed while the call waited for a thread.
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
