"""Transports of requests to a node: HTTP POST, and one WebSocket connection."""

import ssl
from http import HTTPStatus
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

import trio
import trio_websocket

from wsnode.untrusted.decoding import MalformedError, decode_json
from wsnode.upstream.address import shown
from wsnode.verify.posting import MAX_MESSAGE_BYTES, post, reason_of

ClientStream = trio.SocketStream | trio.SSLStream[trio.SocketStream]
MAX_OPENING = 10.0
MAX_CLOSING = 1.0


class RequestTransport(Protocol):
    """Transport of requests to a node, with a name for people. After a lost reply the next request may
    succeed.
    """

    @property
    def name(self) -> str: ...

    async def ask(self, request: str) -> str:
        """Return the reply to one request.

        Raises:
            OSError: There is no reply.
        """

    async def close(self) -> None: ...


class HttpTransport:
    """Transport with a POST for each request."""

    name = "HTTP"

    def __init__(self, url: str) -> None:
        self._url = url

    async def ask(self, request: str) -> str:
        return await trio.to_thread.run_sync(_post, self._url, request, abandon_on_cancel=True)

    async def close(self) -> None:
        """Do nothing, since no connection is kept."""


def _post(url: str, text: str) -> str:
    reply = post(url, text)
    if not reply.body and reply.status != HTTPStatus.OK:
        raise ConnectionError(f"the node answered HTTP {reply.status} without a body")
    return reply.body.decode(errors="replace")


class WebSocketTransport:
    """Transport over one WebSocket connection, opened by the first request and again after a loss; a refused
    one is not tried again.
    """

    name = "WebSocket"

    def __init__(self, url: str, nursery: trio.Nursery, most_bytes: int = MAX_MESSAGE_BYTES) -> None:
        """Connect to `url` in tasks of `nursery`; a message may have up to `most_bytes` bytes."""
        self._url = url
        self._nursery = nursery
        self._most_bytes = most_bytes
        self._connection: trio_websocket.WebSocketConnection | None = None
        self._refused: ConnectionError | None = None

    async def ask(self, request: str) -> str:
        """Return the next message that is no notification."""
        connection = self._connection or await self._connect()
        # If the request fails or is cancelled, the connection is dropped: a late reply must not be taken for
        # that of the next request.
        self._connection = None
        try:
            await connection.send_message(request)
            reply = await _reply(connection)
        except trio_websocket.ConnectionClosed as error:
            raise ConnectionError(f"the connection was closed: {error.reason}") from error
        self._connection = connection
        return reply

    async def close(self) -> None:
        """Close the connection, and wait at most 1 s for the node's answer."""
        if self._connection is not None:
            with trio.move_on_after(MAX_CLOSING):
                await self._connection.aclose()

    async def _connect(self) -> trio_websocket.WebSocketConnection:
        if self._refused is not None:
            raise self._refused
        try:
            with trio.fail_after(MAX_OPENING):
                connection: trio_websocket.WebSocketConnection = await self._nursery.start(
                    _hold, self._url, self._most_bytes
                )
        except trio.TooSlowError:
            self._refused = ConnectionError(f"cannot open a WebSocket connection within {MAX_OPENING:g} s")
        except ConnectionError as error:
            self._refused = error
        else:
            return connection
        raise self._refused


async def _hold(
    url: str, most_bytes: int, *, task_status: trio.TaskStatus[trio_websocket.WebSocketConnection]
) -> None:
    """Keep a connection in its own nursery, so that errors of a foreign node end only this connection."""
    opened = False
    parsed = urlsplit(url)
    stream = await _open(parsed)
    target = (parsed.path or "/") + (f"?{parsed.query}" if parsed.query else "")
    try:
        async with trio.open_nursery() as nursery:
            connection = await trio_websocket.wrap_client_stream(
                nursery, stream, parsed.netloc.rpartition("@")[2], target, max_message_size=most_bytes
            )
            opened = True
            task_status.started(connection)
    except ExceptionGroup as group:
        # An open connection reports errors to its callers itself.
        if not opened:
            raise ConnectionError(f"cannot open a WebSocket connection: {_reason(group)}") from group
    finally:
        await trio.aclose_forcefully(stream)


async def _open(url: SplitResult) -> ClientStream:
    secure, host = url.scheme == "wss", url.hostname or ""
    try:
        stream = await trio.open_tcp_stream(host, url.port or (443 if secure else 80))
        if not secure:
            return stream
        encrypted = trio.SSLStream(stream, ssl.create_default_context(), server_hostname=host)
        await encrypted.do_handshake()
    except trio.BrokenResourceError as error:
        await trio.aclose_forcefully(stream)
        raise ConnectionError(str(error.__cause__ or "the connection was closed")) from error
    except OSError as error:
        raise ConnectionError(f"{shown(url.geturl())}: {reason_of(error)}") from error
    return encrypted


def _reason(error: Exception) -> str:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, trio_websocket.ConnectionRejected):
        return f"HTTP status {error.status_code}"
    return str(error) or type(error).__name__


async def _reply(connection: trio_websocket.WebSocketConnection) -> str:
    while True:
        message = await connection.get_message()
        text = message if isinstance(message, str) else message.decode(errors="replace")
        if not _is_notification(text):
            return text


def _is_notification(text: str) -> bool:
    # Replies may be large, so only a text with `"method"` near its beginning is decoded.
    if '"method"' not in text[:200]:
        return False
    try:
        message = decode_json(text)
    except MalformedError:
        return False
    return isinstance(message, dict) and "method" in message and "id" not in message
