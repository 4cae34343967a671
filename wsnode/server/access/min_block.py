"""What a client may demand before it is served: that the node has a block."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs

import trio

from wsnode.jsonrpc.errors import RpcError, invalid_params
from wsnode.server.access.request_errors import RequestRefusedError
from wsnode.server.access.router import BlockWaiter, Route

HEADER: Final = "wsnode-min-block"
"""The header of an HTTP request."""
MEMBER: Final = "min_block"
"""The member of the query of a handshake's URL."""
HEAD_HEADER: Final = "wsnode-block"
"""The header of an HTTP reply: the head that it was computed on."""

Arrival: TypeAlias = Callable[[], Awaitable[RequestRefusedError | None]]
"""Waits for a block, and returns a refusal (503) if it does not come in time, or if too many wait."""


def demanded_by(target: str) -> str | None:
    """Return the block that a handshake's target demands, None without one.

    Raises:
        RequestRefusedError: It demands several.
    """
    query = target.partition("?")[2]
    if MEMBER not in query:
        return None
    found = parse_qs(query, keep_blank_values=True).get(MEMBER)
    if found is not None and len(found) > 1:
        raise _refusal(400, invalid_params(f"more than one {MEMBER}"))
    return None if found is None else found[0]


def arrival_of(route: Route, text: str) -> Arrival:
    """Return what waits for the block that a request demands as `NUMBER` or `NUMBER:HASH`.

    Raises:
        RequestRefusedError: The text names no block, or the network has none to wait for (400).
    """
    if (barrier := route.barrier) is None:
        raise _refusal(400, invalid_params("this network has no blocks to wait for"))
    try:
        awaited = barrier.parse(text)
    except ValueError as error:
        raise _refusal(400, invalid_params(str(error))) from None
    return lambda: _wait(barrier, awaited, route)


async def _wait(barrier: BlockWaiter, awaited: Any, route: Route) -> RequestRefusedError | None:
    if barrier.has_come(awaited):
        await trio.lowlevel.checkpoint()
        return None
    try:
        await barrier.wait((awaited,), route.caller.client)
    except RpcError as error:
        return _refusal(503, error)
    return None


def _refusal(status: int, error: RpcError) -> RequestRefusedError:
    return RequestRefusedError(status, error, {"Retry-After": "1"} if status == 503 else None)
