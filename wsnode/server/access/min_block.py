"""Demand of a client, before it is served, that the node has a certain block."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs

import trio

from wsnode.jsonrpc.errors import RpcError, invalid_params
from wsnode.server.access.request_errors import HttpRequestRefusedError, try_later
from wsnode.server.access.router import BlockWaiter, Route

HEADER: Final = "wsnode-min-block"
"""Header of an HTTP request with the demanded block."""
MEMBER: Final = "min_block"
"""Parameter in the query of a handshake's URL with the demanded block."""
HEAD_HEADER: Final = "wsnode-block"
"""Header of an HTTP reply: the head on which the reply was computed."""

Arrival: TypeAlias = Callable[[], Awaitable[HttpRequestRefusedError | None]]
"""Function that waits for a block; it returns a refusal (503) if the block is late or too many wait, else
None.
"""


def demanded_by(target: str) -> str | None:
    """Return the block demanded in the query of a handshake's target, None without a demand.

    Raises:
        HttpRequestRefusedError: The query demands several blocks.
    """
    query = target.partition("?")[2]
    if MEMBER not in query:
        return None
    found = parse_qs(query, keep_blank_values=True).get(MEMBER)
    if found is not None and len(found) > 1:
        raise HttpRequestRefusedError(400, invalid_params(f"more than one {MEMBER}"))
    return None if found is None else found[0]


def arrival_of(route: Route, text: str) -> Arrival:
    """Return a function that waits for the demanded block, written as `NUMBER` or `NUMBER:HASH`.

    Raises:
        HttpRequestRefusedError: The text names no block, or the network has no blocks to wait for (400).
    """
    if (barrier := route.barrier) is None:
        raise HttpRequestRefusedError(400, invalid_params("this network has no blocks to wait for"))
    try:
        awaited = barrier.parse(text)
    except ValueError as error:
        raise HttpRequestRefusedError(400, invalid_params(str(error))) from None
    return lambda: _wait(barrier, awaited, route)


async def _wait(barrier: BlockWaiter, awaited: Any, route: Route) -> HttpRequestRefusedError | None:
    if barrier.has_come(awaited):
        await trio.lowlevel.checkpoint()
        return None
    try:
        await barrier.wait((awaited,), route.caller.client)
    except RpcError as error:
        return try_later(503, error)
    return None
