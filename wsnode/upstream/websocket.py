"""Calls and subscriptions over one WebSocket connection."""

import itertools
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias, cast

import trio
from trio_websocket import ConnectionClosed, HandshakeError, WebSocketConnection, wrap_client_stream
from wsproto.utilities import ProtocolError

from wsnode.untrusted.decoding import MalformedError
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.errors import ConnectionLostError, UpstreamError, UpstreamRefusedError
from wsnode.upstream.link import CONNECTING_SECONDS, MESSAGE_BYTES, Connect, OnEvent, words_for
from wsnode.upstream.messages import (
    ETH_SUBSCRIBE,
    Params,
    UpstreamMessage,
    decode_batch,
    decode_event,
    decode_identity,
    encode_batch,
    encode_call,
    result_of,
    result_or_refusal,
)
from wsnode.upstream.metering import ExcessiveWorkError, MeteredStream

PING_SECONDS: Final = 20.0
PONG_SECONDS: Final = 10.0
RECEIVE_BYTES: Final = 1 << 17
"""Bytes of one read: blocks have megabytes, and each read costs an iteration of the event loop."""

OnMalformed: TypeAlias = Callable[[], None]
"""Callback for a message that is malformed or breaks a bound; it counts against the upstream."""

logger = logging.getLogger("wsnode.upstream")


class PendingRequest:
    """Call that waits for its reply; `on_event` gets the events if it makes a subscription."""

    def __init__(self, on_event: OnEvent | None) -> None:
        self.on_event = on_event
        self.is_over = trio.Event()
        self.reply: UpstreamMessage | None = None
        """The reply; None if the connection was lost."""

    def end(self, reply: UpstreamMessage | None) -> None:
        self.reply = reply
        self.is_over.set()


class WebSocketLink:
    """Link over one connection, from its handshake to its end."""

    def __init__(
        self, name: str, connection: WebSocketConnection, scope: trio.CancelScope, on_malformed: OnMalformed
    ) -> None:
        self._on_malformed = on_malformed
        self.ended = trio.Event()
        self.heard = 0
        self._name = name
        self._connection = connection
        self._scope = scope
        self._questions: dict[int, PendingRequest] = {}
        self._batched: set[int] = set()
        """Ids of the calls that were sent in batches."""
        self._listeners: dict[str, OnEvent] = {}
        self._numbers = itertools.count(1)

    async def ask(self, method: str, params: Params) -> bytes:
        return await self._ask(method, params, None)

    async def subscribe(self, params: Params, on_event: OnEvent, method: str = ETH_SUBSCRIBE) -> None:
        await self._ask(method, params, on_event)

    async def _ask(self, method: str, params: Params, on_event: OnEvent | None) -> bytes:
        number = next(self._numbers)
        (reply,) = await self._exchanged(
            {number: PendingRequest(on_event)}, encode_call(number, method, params)
        )
        return result_of(reply)

    async def ask_all(self, method: str, calls: Sequence[list[Any]]) -> list[bytes | UpstreamRefusedError]:
        numbered = {next(self._numbers): params for params in calls}
        self._batched.update(numbered)
        try:
            questions = {number: PendingRequest(None) for number in numbered}
            replies = await self._exchanged(questions, encode_batch(method, numbered))
        finally:
            self._batched.difference_update(numbered)
        if all(reply.id is None for reply in replies):
            # Replies without an id are one error for the whole batch, which `result_of` raises.
            result_of(replies[0])
        return [result_or_refusal(reply) for reply in replies]

    async def _exchanged(self, questions: dict[int, PendingRequest], text: bytes) -> list[UpstreamMessage]:
        """Send calls in one text, and return the replies in the order of `questions`.

        Raises:
            ConnectionLostError: The connection ended.
        """
        self._questions |= questions
        try:
            with suppress(ConnectionClosed, trio.BrokenResourceError):
                await self._connection.send_message(text.decode())
                if not self.ended.is_set():
                    for question in questions.values():
                        if not question.is_over.is_set():
                            await question.is_over.wait()
        finally:
            for number in questions:
                del self._questions[number]
        replies = [question.reply for question in questions.values() if question.reply is not None]
        if len(replies) < len(questions):
            # `run` may notice the loss a moment later, and the next question must open another connection.
            self.ended.set()
            raise ConnectionLostError
        return replies

    def drop(self) -> None:
        self._scope.cancel()

    async def run(self) -> None:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._stay_awake)
                await self._hear()
                nursery.cancel_scope.cancel()
        finally:
            self.ended.set()
            for question in self._questions.values():
                question.end(None)

    async def _hear(self) -> None:
        try:
            with suppress(ConnectionClosed):
                while True:
                    self._take(await self._connection.get_message())
        except (MalformedError, UpstreamError) as error:
            logger.warning(
                "%s sent a message that is not JSON-RPC; the connection is ended: %s", self._name, error
            )
            self._on_malformed()

    async def _stay_awake(self) -> None:
        """Send a ping every `PING_SECONDS`: to detect a dead connection, and to keep an idle one open."""
        while True:
            await trio.sleep(PING_SECONDS)
            with trio.move_on_after(PONG_SECONDS) as waiting, suppress(ConnectionClosed):
                await self._connection.ping()
            if waiting.cancelled_caught:
                logger.warning(
                    "%s answered no ping within %g s; the connection is ended", self._name, PONG_SECONDS
                )
                self.drop()

    def _take(self, text: str | bytes) -> None:
        self.heard += 1
        for message in decode_batch(text):
            self._take_one(message)

    def _take_one(self, message: UpstreamMessage) -> None:
        if message.method is not None:
            self._tell(message)
        elif message.id is None and message.error is not None:
            # The upstream refuses a batch without naming it, so all open batches end with this error.
            for number in self._batched & self._questions.keys():
                self._questions[number].end(message)
        # A late reply has no waiting task.
        elif isinstance(message.id, int) and (question := self._questions.get(message.id)) is not None:
            if question.on_event is not None and message.error is None:
                # The listener is registered here and not by the waiting task, because the first event may
                # directly follow this reply.
                self._listeners[decode_identity(message)] = question.on_event
            question.end(message)

    def _tell(self, message: UpstreamMessage) -> None:
        event = decode_event(message)
        if (listener := self._listeners.get(event.identity)) is not None:
            listener(bytes(event.result))


async def converse(
    address: UpstreamAddress,
    connect: Connect,
    *,
    on_malformed: OnMalformed,
    task_status: trio.TaskStatus[WebSocketLink | None],
) -> None:
    """Hold a connection until it ends; report its link as started, or None if it cannot be opened.

    `on_malformed` is called if a message of the upstream ends the connection.
    """
    opened: list[WebSocketLink] = []

    def tell(link: WebSocketLink) -> None:
        opened.append(link)
        task_status.started(link)

    try:
        with trio.CancelScope() as scope:
            await _hold(address, connect, scope, tell, on_malformed)
    # A refused handshake is raised by the library's task in the nursery, so in a group.
    except* (OSError, trio.BrokenResourceError, trio.TooSlowError) as errors:
        logger.warning("%s cannot be reached: %s", address, words_for(errors))
    except* (HandshakeError, ConnectionClosed, ProtocolError) as errors:
        # The library raises ProtocolError if a ping coincides with a close that has begun.
        logger.warning("%s refuses the connection: %s", address, _why(first_of(errors)))
    except* Exception:
        # Any failure caused by a foreign host ends this connection and not the node.
        logger.exception("the connection to %s failed", address)
    if not opened:
        task_status.started(None)


async def _hold(
    address: UpstreamAddress,
    connect: Connect,
    scope: trio.CancelScope,
    tell: Callable[[WebSocketLink], None],
    on_malformed: OnMalformed,
) -> None:
    def refuse(excess: ExcessiveWorkError) -> None:
        logger.warning("%s sent %s; the connection is ended", address, excess)
        on_malformed()

    headers = [] if address.authorization is None else [(b"Authorization", address.authorization.encode())]
    with trio.fail_after(CONNECTING_SECONDS):
        stream = MeteredStream(await connect(address), refuse)
    async with stream, trio.open_nursery() as nursery:
        with trio.fail_after(CONNECTING_SECONDS):
            connection = await wrap_client_stream(
                nursery,
                # wrap_client_stream accepts any stream; its annotation names only the types that the library
                # opens itself.
                cast(trio.SocketStream, stream),
                address.host_header,
                address.resource,
                extra_headers=headers,
                max_message_size=MESSAGE_BYTES,
                receive_buffer_size=RECEIVE_BYTES,
            )
        link = WebSocketLink(str(address), connection, scope, on_malformed)
        tell(link)
        await link.run()
        with trio.move_on_after(1):
            await connection.aclose()
        nursery.cancel_scope.cancel()


def first_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception in a group of groups."""
    first = errors.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first


def _why(error: BaseException) -> str:
    status = getattr(error, "status_code", None)
    return type(error).__name__ if status is None else f"HTTP {status}"
