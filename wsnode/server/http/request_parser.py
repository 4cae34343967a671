"""Requests that are not plain, read by h11, and their responses."""

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from math import inf
from typing import Any

import h11
import trio

from wsnode.jsonrpc.errors import invalid_request
from wsnode.jsonrpc.work import pieces_of, size_of
from wsnode.server.access.request_errors import HttpRequestRefusedError
from wsnode.server.http.headers import Headers
from wsnode.server.http.responses import Response
from wsnode.server.limits import Limits


class ConnectionClosedError(Exception):
    """Error of a client that has disconnected, or does not continue in time."""


class RequestParser:
    """Parser of one request, and writer of its response."""

    def __init__(
        self,
        limits: Limits,
        receive: Callable[[float], Awaitable[bytes | None]],
        send: Callable[[Sequence[bytes]], Awaitable[None]],
        take_turns: Callable[[], Awaitable[None]],
    ) -> None:
        """Make a parser; `receive` waits for bytes until a time on trio's clock, and then returns None."""
        self._limits = limits
        self._receive = receive
        self._send = send
        self._take_turns = take_turns
        self._parser = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.head_bytes)
        self.unread = 0
        """Number of bytes handed to h11 before it needed them."""
        self._given = 0
        self._is_head = False
        """True if the request is HEAD, so that the response has no body."""

    async def read_head(self) -> h11.Request:
        """Return the request without its body.

        Raises:
            h11.RemoteProtocolError: The bytes are no request.
            ConnectionClosedError: The client has disconnected, or was silent for too long.
        """
        request = await self._next_event()
        if not isinstance(request, h11.Request):
            raise ConnectionClosedError
        self._is_head = request.method == b"HEAD"
        return request

    def check_head(self) -> None:
        """Check the size of a parsed head, because h11 bounds only incomplete heads.

        Raises:
            HttpRequestRefusedError: The head is too large (431).
        """
        if self._given - len(self.rest) > self._limits.head_bytes:
            raise HttpRequestRefusedError(431, invalid_request("header fields too large"))

    def check_length(self, headers: Headers) -> None:
        """Check the declared length of the body, if there is one.

        Raises:
            HttpRequestRefusedError: The length is too large (413).
        """
        declared, limit = headers.first("content-length"), self._limits.body_bytes
        if declared and int(declared) > limit:
            raise _too_large(declared, limit)

    async def read_body(self, hold: Callable[[int], None]) -> bytes:
        """Return the body; `hold` is called with the number of its bytes that have arrived.

        Raises:
            HttpRequestRefusedError: The body is too large (413), or does not arrive in time (408).
            ConnectionClosedError: The client has disconnected, or was silent for too long.
        """
        limit, deadline = self._limits.body_bytes, trio.current_time() + self._limits.body_seconds
        # The body is joined while it arrives, because it may come in chunks of one byte, each of which would
        # be an object.
        body = bytearray()
        self.unread = 0
        try:
            while isinstance(event := await self._next_event(deadline), h11.Data):
                body += event.data
                if len(body) > limit:
                    raise _too_large(len(body), limit)
                hold(len(body))
        finally:
            # The bytes that the parser still has arrived after the body.
            self.unread = len(self.rest)
        if not isinstance(event, h11.EndOfMessage):
            raise ConnectionClosedError
        return bytes(body)

    async def _next_event(self, until: float = inf) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the parser's next event.

        Raises:
            HttpRequestRefusedError: The request is incomplete at the time `until`.
            ConnectionClosedError: The client was silent for too long, or has disconnected.
        """
        await self._take_turns()
        if (event := self._parser.next_event()) is not h11.NEED_DATA:
            return event
        deadline = min(trio.current_time() + self._limits.idle_seconds, until)
        while (event := self._parser.next_event()) is h11.NEED_DATA:
            if self._parser.they_are_waiting_for_100_continue:
                go_ahead = h11.InformationalResponse(status_code=100, headers=[])
                await self._send([self._parser.send(go_ahead) or b""])
            if (data := await self._receive(deadline)) is None:
                if deadline == until:
                    raise HttpRequestRefusedError(408, invalid_request("read timeout"))
                raise ConnectionClosedError
            self._given += len(data)
            self._parser.receive_data(data)
        return event

    @property
    def may_respond(self) -> bool:
        return self._parser.our_state in (h11.IDLE, h11.SEND_RESPONSE)

    @property
    def is_done(self) -> bool:
        """Return True if another request may follow, False if part of a refused body was not read."""
        return bool(self._parser.states == {h11.SERVER: h11.DONE, h11.CLIENT: h11.DONE})

    @property
    def rest(self) -> bytes:
        """Return the bytes received after the request."""
        return bytes(self._parser.trailing_data[0])

    def serialize(self, response: Response, *, last: bool) -> Sequence[bytes]:
        """Return the pieces of the response; the `last` one of a connection announces its end."""
        headers = [*response.headers.items()]
        # A 304 has no body, and its Content-Length would be that of a 200 (RFC 9110, section 8.6).
        if response.status != HTTPStatus.NOT_MODIFIED:
            headers.insert(0, ("Content-Length", str(size_of(response.body))))
        if response.body:
            headers.append(("Content-Type", response.content_type))
        if self._parser.their_state is not h11.DONE or last:
            headers.append(("Connection", "close"))
        reason = HTTPStatus(response.status).phrase
        event = h11.Response(status_code=response.status, headers=headers, reason=reason.encode())
        pieces = [self._parser.send(event) or b""]
        if response.body and not self._is_head:
            # h11 only counts the bytes, at 4 microseconds a piece, of which there may be thousands.
            counted: Any = _Length(size_of(response.body))
            self._parser.send_with_data_passthrough(h11.Data(data=counted))
            pieces += pieces_of(response.body)
        pieces.append(self._parser.send(h11.EndOfMessage()) or b"")
        return pieces


class _Length:
    """Object with a length and no bytes, in place of a body: the HTTP parser only counts the body's bytes."""

    __slots__ = ("_size",)

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size


def _too_large(size: int | str, limit: int) -> HttpRequestRefusedError:
    return HttpRequestRefusedError(413, invalid_request(f"content length too large ({size}>{limit})"))


def reason_of(error: h11.RemoteProtocolError) -> str:
    """Return the reason of a parser's error without the bytes behind its colon, which may hold a key."""
    return str(error).partition(":")[0]
