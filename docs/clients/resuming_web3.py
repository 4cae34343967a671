"""A web3.py provider whose subscriptions lose nothing. One line changes:

    w3 = AsyncWeb3(ResumingProvider("ws://127.0.0.1:8545"))        # was: AsyncWeb3(WebSocketProvider(…))

It connects again for as long as it takes, and continues each subscription at its cursor. Reads that were
under way are sent again; a call that could act twice fails with web3's Web3RPCError. On a node without
cursors a subscription begins again with the present. Where the node cannot send again what was missed, the
loop over subscriptions, or `handle_subscriptions`, ends with a `HistoryGoneError`.
"""

import asyncio
import json
import random
import re
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import nullcontext, suppress
from functools import partial
from itertools import count
from typing import Any, Final

from web3 import Web3, WebSocketProvider
from web3.exceptions import ProviderConnectionError, Web3Exception
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import WebSocketException

REPEATABLE: Final = re.compile(
    r"(eth_(?!send|sign|submit|subscribe|unsubscribe|uninstall|getFilterChanges)"
    r"|eth_sendRawTransaction$|net_|web3_|debug_(get|trace)|trace_|ots_|txpool_)"
)
"""Methods that may be sent twice; a second eth_sendRawTransaction is looked up."""
LOST: Final = {"code": 4900, "message": "the connection was lost before the reply"}
MESSAGE_BYTES: Final = 16 * 1024 * 1024
MAX_WAITING: Final = 10_000
"""Calls that may wait for a connection."""
MAX_UNREAD: Final = 1_000
"""Events that wait for the loop over subscriptions; beyond them a subscription is made again later."""
ENTERING: Final = 5.0
"""Seconds that web3 has to enter a subscription."""
LOOK_AGAIN: Final = 0.02
"""Seconds until web3's queues are looked at again; they do not say when they have room."""


class HistoryGoneError(Web3Exception):
    """Events are missing: the node does not have the history that follows the last one."""


class Call:
    """A request, or a batch of them, that has no reply yet."""

    def __init__(self, requests: list[dict[str, Any]], text: bytes, answer: Callable[[Any], None]) -> None:
        self.requests = requests
        self.text = text
        self.answer = answer
        self.is_sent = self.is_repeated = False
        self._since = asyncio.get_running_loop().time()

    @property
    def age(self) -> float:
        """Return the seconds since web3 sent it."""
        return asyncio.get_running_loop().time() - self._since

    @property
    def is_repeatable(self) -> bool:
        """Return whether it may be sent twice."""
        return all(REPEATABLE.match(request["method"]) for request in self.requests)

    @property
    def is_signed(self) -> bool:
        """Return whether it is a transaction, whose hash is known."""
        return bool(self.requests[0]["method"] == "eth_sendRawTransaction")


class Subscription:
    """What web3 has subscribed to."""

    def __init__(self, course: "Course", answer: Callable[[dict[str, Any]], None]) -> None:
        self.course = course
        self.answer = answer
        """Gives web3 the first reply."""
        self.name: str | None = None
        """The id in the first reply."""
        self.id: str | None = None
        """The id of the present connection."""
        self._since = asyncio.get_running_loop().time()

    @property
    def age(self) -> float:
        """Return the seconds since web3 asked for it."""
        return asyncio.get_running_loop().time() - self._since


class ResumingProvider(WebSocketProvider):
    """A WebSocketProvider to which there is a connection most of the time."""

    def __init__(
        self, endpoint_uri: str | None = None, websocket_kwargs: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        bounds = {"ping_timeout": 30, "max_size": MESSAGE_BYTES}
        super().__init__(endpoint_uri, {**bounds, **(websocket_kwargs or {})}, **kwargs)
        self._node = Node()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._connection = 0
        """How many there were."""
        self._has_connection = False
        self._ids = 0
        self._calls: dict[Any, Call] = {}
        self._subscriptions: list[Subscription] = []
        self._live: dict[str, Subscription] = {}
        """Those of the present connection, by their ids."""
        self._paused: list[Subscription] = []
        self._replies: deque[Any] = deque()
        self._events: deque[dict[str, Any]] = deque()
        self._errors: deque[BaseException] = deque()
        self._changed = asyncio.Event()
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    # What web3 calls

    async def socket_send(self, request_data: bytes) -> None:
        """Send a request, now or once there is a connection."""
        content = json.loads(request_data)
        requests = content if isinstance(content, list) else [content]
        match requests[0]["method"]:
            case "eth_subscribe":
                self._subscribe(requests[0])
            case "eth_unsubscribe" if self._named(requests[0]["params"][0]):
                self._unsubscribe(requests[0])
            case _:
                await self._enter(Call(requests, request_data, self._reply))

    async def _provider_specific_connect(self) -> None:
        # The first time it is as with any other provider: it ends with an error where there is no node.
        await super()._provider_specific_connect()
        self._start(self._keep())

    async def _provider_specific_disconnect(self) -> None:
        for task in self._tasks:
            task.cancel()
        await super()._provider_specific_disconnect()
        self._begin_anew()

    async def _provider_specific_socket_reader(self) -> Any:
        while True:
            if self._replies:
                return self._replies.popleft()
            if self._errors:
                raise self._errors.popleft()
            if self._events and self._has_room(self._events[0]):
                return self._next_event()
            self._changed.clear()
            # Otherwise a handler that calls would wait for a reply behind events that wait for the handler.
            timeout = LOOK_AGAIN if self._events else None
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), timeout)

    # The connection

    def _start(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._errors.append(error)
        self._changed.set()

    async def _keep(self) -> None:
        attempts = 0
        while True:
            self._open()
            with suppress(WebSocketException, OSError):
                async for text in self._websocket:
                    attempts = 0
                    self._take(json.loads(text))
                    await self._let_read()
            self._lose()
            while not self._has_connection:
                await asyncio.sleep(pause(attempts))
                attempts += 1
                with suppress(WebSocketException, OSError, TimeoutError):
                    await super()._provider_specific_connect()
                    self._has_connection = True

    @property
    def _websocket(self) -> ClientConnection:
        assert self._ws is not None
        return self._ws

    def _open(self) -> None:
        self._has_connection = True
        self._connection += 1
        for call in list(self._calls.values()):
            self._start(self._write(call))
        self._paused.clear()
        for subscription in self._subscriptions:
            self._start(self._make(subscription))

    def _lose(self) -> None:
        self._has_connection = False
        self._live.clear()
        for key, call in list(self._calls.items()):
            if call.answer == self._reply and call.age > self.request_timeout:
                # web3 does not wait for it any more.
                del self._calls[key]
            elif call.is_sent and not call.is_repeatable:
                del self._calls[key]
                call.answer(refusal(call, LOST))
            else:
                call.is_repeated |= call.is_sent
                call.is_sent = False

    def _take(self, message: Any) -> None:
        if isinstance(message, dict) and message.get("method") == "eth_subscription":
            self._notice(message)
        elif (call := self._calls.pop(key_of(message), None)) is None:
            self._reply(message)
        elif call.is_repeated and call.is_signed and "error" in message:
            self._start(self._look_up(call, message))
        else:
            call.answer(message)

    # Calls

    async def _enter(self, call: Call) -> None:
        if not self._has_connection and len(self._calls) >= MAX_WAITING:
            raise ProviderConnectionError("too many calls wait for a connection")
        self._calls[key_of(call.requests)] = call
        if self._has_connection:
            await self._write(call)

    async def _write(self, call: Call) -> None:
        call.is_sent = True
        with suppress(WebSocketException):
            # Of a loss the reader hears, too.
            await self._websocket.send(call.text.decode() if self.use_text_frames else call.text)

    def _reply(self, message: Any) -> None:
        self._replies.append(message)
        self._changed.set()

    async def _ask(self, method: str, *params: Any, seen: Callable[[Any], None] | None = None) -> Any:
        """Return the reply to a call of its own; `seen` gets it before any later message is read."""
        self._ids += 1
        request = {"jsonrpc": "2.0", "id": f"resuming-{self._ids}", "method": method, "params": params}
        reply = asyncio.get_running_loop().create_future()

        def answer(message: Any) -> None:
            if seen is not None:
                seen(message)
            if not reply.done():
                reply.set_result(message)

        await self._enter(Call([request], json.dumps(request).encode(), answer))
        return await reply

    async def _look_up(self, call: Call, refused: dict[str, Any]) -> None:
        """Answer with the hash of a transaction whose repetition was refused because the node has it."""
        transaction = Web3.to_hex(Web3.keccak(hexstr=call.requests[0]["params"][0]))
        reply = await self._ask("eth_getTransactionByHash", transaction)
        known = {"jsonrpc": "2.0", "id": refused["id"], "result": transaction}
        call.answer(known if reply.get("result") else refused)

    # Subscriptions

    def _named(self, name: str) -> Subscription | None:
        return next((each for each in self._subscriptions if each.name == name), None)

    def _subscribe(self, request: dict[str, Any]) -> None:
        subscription = Subscription(
            Course(self._node, request["params"], self._miss),
            lambda reply: self._reply({"jsonrpc": "2.0", "id": request["id"], **reply}),
        )
        self._subscriptions.append(subscription)
        if self._has_connection:
            self._start(self._make(subscription))

    def _unsubscribe(self, request: dict[str, Any]) -> None:
        subscription = self._named(request["params"][0])
        assert subscription is not None
        self._subscriptions.remove(subscription)
        self._stop(subscription)
        others = [each for each in self._events if each["params"]["subscription"] != subscription.name]
        self._events = deque(others)
        self._go_on()
        self._reply({"jsonrpc": "2.0", "id": request["id"], "result": True})

    def _stop(self, subscription: Subscription) -> None:
        # Without its connection there is nothing left to end.
        if subscription.id is not None and self._live.pop(subscription.id, None) is not None:
            self._start(self._ask("eth_unsubscribe", subscription.id))

    async def _make(self, subscription: Subscription) -> None:
        """Subscribe on the present connection, if the node does not refuse."""
        connection = self._connection
        for refusals in count():
            # One by one until the node is known: one without cursors refuses them once.
            async with self._turn if self._node.cursors is None else nullcontext():
                error = await self._attempt(subscription, connection)
            if error is None or connection != self._connection or not self._has_connection:
                return
            if subscription.name is None:
                self._subscriptions.remove(subscription)
                subscription.answer({"error": error})
                return
            await asyncio.sleep(pause(refusals))

    async def _attempt(self, subscription: Subscription, connection: int) -> Any:
        """Return the node's refusal, or None."""
        params = await subscription.course.params(self._block_number)
        if connection != self._connection or subscription not in self._subscriptions:
            return None
        reply = await self._ask("eth_subscribe", *params, seen=partial(self._begin, subscription))
        error = reply.get("error")
        if error is None or not subscription.course.adapts(error):
            return error
        return await self._attempt(subscription, connection)

    async def _block_number(self) -> str:
        while True:
            reply = await self._ask("eth_blockNumber")
            if "result" in reply:
                return str(reply["result"])
            await asyncio.sleep(pause(1))

    def _begin(self, subscription: Subscription, reply: dict[str, Any]) -> None:
        if "error" in reply:
            return
        subscription.id = reply["result"]
        self._live[reply["result"]] = subscription
        subscription.course.begin()
        is_late = subscription.name is None and subscription.age > self.request_timeout
        if is_late or subscription not in self._subscriptions:
            # Nobody waits for it any more.
            self._subscriptions = [each for each in self._subscriptions if each is not subscription]
            self._stop(subscription)
        elif subscription.name is None:
            subscription.name = subscription.id
            subscription.answer({"result": subscription.name})

    def _miss(self, cause: Any) -> None:
        reason = cause["message"] if cause else "the node does not have cursors any more"
        self._fail(HistoryGoneError(reason))

    # Events

    def _notice(self, message: dict[str, Any]) -> None:
        params = message["params"]
        subscription = self._live.get(params["subscription"])
        if subscription is None or not subscription.course.receives(params):
            return
        params["subscription"] = subscription.name
        self._events.append(message)
        self._changed.set()
        if len(self._events) >= MAX_UNREAD and subscription.course.cursor:
            self._stop(subscription)
            self._paused.append(subscription)

    async def _let_read(self) -> None:
        """Wait with the next message if there are too many of a node that cannot send them again."""
        while len(self._events) >= 2 * MAX_UNREAD:  # noqa: ASYNC110 web3's queues have no event.
            await asyncio.sleep(LOOK_AGAIN)

    def _has_room(self, event: dict[str, Any]) -> bool:
        """Return whether web3 would take the event, and know what it belongs to."""
        queues = self._request_processor
        if queues._subscription_response_queue.full() or queues._handler_subscription_queue.full():
            return False
        # It enters a subscription some turns after it has read the reply; one made by hand it never enters.
        name = event["params"]["subscription"]
        subscription, entered = self._named(name), queues._subscription_container
        is_new = subscription is not None and subscription.age < ENTERING
        return not is_new or entered is None or entered.get_by_id(name) is not None

    def _next_event(self) -> dict[str, Any]:
        event = self._events.popleft()
        if len(self._events) <= MAX_UNREAD // 2:
            self._go_on()
        return event

    def _go_on(self) -> None:
        for subscription in self._paused:
            if subscription in self._subscriptions:
                self._start(self._make(subscription))
        self._paused.clear()


def key_of(message: Any) -> Any:
    """Return what a request and its reply have in common; for a batch it is the lowest id."""
    if isinstance(message, list):
        return min((each["id"] for each in message if each.get("id") is not None), default=None)
    return message.get("id")


def refusal(call: Call, error: dict[str, Any]) -> Any:
    """Return the reply of a node that refuses a call, or each of a batch."""
    replies = [{"jsonrpc": "2.0", "id": request["id"], "error": error} for request in call.requests]
    return replies if call.text.lstrip().startswith(b"[") else replies[0]


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
