"""How a request reaches a node: HTTP POST, and one WebSocket connection."""

import http.client
import json
import urllib.error
import urllib.request
from typing import Protocol

import trio
import trio_websocket

LARGEST_MESSAGE = 1 << 30
LONGEST_CLOSING = 1.0
# Straight to the node, as the WebSocket connection goes.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Transport(Protocol):
    """Asks a node; what is lost is an `OSError`, and the next request may be tried all the same."""

    @property
    def name(self) -> str:
        """Return what people call it."""

    async def ask(self, request: str) -> str:
        """Return the reply to one request.

        Raises:
            OSError: There is none.
        """

    async def close(self) -> None:
        """End it."""


class HttpTransport:
    """A POST for each request."""

    name = "HTTP"

    def __init__(self, url: str) -> None:
        self._url = url

    async def ask(self, request: str) -> str:
        """Return the body of the reply, whatever its status."""
        return await trio.to_thread.run_sync(_post, self._url, request, abandon_on_cancel=True)

    async def close(self) -> None:
        """Have nothing to end."""


def _post(url: str, text: str) -> str:
    request = urllib.request.Request(url, text.encode(), {"Content-Type": "application/json"})
    try:
        with _OPENER.open(request) as reply:
            body: bytes = reply.read()
    except urllib.error.HTTPError as error:
        # A JSON-RPC error may come with any status.
        with error:
            body = error.read()
        if not body:
            raise ConnectionError(f"HTTP status {error.code}") from None
    except urllib.error.URLError as error:
        raise ConnectionError(str(error.reason)) from error
    except http.client.HTTPException as error:
        raise ConnectionError(f"no HTTP reply: {error!r}") from error
    return body.decode(errors="replace")


class SocketTransport:
    """One connection, opened at the first request and again after it is lost."""

    name = "WebSocket"

    def __init__(self, url: str, nursery: trio.Nursery) -> None:
        self._url = url
        self._nursery = nursery
        self._connection: trio_websocket.WebSocketConnection | None = None

    async def ask(self, request: str) -> str:
        """Return the next message that is no notification."""
        connection = self._connection or await self._connect()
        # Whatever happens now, a late reply must not be taken for that of the next request.
        self._connection = None
        try:
            await connection.send_message(request)
            reply = await _reply(connection)
        except trio_websocket.ConnectionClosed as error:
            raise ConnectionError(f"the connection was closed: {error.reason}") from error
        self._connection = connection
        return reply

    async def close(self) -> None:
        """Say goodbye, without insisting on an answer."""
        if self._connection is not None:
            with trio.move_on_after(LONGEST_CLOSING):
                await self._connection.aclose()

    async def _connect(self) -> trio_websocket.WebSocketConnection:
        try:
            return await trio_websocket.connect_websocket_url(
                self._nursery, self._url, max_message_size=LARGEST_MESSAGE, receive_buffer_size=1 << 16
            )
        except trio_websocket.ConnectionRejected as error:
            raise ConnectionError(f"no WebSocket: HTTP status {error.status_code}") from error
        except trio_websocket.HandshakeError as error:
            raise ConnectionError(f"no WebSocket: {error!r}") from error


async def _reply(connection: trio_websocket.WebSocketConnection) -> str:
    while True:
        message = await connection.get_message()
        text = message if isinstance(message, str) else message.decode(errors="replace")
        if not _is_notification(text):
            return text


def _is_notification(text: str) -> bool:
    # Replies may be large, and only what says so at its beginning is looked at whole.
    if '"method"' not in text[:200]:
        return False
    try:
        message = json.loads(text)
    except ValueError:
        return False
    return isinstance(message, dict) and "method" in message and "id" not in message
