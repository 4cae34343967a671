"""Values of the state, and results of contract calls, that come again when they change; for web3.py.

    async with AsyncWeb3(WebSocketProvider("ws://127.0.0.1:8545")) as w3:
        unwatch = await watch_state(w3, on_state, accounts=["0x…"])
        await w3.subscription_manager.handle_subscriptions(run_forever=True)

`on_state` is awaited with a `State` after each change, by a task, whichever of web3's loops over
subscriptions the program runs beside it: this one, `process_subscriptions()`, or both. Its errors end that
loop. Where the node has the subscription it is used. Another node is polled: once a block all values are read
at its hash. All values of a state are those after the block that it names.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from watched_values import UNKNOWN, CallBook, Failed, Results, State, StateBook, look
from web3 import AsyncWeb3
from web3.exceptions import ProviderConnectionError, TimeExhausted, Web3RPCError
from web3.utils.subscriptions import EthSubscription

__all__ = ["Results", "State", "watch_calls", "watch_state"]

INTERVAL: Final = 1.0
"""Seconds between two looks at a node that is polled."""
MAX_WAITING: Final = 500
"""Notifications of a subscription that wait to be handed over, as many as in web3's queues; beyond them
nothing more is read."""

Unwatch = Callable[[], Awaitable[Any]]
"""Ends it."""


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
    watches = Watches.of(w3)
    reply = await watches.ask("eth_subscribe", book.kind, book.options)
    if "error" not in reply:
        stream = watches.streams[reply["result"]]
        watches.start(_hand_over(stream, book, on_change))
        return partial(watches.end, stream)
    if reply["error"]["code"] not in UNKNOWN:
        raise Web3RPCError(reply["error"]["message"], rpc_response=reply)
    task = watches.start(_poll(w3, book, on_change, interval))

    async def end() -> None:
        # A task that ends itself goes on with what it has to do.
        asyncio.get_running_loop().call_soon(task.cancel)

    return end


async def _hand_over(stream: "Stream", book: Any, on_change: Callable[[Any], Awaitable[None]]) -> None:
    while (result := await stream.results.get()) is not None:
        if (change := book.take(result)) is not None:
            await on_change(change)


class Stream:
    """The results of one subscription that are not handed over yet."""

    def __init__(self, subscription: EthSubscription[Any]) -> None:
        self.subscription = subscription
        self.results = asyncio.Queue[Any](MAX_WAITING)
        """In their order; None is the end."""
        self._has_ended = False

    async def take(self, params: dict[str, Any]) -> None:
        """Take a notification, once there is room."""
        if not self._has_ended and "result" in params:
            await self.results.put(params["result"])

    def end(self) -> None:
        """Forget the results, and take no more."""
        self._has_ended = True
        while not self.results.empty():
            self.results.get_nowait()
        self.results.put_nowait(None)


class Watches:
    """The subscriptions of a connection whose messages do not go through web3's queues.

    web3 learns the name of a subscription some turns after it has read the reply. It passes what it reads
    meanwhile to `process_subscriptions()`, where another reader takes it. Here the name is known at once.
    """

    def __init__(self, w3: AsyncWeb3[Any]) -> None:
        self.streams: dict[str, Stream] = {}
        """By the names of the subscriptions."""
        self._manager = w3.subscription_manager
        self._provider: Any = w3.provider
        self._replies: dict[Any, tuple[str, asyncio.Future[Any]]] = {}
        """By the ids of requests, with their methods."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading: asyncio.Task[None] | None = None
        self._pass_on = self._queues.cache_raw_response
        self._queues.cache_raw_response = self._take

    @classmethod
    def of(cls, w3: AsyncWeb3[Any]) -> "Watches":
        """Return those of a connection."""
        taking: Any = w3.provider._request_processor.cache_raw_response  # type: ignore[attr-defined]
        return taking.__self__ if isinstance(taking.__self__, cls) else cls(w3)

    @property
    def _queues(self) -> Any:
        return self._provider._request_processor

    async def ask(self, method: str, *params: Any) -> dict[str, Any]:
        """Return the reply to a request.

        Raises:
            TimeExhausted: There is none in time.
            ProviderConnectionError: The connection has ended.
        """
        self._follow_reading()
        request = self._provider.form_request(method, list(params))
        reply = asyncio.get_running_loop().create_future()
        self._replies[request["id"]] = method, reply
        try:
            async with asyncio.timeout(self._provider.request_timeout):
                await self._provider.socket_send(self._provider.encode_rpc_dict(request))
                found: dict[str, Any] = await reply
                return found
        except TimeoutError:
            raise TimeExhausted(f"no reply to {method}") from None
        finally:
            self._replies.pop(request["id"], None)

    async def end(self, stream: Stream) -> None:
        """Unsubscribe, and hand over nothing more."""
        # What is full keeps everything from being read, the reply too.
        stream.end()
        subscription = stream.subscription
        await self.ask("eth_unsubscribe", subscription.id)
        if self.streams.pop(subscription.id, None) is not None:
            self._manager._remove_subscription(subscription)

    def start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Start a task, whose errors web3's loops over subscriptions raise."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)
        return task

    def _note_end(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            queues = self._queues
            for queue in (queues._subscription_response_queue, queues._handler_subscription_queue):
                with suppress(asyncio.QueueFull):
                    queue.put_nowait(error)

    async def _take(self, message: Any, subscription: bool = False) -> None:
        """Take a message that web3 has read, or pass it on."""
        if subscription:
            if (stream := self.streams.get(message["params"]["subscription"])) is not None:
                await stream.take(message["params"])
                return
        elif isinstance(message, dict) and message.get("id") in self._replies:
            method, reply = self._replies.pop(message["id"])
            if method == "eth_subscribe" and "result" in message:
                self._enter(message["result"])
            reply.set_result(message)
            return
        await self._pass_on(message, subscription=subscription)

    def _enter(self, name: str) -> None:
        # With web3's own subscriptions it is among those that `unsubscribe_all` ends.
        subscription = EthSubscription[Any]((name,), label=name)
        subscription._id, subscription.manager = name, self._manager  # type: ignore[assignment]
        self._manager._add_subscription(subscription)
        self.streams[name] = Stream(subscription)

    def _follow_reading(self) -> None:
        """Have everything end with the connection."""
        reading = self._provider._message_listener_task
        if reading is not self._reading and reading is not None:
            self._reading = reading
            reading.add_done_callback(self._note_end_of_reading)

    def _note_end_of_reading(self, _reading: "asyncio.Task[None]") -> None:
        for _method, reply in self._replies.values():
            if not reply.done():
                reply.set_exception(ProviderConnectionError("the connection has ended"))
        for stream in self.streams.values():
            stream.end()
        self.streams.clear()


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
