"""Values of the state, and results of contract calls, that come again when they change; for web3.py.

    async with AsyncWeb3(WebSocketProvider("ws://127.0.0.1:8545")) as w3:
        unwatch = await watch_state(w3, on_state, accounts=["0x…"])
        await w3.subscription_manager.handle_subscriptions(run_forever=True)

`on_state` is awaited with a `State` after each change. Where the node has the subscription it is used, and
handled as all others of web3.py. Another node is polled by a task: once a block all values are read at its
hash. All values of a state are those after the block that it names.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from watched_values import UNKNOWN, CallBook, Failed, Results, State, StateBook, look
from web3 import AsyncWeb3
from web3.exceptions import TimeExhausted, Web3Exception, Web3RPCError

__all__ = ["MissedValuesError", "Results", "State", "watch_calls", "watch_state"]

INTERVAL: Final = 1.0
"""Seconds between two looks at a node that is polled."""

Unwatch = Callable[[], Awaitable[Any]]
"""Ends it."""


class MissedValuesError(Web3Exception):
    """Another reader of the connection has taken the first values."""


async def watch_state(
    w3: AsyncWeb3[Any],
    on_state: Callable[["State"], Awaitable[None]],
    *,
    accounts: Iterable[str] = (),
    slots: Mapping[str, Iterable[str]] | None = None,
    interval: float = INTERVAL,
) -> Unwatch:
    """Watch accounts, and slots by their addresses."""
    return await _watch(w3, StateBook(accounts, slots), on_state, interval)


async def watch_calls(
    w3: AsyncWeb3[Any],
    on_results: Callable[["Results"], Awaitable[None]],
    calls: Iterable[dict[str, Any]],
    *,
    interval: float = INTERVAL,
) -> Unwatch:
    """Watch contract calls, as eth_call takes them."""
    return await _watch(w3, CallBook(calls), on_results, interval)


async def _watch(
    w3: AsyncWeb3[Any], book: Any, on_change: Callable[[Any], Awaitable[None]], interval: float
) -> Unwatch:
    has_begun = False

    async def handle(context: Any) -> None:
        nonlocal has_begun
        has_begun = has_begun or "complete" in context.result
        if not has_begun:
            raise MissedValuesError("another reader of the connection has taken the first values")
        if (change := book.take(context.result)) is not None:
            await on_change(change)

    try:
        name = await w3.eth.subscribe(book.kind, book.options, handler=handle)
    except Web3RPCError as error:
        if (error.rpc_response or {}).get("error", {}).get("code") not in UNKNOWN:
            raise
    else:
        await _hand_to_handler(w3.provider, name)
        return lambda: w3.eth.unsubscribe(name)
    task = asyncio.create_task(_poll(w3, book, on_change, interval))

    async def end() -> None:
        task.cancel()

    return end


async def _hand_to_handler(provider: Any, name: str) -> None:
    """Pass the queued notifications of a new subscription to its handler.

    web3 learns the name some turns after it has read the reply. It queues the notifications that it reads
    meanwhile for the loop over subscriptions, which nobody runs here.
    """
    queues = provider._request_processor
    unnamed, handled = queues._subscription_response_queue, queues._handler_subscription_queue
    waiting = [unnamed.get_nowait() for _ in range(unnamed.qsize())]
    own = [message for message in waiting if _name_in(message) == name]
    for message in waiting:
        if message not in own:
            unnamed.put_nowait(message)
    for message in own:
        await handled.put(message)


def _name_in(message: Any) -> Any:
    # The end of the connection is an exception in its place.
    return message.get("params", {}).get("subscription") if isinstance(message, dict) else None


async def _poll(
    w3: AsyncWeb3[Any], book: Any, on_change: Callable[[Any], Awaitable[None]], interval: float
) -> None:
    ask = partial(_ask, w3.provider)
    last: str | None = None
    while True:
        # A connection that is lost is made again by the provider, if it is one that does so.
        with suppress(Failed, TimeExhausted, Web3RPCError, OSError):
            last, change = await look(ask, book, last)
            if change is not None:
                await on_change(change)
        await asyncio.sleep(interval)


async def _ask(provider: Any, method: str, *params: Any) -> Any:
    request = await provider.send_request(method, list(params))
    # web3 ends the connection for an error in reply to a request that is not entered.
    entered = provider._request_processor
    entered.cache_request_information(request["id"], method, request["params"], ((), (), ()))
    reply = await provider.recv_for_request(request)
    entered.get_request_information_for_response(reply)
    return reply
