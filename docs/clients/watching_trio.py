"""Values of the state, and results of contract calls, that come again when they change; for trio.

    async with watch_state("ws://127.0.0.1:8545", accounts=["0x…"]) as states:
        async for state in states:
            print(state.block_number, state.accounts)

Where the node has the subscription it is used, over a connection that is made again for as long as it takes.
Another node is polled: once a block all values are read at its hash. All values of a state are those after
the block that it names.
"""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

import trio
from resuming_trio import MESSAGE_BYTES, RefusedError, pause, subscription
from trio_websocket import ConnectionClosed, HandshakeError, open_websocket_url
from watched_values import UNKNOWN, Ask, CallBook, Failed, Results, State, StateBook, look

__all__ = ["Results", "State", "watch_calls", "watch_state"]

INTERVAL: Final = 1.0
"""Seconds between two looks at a node that is polled."""


def watch_state(
    url: str,
    *,
    accounts: Iterable[str] = (),
    slots: Mapping[str, Iterable[str]] | None = None,
    interval: float = INTERVAL,
) -> AbstractAsyncContextManager["Changes"]:
    """Watch accounts, and slots by their addresses; `async for` over it has a `State` after each change."""
    return _watch(url, StateBook(accounts, slots), interval)


def watch_calls(
    url: str, calls: Iterable[dict[str, Any]], *, interval: float = INTERVAL
) -> AbstractAsyncContextManager["Changes"]:
    """Watch contract calls, as eth_call takes them; `async for` has `Results` after each change."""
    return _watch(url, CallBook(calls), interval)


Changes = trio.MemoryReceiveChannel[Any]


@asynccontextmanager
async def _watch(url: str, book: Any, interval: float) -> AsyncIterator[Changes]:
    # A reader that is slow gets each change that was read; the node has the later ones wait.
    sending, receiving = trio.open_memory_channel[Any](0)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_feed, url, book, interval, sending)
            yield receiving
            nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from group.exceptions[0].__cause__


async def _feed(url: str, book: Any, interval: float, changes: trio.MemorySendChannel[Any]) -> None:
    try:
        async with subscription(url, book.kind, book.options) as events:
            async for result in events:
                if (change := book.take(result)) is not None:
                    await changes.send(change)
    except RefusedError as error:
        if error.code not in UNKNOWN:
            raise
    attempts = 0
    while True:
        with suppress(OSError, HandshakeError, ConnectionClosed):
            async with open_websocket_url(url, max_message_size=MESSAGE_BYTES) as connection:
                await _poll(partial(_ask, connection), book, interval, changes)
        await trio.sleep(pause(attempts))
        attempts += 1


async def _poll(ask: Ask, book: Any, interval: float, changes: trio.MemorySendChannel[Any]) -> None:
    last: str | None = None
    while True:
        with suppress(Failed):
            last, change = await look(ask, book, last)
            if change is not None:
                await changes.send(change)
        await trio.sleep(interval)


async def _ask(connection: Any, method: str, *params: Any) -> Any:
    await connection.send_message(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    return json.loads(await connection.get_message())
