"""Logs and heads for trio, none of which is lost.

    async with subscription("ws://127.0.0.1:8545", "logs", {"address": "0x…"}) as logs:
        async for log in logs:
            ...

It connects again for as long as it takes, and continues at its cursor. On a node without cursors it begins
again with the present. Raises `HistoryGoneError` where the node cannot send again what was missed.
"""

import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

import trio
from trio_websocket import ConnectionClosed, HandshakeError, open_websocket_url

UNREAD: Final = 100
"""Events that wait for the reader; with more of them the node has to wait."""
KEEP_ALIVE: Final = 30.0
"""Seconds until a ping, and then until a connection without a pong is given up."""
MESSAGE_BYTES: Final = 16 * 1024 * 1024


class RefusedError(Exception):
    """The node refuses the subscription."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        """The node's, as -32601 for a kind that it does not have."""


class HistoryGoneError(Exception):
    """Events are missing: the node does not have the history that follows the last one."""


class Events:
    """The results of a subscription, in the node's order."""

    def __init__(self, received: trio.MemoryReceiveChannel[tuple[Any, str | None] | Exception]) -> None:
        self._received = received
        self.cursor: str | None = None
        """The position after the last event, if the node has cursors; `subscription` takes it."""

    def __aiter__(self) -> "Events":
        return self

    async def __anext__(self) -> Any:
        try:
            received = await self._received.receive()
        except trio.EndOfChannel:
            raise StopAsyncIteration from None
        if isinstance(received, Exception):
            raise received
        result, self.cursor = received
        return result


@asynccontextmanager
async def subscription(
    url: str,
    kind: str,
    options: dict[str, Any] | None = None,
    *,
    cursor: str | None = None,
    first_block: int | None = None,
) -> AsyncIterator[Events]:
    """Subscribe to `logs` with a filter, to `newHeads` or another kind.

    It begins at a `cursor` if there is one, else with `first_block`, else with the present.

    The iteration raises:
        RefusedError: The node does not have the kind, or does not take the filter.
        HistoryGoneError: Events are missing, or the node cannot begin there; another subscription has the
            later ones.
    """
    sending, receiving = trio.open_memory_channel[tuple[Any, str | None] | Exception](UNREAD)
    start = None if cursor or first_block is None else hex(first_block)
    params = [kind] if options is None else [kind, options]
    line = Line(url, params, sending, cursor=cursor, start=start)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(line.run)
            yield Events(receiving)
            nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        # The line raises nothing, so this is what the caller raised.
        raise group.exceptions[0] from group.exceptions[0].__cause__


class Line:
    """The connections of one subscription, one after another."""

    def __init__(
        self,
        url: str,
        params: list[Any],
        events: trio.MemorySendChannel[tuple[Any, str | None] | Exception],
        **begin: str | None,
    ) -> None:
        self._url = url
        self._events = events
        self._attempts = 0
        self._has_begun = False
        self._course = Course(Node(), params, self._miss, **begin)

    def _miss(self, cause: Any) -> None:
        raise HistoryGoneError(cause["message"] if cause else "the node does not have cursors any more")

    async def run(self) -> None:
        """Pass on events until there is an error that another connection does not mend."""
        try:
            while True:
                with suppress(OSError, HandshakeError, ConnectionClosed, trio.TooSlowError):
                    async with open_websocket_url(
                        self._url, max_message_size=MESSAGE_BYTES, message_queue_size=UNREAD
                    ) as connection:
                        await self._listen(connection)
                await trio.sleep(pause(self._attempts))
                self._attempts += 1
        except (RefusedError, HistoryGoneError) as error:
            await self._events.send(error)
            self._events.close()

    async def _listen(self, connection: Any) -> None:
        name = await self._subscribe(connection)
        while True:
            params = (await self._message(connection)).get("params", {})
            if params.get("subscription") == name and self._course.receives(params):
                await self._events.send((params["result"], self._course.cursor))

    async def _subscribe(self, connection: Any) -> str:
        refusals = 0
        while True:
            params = await self._course.params(partial(self._block_number, connection))
            reply = await self._call(connection, "eth_subscribe", *params)
            if "result" in reply:
                self._course.begin()
                self._has_begun = True
                return str(reply["result"])
            if not self._course.adapts(reply["error"]):
                if not self._has_begun and not is_behind(reply["error"]):
                    raise RefusedError(reply["error"])
                await trio.sleep(pause(refusals))
                refusals += 1

    async def _block_number(self, connection: Any) -> str:
        while True:
            reply = await self._call(connection, "eth_blockNumber")
            if "result" in reply:
                return str(reply["result"])
            await trio.sleep(pause(1))

    async def _call(self, connection: Any, method: str, *params: Any) -> Any:
        await connection.send_message(
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        )
        while "id" not in (message := await self._message(connection)):
            pass
        return message

    async def _message(self, connection: Any) -> Any:
        """Return the next message; a connection may be dead without a close."""
        while True:
            with trio.move_on_after(KEEP_ALIVE):
                message = json.loads(await connection.get_message())
                self._attempts = 0
                return message
            with trio.fail_after(KEEP_ALIVE):
                await connection.ping()


# From here on all clients' files are the same.

MIN_PAUSE: Final = 0.2
MAX_PAUSE: Final = 10.0
RESUMABLE: Final = ("logs", "newHeads", "transactionReceipts")
BOUNDS: Final = ("fromBlock", "toBlock", "blockHash", "cursor", "cursors")
"""Members with which a subscriber says by itself where to begin."""
INVALID: Final = (-32600, -32601, -32602)
"""How a node refuses members that it does not know."""
GONE: Final = (-32001, 4444, *INVALID)
MAX_WAITS: Final = 4
"""How often a node that is behind is asked again for events after a cursor; it takes seconds to answer."""
HARMLESS: Final = (-32005, -32006)
"""Notices of a slow reader, whose events follow, and of a restart."""


class Node:
    """What subscriptions have found out about a node."""

    cursors: bool | None = None
    """Whether its notifications have cursors."""


class Course:
    """Where a subscription goes on when it is made again: at a cursor, if the node has them."""

    def __init__(
        self,
        node: Node,
        params: list[Any],
        miss: Callable[[Any], None],
        *,
        cursor: str | None = None,
        start: str | None = None,
    ) -> None:
        """For the parameters of the first eth_subscribe; `miss` is called when events are missing.

        It begins at a `cursor`, or with the block `start`, or with the present.
        """
        self._node = node
        self._wanted = params
        self._miss = miss
        self._asks = False
        self._is_plain = False
        self.cursor = cursor
        """The position after the last notification."""
        self._start = start
        """The first block that did not exist at the beginning: where to go on until there is a cursor."""
        self._waits = 0
        self._resumes = self._needs_cursors = (cursor or start) is not None
        """Whether to go on from there, rather than to begin with the present."""

    async def params(self, block_number: Callable[[], Awaitable[str]]) -> list[Any]:
        """Return the parameters of the next eth_subscribe."""
        kind, options = self._wanted[0], (self._wanted[1:] or [None])[0] or {}
        is_bound = kind not in RESUMABLE or any(name in options for name in BOUNDS)
        self._asks = not is_bound and not self._is_plain and self._node.cursors is not False
        if not self._asks:
            if self.cursor:
                self._forget()
            return self._wanted
        if self._start is None:
            self._start = hex(int(await block_number(), 16) + 1)
        if self.cursor:
            return [kind, {**options, "cursor": self.cursor}]
        return [kind, {**options, "cursors": True, **({"fromBlock": self._start} if self._resumes else {})}]

    def begin(self) -> None:
        """Note that the node has accepted them."""
        self._resumes = True
        self._waits = 0
        if self._is_plain and self._node.cursors is None:
            self._node.cursors = False

    def receives(self, params: dict[str, Any]) -> bool:
        """Take the params of a notification; return False if it has no result."""
        if (error := params.get("error")) is not None:
            self.cursor = (error.get("data") or {}).get("cursor") or self.cursor
            if error["code"] not in HARMLESS:
                self._miss(error)
        elif "result" in params and self._asks:
            cursor = params.get("cursor")
            if not cursor and (self.cursor or self._needs_cursors):
                self._forget()
            self._node.cursors = cursor is not None
            self.cursor = cursor
        return "result" in params

    def adapts(self, error: dict[str, Any]) -> bool:
        """Take the node's refusal of the parameters; return True if it may accept the next ones."""
        # A notification of another subscription may have said before this reply that there are no cursors.
        is_new = self._asks and not self._needs_cursors and not self.cursor and not self._node.cursors
        if is_new and error["code"] in INVALID:
            self._is_plain = True
            return True
        if not self._resumes or error["code"] not in GONE:
            return False
        if is_behind(error) and self._waits < MAX_WAITS:
            self._waits += 1
            return False
        self._node.cursors = None
        self._forget(error)
        return True

    def _forget(self, cause: Any = None) -> None:
        self.cursor = self._start = None
        self._resumes = False
        self._miss(cause)


def is_behind(error: dict[str, Any]) -> bool:
    """Return whether the node may yet have what it refuses, as it is behind others of its chain."""
    return (error.get("data") or {}).get("behind") is True


def pause(attempt: int) -> float:
    """Return seconds that grow with the attempts, and are not the same for all clients."""
    return min(MAX_PAUSE, MIN_PAUSE * 2.0 ** min(attempt, 16)) * random.uniform(0.5, 1)
