"""Long work of the engine: in a worker thread, within bounds, while its caller waits."""

from collections.abc import Callable, Generator
from typing import Any, Final, TypeAlias, TypeVar

from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.state import (
    BoundError,
    CancelFlag,
    InvalidTransactionError,
    ReorganisedError,
    StoppedError,
)
from wsnode.jsonrpc.errors import RpcError, limit_exceeded, response_too_large, server_error
from wsnode.jsonrpc.work import CancelToken, RunInThread, Step

_Result = TypeVar("_Result")
Traced = TypeVar("Traced")
Tracing: TypeAlias = Generator[Step, Any, bytes]
"""Steps that return the JSON text of a trace."""

SMALL_BYTES: Final = 4 * 1024 * 1024
"""Bytes that hold nearly all traces; a larger trace restarts once there is room for the largest."""


def flag_of(token: CancelToken) -> CancelFlag:
    """Return a flag for the engine that is set once `token` is."""
    flag = CancelFlag()
    token.link(flag.set)
    return flag


def in_worker(
    function: Callable[[CancelFlag], _Result], timed_out: RpcError
) -> Generator[Step, Any, _Result]:
    """Return the result of `function`, run in a worker thread; it ends early once its flag is set.

    Raises:
        RpcError: It ran out of time, exceeded a bound, or its block was dropped meanwhile.
    """
    try:
        result: _Result = yield RunInThread(lambda token: function(flag_of(token)))
    except StoppedError:
        raise timed_out from None
    except BoundError as error:
        raise limit_exceeded(str(error)) from None
    except ReorganisedError:
        raise header_not_found() from None
    return result


def run_in_thread(
    run: Callable[[CancelFlag, int], Traced | str], most_bytes: int, timed_out: RpcError
) -> Generator[Step, Any, Traced]:
    """Return the result of a trace that runs in a worker thread while its caller waits.

    `run` gets the maximum number of bytes that it may return: few at first, `most_bytes` once there is room
    for them.

    Raises:
        RpcError: The trace is too large, ran out of time, or cannot begin.
    """
    try:
        trace: Traced | str = yield _tracing(run, min(most_bytes, SMALL_BYTES))
        if trace == "large" and most_bytes > SMALL_BYTES:
            trace = yield _tracing(run, most_bytes)
    except InvalidTransactionError as error:
        known = error.kind == "overrides"
        raise server_error(str(error) if known else f"tracing failed: {error}") from None
    except ReorganisedError:
        raise header_not_found() from None
    if isinstance(trace, str):
        raise response_too_large() if trace == "large" else timed_out
    return trace


def _tracing(run: Callable[[CancelFlag, int], Traced | str], most_bytes: int) -> RunInThread:
    work = RunInThread(lambda token: run(flag_of(token), most_bytes))
    work.most_bytes = most_bytes
    return work
