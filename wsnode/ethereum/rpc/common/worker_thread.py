"""Long work of the engine: in a worker thread, within bounds, while its caller waits."""

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.state import BoundError, CancelFlag, ReorganisedError, StoppedError
from wsnode.jsonrpc.errors import RpcError, limit_exceeded
from wsnode.jsonrpc.work import CancelToken, RunInThread, Step

_Result = TypeVar("_Result")


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

    def until_cancelled(token: CancelToken) -> _Result:
        return function(flag_of(token))

    try:
        result: _Result = yield RunInThread(until_cancelled)
    except StoppedError:
        raise timed_out from None
    except BoundError as error:
        raise limit_exceeded(str(error)) from None
    except ReorganisedError:
        raise header_not_found() from None
    return result
