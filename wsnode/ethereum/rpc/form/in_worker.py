"""Work of the engine that goes far back or wide: in a thread, within bounds, while its caller waits."""

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from wsnode.ethereum.rpc.form.results import header_not_found
from wsnode.ethereum.state import BoundError, CancelFlag, ReorganisedError, StoppedError
from wsnode.jsonrpc.errors import RpcError, limit_exceeded
from wsnode.jsonrpc.work import CancelToken, InThread, Step

_Result = TypeVar("_Result")


def in_worker(
    function: Callable[[CancelFlag], _Result], timed_out: RpcError
) -> Generator[Step, Any, _Result]:
    """Return what `function` returns, which ends once the flag that it is given is set.

    Raises:
        RpcError: Its time was up, a bound was passed, or its block was dropped meanwhile.
    """

    def until_cancelled(token: CancelToken) -> _Result:
        flag = CancelFlag()
        token.link(flag.set)
        return function(flag)

    try:
        result: _Result = yield InThread(until_cancelled)
    except StoppedError:
        raise timed_out from None
    except BoundError as error:
        raise limit_exceeded(str(error)) from None
    except ReorganisedError:
        raise header_not_found() from None
    return result
