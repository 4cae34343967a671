"""A partner provider, asked over one WebSocket connection: opened when first needed, and again when lost."""

import itertools
import logging
import ssl
from contextlib import suppress
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import msgspec
import trio
from trio_websocket import ConnectionClosed, HandshakeError, WebSocketConnection, wrap_client_stream

from wsnode.upstream.errors import PartnerError

SECONDS: Final = 5.0
QUESTIONS_AT_ONCE: Final = 1000
# A transaction's input is bounded by the gas of a block: a few megabytes, twice that in hex.
MESSAGE_BYTES: Final = 16 << 20

logger = logging.getLogger("wsnode.partner")


class Reply(msgspec.Struct):
    """What of a JSON-RPC reply counts."""

    id: int
    result: Any = None
    error: Any = None


class Question:
    """Waits for its reply on one connection."""

    def __init__(self, connection: WebSocketConnection) -> None:
        self.connection = connection
        self.is_over = trio.Event()
        self.reply: Reply | None = None
        """Nothing, if the connection was lost."""

    def end(self, reply: Reply | None) -> None:
        """Wake whoever waits."""
        self.reply = reply
        self.is_over.set()


class Partner:
    """Asks a provider; `run` must be running."""

    def __init__(self, url: str, *, seconds: float = SECONDS, tls: ssl.SSLContext | None = None) -> None:
        """Without `tls`, a wss:// URL is trusted as the system's certificates are."""
        self._place = urlsplit(url)
        self._tls = tls
        self._seconds = seconds
        self._nursery: trio.Nursery | None = None
        self._connection: WebSocketConnection | None = None
        self._hearing = trio.CancelScope()
        self._replies = 0
        self._connecting = trio.Lock()
        self._questions: dict[int, Question] = {}
        self._numbers = itertools.count(1)

    def __str__(self) -> str:
        # The path may hold a key, and so may what stands before the host: neither is ever shown.
        return f"{self._place.scheme}://{self._place.netloc.rpartition('@')[2]}"

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep the connection, for ever."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            await trio.sleep_forever()

    async def ask(self, method: str, params: list[Any]) -> Any:
        """Return the result of a call.

        Raises:
            PartnerError: There is none, within the seconds that it may take.
        """
        replies = self._replies
        try:
            with trio.fail_after(self._seconds):
                return await self._ask(method, params)
        except trio.TooSlowError:
            if self._replies == replies:
                # Nothing at all was heard, so the connection may be dead: the next question opens another.
                self._connection = None
                self._hearing.cancel()
            logger.warning("%s: no answer to %s within %g s", self, method, self._seconds)
            raise PartnerError("timeout") from None

    async def _ask(self, method: str, params: list[Any]) -> Any:
        if len(self._questions) >= QUESTIONS_AT_ONCE:
            raise PartnerError("busy")
        question, number = Question(await self._connected()), next(self._numbers)
        self._questions[number] = question
        try:
            call = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            with suppress(ConnectionClosed):
                await question.connection.send_message(msgspec.json.encode(call).decode())
                await question.is_over.wait()
        finally:
            del self._questions[number]
        if question.reply is None:
            raise PartnerError("unreachable")
        if question.reply.error is not None:
            logger.warning("%s refuses %s: %.200s", self, method, question.reply.error)
            raise PartnerError("refused")
        return question.reply.result

    async def _connected(self) -> WebSocketConnection:
        assert self._nursery is not None, "run is running"
        async with self._connecting:
            if self._connection is None or self._connection.closed is not None:
                self._connection = await self._nursery.start(self._converse)
            if self._connection is None:
                raise PartnerError("unreachable")
            return self._connection

    async def _converse(self, task_status: trio.TaskStatus[WebSocketConnection | None]) -> None:
        """Hold a connection until it ends; tell that it is open, or by None that it cannot be."""
        connection: WebSocketConnection | None = None
        try:
            async with await open_stream(self._place, self._tls) as stream, trio.open_nursery() as nursery:
                host = self._place.netloc.rpartition("@")[2]
                connection = await wrap_client_stream(
                    nursery, stream, host, resource(self._place), max_message_size=MESSAGE_BYTES
                )
                with trio.CancelScope() as self._hearing:
                    task_status.started(connection)
                    await self._hear(connection)
                self._lose(connection)
                with trio.move_on_after(1):
                    await connection.aclose()
                nursery.cancel_scope.cancel()
        # A refused handshake is raised by the library's task in the nursery, so in a group.
        except* (OSError, trio.BrokenResourceError, HandshakeError, ConnectionClosed) as errors:
            logger.warning("%s cannot be reached: %s", self, type(errors.exceptions[0]).__name__)
        except* Exception:
            # Whatever a foreign host brings about, it ends this connection and not the node.
            logger.exception("the connection to %s failed", self)
        if connection is None:
            task_status.started(None)
        else:
            self._lose(connection)

    async def _hear(self, connection: WebSocketConnection) -> None:
        """Hand replies to their questions until the connection ends."""
        try:
            with suppress(ConnectionClosed):
                while True:
                    self._take(await connection.get_message())
        except msgspec.DecodeError:
            logger.warning("%s says what is not JSON-RPC", self)

    def _lose(self, connection: WebSocketConnection) -> None:
        if self._connection is connection:
            self._connection = None
        for question in self._questions.values():
            if question.connection is connection:
                question.end(None)

    def _take(self, message: str | bytes) -> None:
        self._replies += 1
        reply = msgspec.json.decode(message, type=Reply)
        # Nobody waits any more for what comes too late.
        if (question := self._questions.get(reply.id)) is not None:
            question.end(reply)


async def open_stream(
    place: SplitResult, tls: ssl.SSLContext | None
) -> "trio.SocketStream | trio.SSLStream[trio.SocketStream]":
    """Return a connection to the host of a WebSocket URL, encrypted if it says so.

    Raises:
        OSError, BrokenResourceError: There is none.
    """
    host = place.hostname or ""
    if place.scheme == "wss":
        port = place.port or 443
        stream = await trio.open_ssl_over_tcp_stream(host, port, https_compatible=True, ssl_context=tls)
        # Here rather than with the first bytes, or a certificate that is not trusted would look like silence.
        try:
            await stream.do_handshake()
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise
        return stream
    return await trio.open_tcp_stream(host, place.port or 80)


def resource(place: SplitResult) -> str:
    """Return what a URL asks its host for."""
    return f"{place.path or '/'}{'?' if place.query else ''}{place.query}"
