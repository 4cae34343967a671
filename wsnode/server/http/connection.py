"""HTTP/1.1 requests on one connection, one after another: JSON-RPC by POST, pages and files by GET.

`quick_post` reads plain requests that have arrived whole, h11 all others, one or the other for each request.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, TypeVar

import h11
import trio

from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import invalid_request, limit_exceeded
from wsnode.jsonrpc.fast_path import FastPath
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.jsonrpc.work import CallMaker, CallTask, Reply, size_of
from wsnode.server.access.api_keys import Admission
from wsnode.server.access.request_errors import HttpRequestRefusedError, bad_request, try_later
from wsnode.server.access.router import (
    HEAD_HEADER,
    MIN_BLOCK_HEADER,
    RequestTarget,
    Route,
    arrival_of,
    target_of,
)
from wsnode.server.http.content import INFLATED_AT_ONCE, BadContentError, decode_body, encode_body
from wsnode.server.http.fast_request import FastPost, RepeatedPost, quick_post
from wsnode.server.http.headers import (
    Headers,
    Upgrade,
    cross_origin,
    head_size,
    headers_of,
    is_no_request,
    wants_websocket,
)
from wsnode.server.http.request_parser import ConnectionClosedError, RequestParser, reason_of
from wsnode.server.http.responses import Response, refused, serialize
from wsnode.server.http.service import METHODS, Service
from wsnode.server.limits import Limits
from wsnode.server.scheduling.client_quota import ClientQuota
from wsnode.server.scheduling.executor import too_many_calls
from wsnode.server.scheduling.fair_limiter import first_turn
from wsnode.server.scheduling.memory_quota import GUARANTEED_BYTES
from wsnode.server.transport.transport import (
    PARCEL_BYTES,
    Transport,
    coalesce,
    linger,
    receive_by,
    receive_within,
    send_all,
)

T = TypeVar("T")

READ_AHEAD_BYTES = 64 * 1024


class HttpConnection:
    """HTTP connection, until it ends or asks for WebSocket."""

    def __init__(self, transport: Transport, service: Service, client: ClientId | None = None) -> None:
        self._transport = transport
        self.client = ClientId() if client is None else client
        """Client for which its use of shared bounds is counted."""
        self._service = service
        self._ahead = b""
        """Bytes that have arrived and are not parsed."""
        self._parser: RequestParser | None = None
        """Parser of the request in progress; None while there is none, and for plain requests."""
        self._patience: trio.CancelScope | None = None
        """Scope of reading a body, or of a slow call; None outside both."""
        self._has_given_up = False
        """True after `evict`; no further request is served."""
        self._owes = False
        """True if `evict` dropped requests and the client has received no error for them yet."""
        self._turn_began = 0.0
        """Time at which this connection's turn began."""
        self._turn_seconds: float | None = None
        """Length of the turn in seconds; None for the first, whose length depends on other connections."""
        self._upgrade: Upgrade | None = None
        """Request for WebSocket that ended the HTTP part of the connection."""
        self._fast_path: tuple[tuple[Dispatcher, bool], FastPath | None] | None = None
        """Fast path, with its dispatcher and the form of its replies; None before the first body."""
        self._repeated: RepeatedPost | None = None
        """Last plain request, if its head alone decides its route."""
        self._asked = 0
        """Number of requests served since the connection last waited for bytes."""

    def evict(self) -> None:
        """Refuse the requests in progress, because this connection keeps the most bytes."""
        self._has_given_up = True
        self._owes = bool(self._ahead)
        self._ahead = b""
        if self._patience is not None:
            self._patience.cancel()

    @property
    def _limits(self) -> Limits:
        return self._service.shared.limits

    async def run(self, data: bytes) -> Upgrade | None:
        """Serve requests, beginning with the bytes `data`, until either side ends the connection.

        Returns the request for WebSocket, with an open transport, or None if the connection has ended.
        """
        self._ahead = data
        self._begin_serving()
        try:
            while await self._serve_next() and not self._service.shared.draining:
                pass
        except ConnectionClosedError:
            return None
        finally:
            self._service.shared.counters.http_serving -= 1
            self._service.shared.received.hold(self, 0)
        if self._upgrade is not None:
            return self._upgrade
        await linger(self._transport, self._limits.close_seconds)
        return None

    def _begin_serving(self) -> None:
        self._service.shared.counters.http_serving += 1
        self._turn_began, self._turn_seconds = perf_counter(), None

    async def _serve_next(self) -> bool:
        """Serve one request; return True if another may follow."""
        if self._asked > 1 or (self._asked and self._ahead):
            self._hold()
        if self._ahead:
            await self._take_turns()
        elif not self._has_given_up:
            self._ahead = await self._next_bytes()
            self._asked = 0
        if self._has_given_up:
            return (self._owes or bool(self._ahead)) and await self._say_given_up()
        self._asked += 1
        limits = self._limits
        if self._repeated is not None and (body := self._take_body(self._repeated)) is not None:
            return await self._serve_repeated(self._repeated, body)
        if (quick := quick_post(self._ahead, limits.body_bytes, limits.head_bytes)) is None:
            self._upgrade = await self._asked_upgrade()
            return self._upgrade is None and await self._serve_with_parser()
        return await self._send_last_or_not(await self._answer_quick(quick))

    async def _send_last_or_not(self, response: Response) -> bool:
        self._count(response)
        is_last = self._is_last
        await self._send_all(serialize(response, last=is_last))
        return not is_last

    def _take_body(self, repeated: RepeatedPost) -> bytes | None:
        """Remove a request like the one before and return its body; None for any other request."""
        limits = self._limits
        if (found := repeated.body_range(self._ahead, limits.body_bytes, limits.head_bytes)) is None:
            return None
        begin, end = found
        body, self._ahead = self._ahead[begin:end], self._ahead[end:]
        return body

    async def _serve_repeated(self, repeated: RepeatedPost, body: bytes) -> bool:
        """Answer a request like the one before; return True if another may follow."""
        shared = self._service.shared
        answered = self._try_fast_path(repeated.route, repeated.fast_path, body)
        # While other clients are slow to read, the reply has to be counted, and a long one may have to be
        # compressed. Both happen in `_answer_repeated`.
        most = min(GUARANTEED_BYTES, self._limits.deflate_bytes - 1)
        if answered is None or len(answered[0]) > most or shared.waiting.used or self._is_last:
            return await self._send_last_or_not(await self._answer_repeated(repeated, body, answered))
        shared.counters.http_requests += 1
        await self._send_all((repeated.response(*answered),))
        return True

    async def _answer_repeated(
        self, repeated: RepeatedPost, body: bytes, answered: tuple[Reply, Any] | None
    ) -> Response:
        try:
            answered = answered or await self._handle(repeated.route, None, body)
            return await self._response(repeated.route, repeated.headers, repeated.shared, answered)
        except HttpRequestRefusedError as refusal:
            return self._service.refused(refusal, repeated.headers)

    @property
    def _is_last(self) -> bool:
        """Return True if the connection ends after this response."""
        return self._service.shared.draining or self._has_given_up

    def _hold(self, size: int = 0) -> None:
        """Count the kept bytes: `size` bytes of a request, and those that have arrived after it."""
        with_parser = 0 if self._parser is None else self._parser.unread
        self._service.shared.received.hold(self, size + with_parser + len(self._ahead))

    async def _say_given_up(self) -> bool:
        error = limit_exceeded("too many bytes of unanswered requests, try again")
        response = refused(try_later(503, error))
        self._count(response)
        await self._send_all(serialize(response, last=self._is_last))
        return False

    async def _asked_upgrade(self) -> Upgrade | None:
        """Return the next request if it asks for WebSocket, None for any other request.

        Any request of a connection may ask (RFC 9110, section 7.8): proxies send handshakes on connections
        that they have kept. The parser refuses bytes without a head within its bound.
        """
        searched, deadline = 0, trio.current_time() + self._limits.idle_seconds
        while (size := head_size(self._ahead, searched)) is None:
            if len(self._ahead) > self._limits.head_bytes or is_no_request(self._ahead):
                return None
            searched = len(self._ahead)
            if not (data := await receive_by(self._transport, deadline)):
                raise ConnectionClosedError
            self._ahead += data
        if size > self._limits.head_bytes or not wants_websocket(self._ahead[:size]):
            return None
        return Upgrade(self._ahead[:size], self._ahead[size:])

    async def _answer_quick(self, quick: FastPost) -> Response:
        head = self._ahead[: quick.size - len(quick.body)]
        self._ahead = self._ahead[quick.size :]
        headers = Headers(list(quick.headers.items()))
        try:
            target = RequestTarget(headers.only("host"), quick.target)
            return await self._answer(
                self._service.post_route(headers, target, self.client), headers, quick.body, head
            )
        except HttpRequestRefusedError as refusal:
            return self._service.refused(refusal, headers)

    async def _serve_with_parser(self) -> bool:
        receive, send = self._receive_for_parser, self._send_all
        parser = self._parser = RequestParser(self._limits, receive, send, self._take_turns)
        headers = Headers([])
        try:
            request = await parser.read_head()
            headers = headers_of(request)
            parser.check_head()
            response = await self._respond(request, parser, headers)
        except h11.RemoteProtocolError as error:
            refusal = HttpRequestRefusedError(error.error_status_hint, invalid_request(reason_of(error)))
            response = self._service.refused(refusal, headers)
        except HttpRequestRefusedError as refusal:
            response = self._service.refused(refusal, headers)
        if not parser.may_respond:
            raise ConnectionClosedError
        self._count(response)
        await self._send_all(parser.serialize(response, last=self._is_last))
        self._ahead, self._parser = parser.rest + self._ahead, None
        return parser.is_done

    def _count(self, response: Response) -> None:
        counters = self._service.shared.counters
        counters.http_requests += 1
        if response.status >= 400:
            counters.refusals[response.status] += 1

    async def _receive_for_parser(self, deadline: float) -> bytes | None:
        """Return the bytes not parsed yet, else the next received ones; None after the deadline."""
        if (data := self._ahead) and self._parser is not None:
            self._parser.unread += len(data)
            self._ahead = b""
            return data
        return await receive_by(self._transport, deadline)

    async def _respond(self, request: h11.Request, parser: RequestParser, headers: Headers) -> Response:
        method = request.method.decode()
        target = target_of(headers.only("host"), request.target.decode("ascii", errors="replace"))
        if headers.count("transfer-encoding") and headers.count("content-length"):
            raise bad_request("a body has one length")
        if method in ("GET", "HEAD"):
            await self._read_body(parser, headers)
            return await self._service.page(headers, target, self.client)
        if method == "OPTIONS":
            await self._read_body(parser, headers)
            return self._service.options(headers, target, self.client)
        if method != "POST":
            raise HttpRequestRefusedError(405, invalid_request("method not allowed"), {"Allow": METHODS})
        route = self._service.post_route(headers, target, self.client)
        return await self._answer(route, headers, await self._read_body(parser, headers))

    async def _answer(
        self, route: Route, headers: Headers, body: bytes, head: bytes | None = None
    ) -> Response:
        """Return the response to a request; `head` is the head of a plain request, None for any other."""
        shared = cross_origin(headers, route.caller, self._service.router.origin_policy)
        encoding = headers.first("content-encoding").strip().lower()
        is_encoded = encoding not in ("", "identity")
        if is_encoded:
            body = await self._decoded(body, encoding, route.caller.client)
        if not body:
            return Response(200, headers=shared)
        demanded = headers.only(MIN_BLOCK_HEADER)
        # The request waits for a block that may not arrive in time.
        if demanded and (refusal := await self._while_there(arrival_of(route, demanded))) is not None:
            raise refusal
        api_key = route.caller.api_key
        admission = None if api_key is None else Admission(api_key)
        fast_path = self._fast_path_of(route)
        if head is not None and not (is_encoded or demanded):
            self._repeated = RepeatedPost.of(head, headers, route, shared, fast_path)
        answered: tuple[Reply, Any] | None = self._try_fast_path(route, fast_path, body)
        answered = answered or await self._handle(route, admission, body)
        response = await self._response(route, headers, shared, answered)
        if admission is not None and (seconds := admission.retry_after) is not None:
            headers_of_reply = {**response.headers, "Retry-After": str(seconds)}
            return Response(429, response.body, headers=headers_of_reply)
        return response

    async def _response(
        self, route: Route, headers: Headers, shared: Mapping[str, str], answered: tuple[Reply, Any]
    ) -> Response:
        """Return the response with a reply; raise a refusal (503) if too many replies wait to be read."""
        answer, moment = answered
        size = size_of(answer)
        if not self._service.shared.waiting.allows(self.client, size):
            error = limit_exceeded("too many bytes of replies wait to be read, try again")
            raise try_later(503, error)
        reply, headers_of_reply = answer, dict(shared)
        if size >= self._limits.deflate_bytes:
            with self._service.shared.waiting.counted(self.client, size):
                reply, encoded = await encode_body(
                    answer,
                    headers.first("accept-encoding"),
                    self._limits,
                    self._service.shared.executor.short_work,
                    route.caller.client,
                )
            headers_of_reply |= encoded
        if route.barrier is not None:
            headers_of_reply[HEAD_HEADER] = route.barrier.written(moment)
        return Response(200, reply, headers=headers_of_reply)

    def _fast_path_of(self, route: Route) -> FastPath | None:
        dispatcher, caller = route.dispatcher, route.caller
        if caller.api_key is not None:
            return None
        of = (dispatcher, caller.service_form)
        if self._fast_path is None or self._fast_path[0] != of:
            session = dispatcher.session(caller, shares_results=True)
            self._fast_path = of, dispatcher.fast_paths.open(session, are_frames=False)
        return self._fast_path[1]

    def _try_fast_path(
        self, route: Route, fast_path: FastPath | None, body: bytes
    ) -> tuple[bytes, Any] | None:
        """Return the engine's reply and the moment of its data, None if a handler must answer."""
        if fast_path is None:
            return None
        dispatcher, began = route.dispatcher, perf_counter()
        largest = dispatcher.bounds.reply_bytes
        if (answered := fast_path.try_answer(body, largest, largest)) is None:
            return None
        reply, _size, counts, moment = answered
        seconds = perf_counter() - began
        dispatcher.fast_paths.observe(counts, 1, seconds, longest=seconds)
        return reply, moment

    async def _handle(self, route: Route, admission: Admission | None, body: bytes) -> tuple[Reply, Any]:
        """Return the reply to a body, empty for notifications, and the moment of its data."""
        dispatcher, client = route.dispatcher, route.caller.client
        session = dispatcher.session(route.caller, admission, shares_results=True)
        if not self._service.shared.calls.admits(client):
            session.refusal = too_many_calls()
        answer = dispatcher.handle(body, session)
        session.end_turn()
        maker: CallMaker = session
        if isinstance(answer, CallTask):
            self._hold(len(body) + answer.weight)
            maker = answer.maker or session
            try:
                answer = await self._finish(answer, client)
            finally:
                self._hold()
        return answer or b"", maker.moment

    async def _decoded(self, body: bytes, encoding: str, client: ClientId | None) -> bytes:
        limit = self._limits.body_bytes
        try:
            if len(body) <= INFLATED_AT_ONCE:
                return decode_body(body, encoding, limit)
            pool = self._service.shared.executor.short_work
            # The thread makes a decoded text, which is within the limit of bodies too, so that limit is
            # counted as well.
            self._hold(len(body) + limit)
            try:
                return await pool.run(client, lambda _cancel: decode_body(body, encoding, limit))
            finally:
                self._hold()
        except BadContentError as bad:
            raise HttpRequestRefusedError(bad.status, invalid_request(bad.message)) from None

    async def _finish(self, task: CallTask, client: ClientId | None) -> Reply | None:
        """Return the reply of a slow call, None for a notification."""
        shared = self._service.shared
        quota = ClientQuota(shared, client)
        return await self._while_there(lambda: shared.executor.finish(task, client, quota))

    async def _while_there(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `work()`; cancel it and raise ConnectionClosedError if the client leaves."""
        results: list[T] = []

        async def watch(scope: trio.CancelScope) -> None:
            while len(self._ahead) < READ_AHEAD_BYTES:
                if not (data := await self._transport.receive()):
                    scope.cancel()
                self._ahead += data

        async with trio.open_nursery() as nursery:
            self._patience = nursery.cancel_scope
            nursery.start_soon(watch, nursery.cancel_scope)
            results.append(await work())
            nursery.cancel_scope.cancel()
        self._patience = None
        if not results:
            self._check_given_up()
            raise ConnectionClosedError
        return results[0]

    async def _read_body(self, parser: RequestParser, headers: Headers) -> bytes:
        parser.check_length(headers)
        try:
            with trio.CancelScope() as self._patience:
                return await parser.read_body(self._hold)
        finally:
            self._hold()
            self._patience = None
        self._check_given_up()
        raise ConnectionClosedError

    def _check_given_up(self) -> None:
        if self._has_given_up:
            error = limit_exceeded("too many bytes of unfinished bodies")
            raise try_later(503, error)

    async def _take_turns(self) -> None:
        """Wait for the next turn if this connection's turn is over, so that other tasks run."""
        if self._turn_seconds is None:
            serving = self._service.shared.counters.http_serving
            self._turn_seconds = first_turn(self._limits.slice_seconds, serving)
        if perf_counter() > self._turn_began + self._turn_seconds:
            await self._service.shared.executor.turns.pass_through(self.client)
            self._turn_began, self._turn_seconds = perf_counter(), self._limits.slice_seconds

    async def _next_bytes(self) -> bytes:
        """Return the bytes that arrive next; raise ConnectionClosedError at the end or after silence."""
        scope = trio.CancelScope(deadline=trio.current_time() + self._limits.idle_seconds)
        self._service.idle[scope] = self.client
        self._service.shared.counters.http_serving -= 1
        data = None
        try:
            data = await receive_within(self._transport, scope)
        finally:
            self._begin_serving()
            # A displaced connection is not served, even if its request arrived at that moment.
            if self._service.idle.pop(scope, None) is None:
                data = None
        if not data:
            raise ConnectionClosedError
        return data

    async def _send_all(self, pieces: Sequence[bytes]) -> None:
        """Send the pieces; small ones are joined."""
        size = sum(map(len, pieces))
        if size <= PARCEL_BYTES:
            await self._send_small(b"".join(pieces))
            return
        with self._service.shared.waiting.counted(self.client, size):
            for number, parcel in enumerate(coalesce(pieces)):
                if number:
                    # Without these pauses, a client that reads as fast as the reply is sent would keep all
                    # other tasks from running.
                    await self._take_turns()
                await self._send_piece(parcel)

    async def _send_small(self, data: bytes) -> None:
        """Send a short text; only the part that the system does not accept counts as waiting."""
        try:
            sent = self._transport.send_nowait(data)
        except trio.BrokenResourceError:
            raise ConnectionClosedError from None
        if sent < len(data):
            with self._service.shared.waiting.counted(self.client, len(data) - sent):
                await self._send_piece(memoryview(data)[sent:])

    async def _send_piece(self, piece: bytes | memoryview) -> None:
        try:
            await send_all(self._transport, piece, self._limits.idle_seconds)
        except trio.BrokenResourceError:
            raise ConnectionClosedError from None
