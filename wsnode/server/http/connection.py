"""HTTP/1.1 requests on one connection, one after another: JSON-RPC by POST, pages and files by GET.

A thin shim in front of the dispatcher that WebSocket messages go to. Plain requests that have arrived whole
are read by `quick_post`, all others by h11; the two take turns between requests only.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from time import perf_counter
from typing import Any, TypeVar

import h11
import msgspec
import trio

from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.jsonrpc.session import Session
from wsnode.jsonrpc.share import Party, Share
from wsnode.jsonrpc.work import Heading, Reply, SlowCall, pieces_of, size_of
from wsnode.server.access.directory import Directory, Entrance
from wsnode.server.access.grants import Admission
from wsnode.server.access.min_block import HEAD_HEADER, Arrival, arrival_of
from wsnode.server.access.min_block import HEADER as MIN_BLOCK
from wsnode.server.access.refusals import RefusedError
from wsnode.server.http.content import BadContentError, decode_body, encode_body
from wsnode.server.http.fast_request import QuickPost, quick_post
from wsnode.server.http.files import StaticFile
from wsnode.server.http.headers import Headers, cross_origin, headers_of, preflight
from wsnode.server.http.responses import JSON, Response, refused, request_error, serialize
from wsnode.server.limits import Limits
from wsnode.server.shared import Shared
from wsnode.server.transport.parcels import PARCEL_BYTES, parcels
from wsnode.server.transport.transport import Transport, linger, send_all
from wsnode.server.turns.fair import first_turn
from wsnode.server.turns.making import Account
from wsnode.server.turns.slow_lane import too_many_calls

T = TypeVar("T")

JSON_TYPES = (JSON, "application/json-rpc", "application/jsonrequest")
METHODS = "POST, GET, HEAD, OPTIONS"
READ_AHEAD_BYTES = 64 * 1024
INFLATED_AT_ONCE = 64 * 1024
"""Bodies that are decompressed at once: at 5 MiB for each, that takes three milliseconds."""
NO_PARSER = h11.Connection(h11.SERVER)
"""Stands where no request is being parsed, so that idle connections keep no parser."""
PageContent = tuple[int, str, bytes]
"""A page's status, content type and body."""
Page = Callable[[], PageContent | Awaitable[PageContent]]
"""A page for GET, at once or once other processes have answered."""


class Service(msgspec.Struct, frozen=True):
    """The state that the HTTP connections of a server share."""

    directory: Directory
    shared: Shared
    pages: Mapping[str, Page]
    connections: Share
    """Most connections of such clients."""
    files: Mapping[str, StaticFile] = {}
    """What is served by GET besides the pages, where the directory has the host."""
    idle: dict[trio.CancelScope, Party] = msgspec.field(default_factory=dict)
    """The connections that wait for a request, the one that has waited longest first."""


class _DisconnectedError(Exception):
    """The client has gone, or does not do its part in time."""


class HttpConnection:
    """A connection that did not ask for an upgrade."""

    def __init__(self, transport: Transport, service: Service, party: Party | None = None) -> None:
        self._transport = transport
        self.party = Party() if party is None else party
        """The party that its shares count for."""
        self._service = service
        self._ahead = b""
        """Bytes that have arrived and are not parsed yet."""
        self._parser = NO_PARSER
        self._with_parser = 0
        """Bytes that it was given of those that had arrived before."""
        self._is_head = False
        """Whether the request asks for the head of the answer alone."""
        self._patience: trio.CancelScope | None = None
        """The scope of reading a body, or of a slow call."""
        self._has_given_up = False
        """Whether that was ended because too many bytes are kept. Nothing more is served then."""
        self._owes = False
        """Whether requests were dropped that nothing has been said of."""
        self._turn_ends = 0.0
        """The end of this connection's turn."""
        self._asked = 0
        """The requests that were served since bytes were last waited for."""

    def give_up(self) -> None:
        """Refuse what has been asked, because no other connection keeps as many bytes of requests."""
        self._has_given_up = True
        self._owes = bool(self._ahead)
        self._ahead = b""
        if self._patience is not None:
            self._patience.cancel()

    @property
    def _limits(self) -> Limits:
        return self._service.shared.limits

    async def run(self, data: bytes) -> None:
        """Serve requests, the first of which begins with `data`, until either side has had enough."""
        self._ahead = data
        self._begin_serving()
        try:
            while await self._serve_next() and not self._service.shared.draining:
                pass
        except _DisconnectedError:
            return
        finally:
            self._service.shared.counters.http_serving -= 1
            self._service.shared.received.hold(self, 0)
        await linger(self._transport, self._limits.close_seconds)

    def _begin_serving(self) -> None:
        counters = self._service.shared.counters
        counters.http_serving += 1
        self._turn_ends = perf_counter() + first_turn(self._limits.slice_seconds, counters.http_serving)

    async def _serve_next(self) -> bool:
        """Serve one request; True if another may follow."""
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
        if (quick := quick_post(self._ahead, self._limits.body_bytes)) is None:
            return await self._serve_with_parser()
        self._ahead = self._ahead[quick.size :]
        response = await self._answer_quick(quick)
        self._count(response)
        is_last = self._is_last
        await self._send_all(serialize(response, last=is_last))
        return not is_last

    @property
    def _is_last(self) -> bool:
        """Whether nothing follows the answer: the server ends, or what was asked behind it was dropped."""
        return self._service.shared.draining or self._has_given_up

    def _hold(self, size: int = 0) -> None:
        """Count what is kept: `size` bytes of a request, and those that have arrived behind it."""
        self._service.shared.received.hold(self, size + self._with_parser + len(self._ahead))

    async def _say_given_up(self) -> bool:
        response = refused(RefusedError(503, limit_exceeded("too many bytes of unanswered requests")))
        self._count(response)
        await self._send_all(serialize(response, last=self._is_last))
        return False

    async def _answer_quick(self, quick: QuickPost) -> Response:
        headers = Headers(list(quick.headers.items()))
        try:
            return await self._answer(self._enter(headers, quick.target), headers, quick.body)
        except RefusedError as refusal:
            return refused(refusal)
        except BadContentError as bad:
            return refused(RefusedError(bad.status, request_error(bad.message)))

    async def _serve_with_parser(self) -> bool:
        self._parser = h11.Connection(h11.SERVER, max_incomplete_event_size=self._limits.head_bytes)
        self._is_head = False
        try:
            request = await self._next_event(self._limits.idle_seconds)
            if not isinstance(request, h11.Request):
                raise _DisconnectedError
            response = await self._respond(request)
        except h11.RemoteProtocolError as error:
            response = refused(RefusedError(error.error_status_hint, request_error(_reason(error))))
        except RefusedError as refusal:
            response = refused(refusal)
        except BadContentError as bad:
            response = refused(RefusedError(bad.status, request_error(bad.message)))
        if self._parser.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            raise _DisconnectedError
        self._count(response)
        await self._send(response)
        self._ahead = bytes(self._parser.trailing_data[0]) + self._ahead
        # The rest of a refused body is not read.
        may_follow = self._parser.states == {h11.SERVER: h11.DONE, h11.CLIENT: h11.DONE}
        self._parser, self._with_parser = NO_PARSER, 0
        return may_follow

    def _count(self, response: Response) -> None:
        counters = self._service.shared.counters
        counters.http_requests += 1
        if response.status >= 400:
            counters.refusals[response.status] += 1

    async def _respond(self, request: h11.Request) -> Response:
        headers, method = headers_of(request), request.method.decode()
        self._is_head = method == "HEAD"
        target = request.target.decode("ascii", errors="replace")
        if headers.count("transfer-encoding") and headers.count("content-length"):
            raise RefusedError(400, request_error("a body has one length"))
        if method in ("GET", "HEAD"):
            await self._read_body(headers)
            return await self._page(headers, target)
        if method == "OPTIONS":
            await self._read_body(headers)
            entrance = self._service.directory.enter(headers.only("host"), target, self.party, socket=False)
            return Response(
                204, headers=preflight(headers, entrance.caller, self._service.directory.perimeter)
            )
        if method != "POST":
            raise RefusedError(405, request_error("method not allowed"), {"Allow": METHODS})
        return await self._call(headers, target)

    async def _call(self, headers: Headers, target: str) -> Response:
        entrance = self._enter(headers, target)
        return await self._answer(entrance, headers, await self._read_body(headers))

    def _enter(self, headers: Headers, target: str) -> Entrance:
        """Return where a POST leads, if its head admits it there."""
        entrance = self._service.directory.enter(
            headers.only("host"),
            target,
            self.party,
            socket=False,
            authorization=headers.first("authorization"),
        )
        if headers.first("content-type").partition(";")[0].strip().lower() not in JSON_TYPES:
            raise RefusedError(415, request_error("invalid content type, only application/json is supported"))
        return entrance

    async def _answer(self, entrance: Entrance, headers: Headers, body: bytes) -> Response:
        shared = cross_origin(headers, entrance.caller, self._service.directory.perimeter)
        encoding = headers.first("content-encoding").strip().lower()
        text = await self._decoded(body, encoding, entrance.caller.party)
        del body
        if not text:
            return Response(200, headers=shared)
        if demanded := headers.only(MIN_BLOCK):
            await self._demand(arrival_of(entrance, demanded))
        grant = entrance.caller.grant
        admission = None if grant is None else Admission(grant)
        session = Session(entrance.dispatcher, entrance.caller, admission)
        if not self._service.shared.lane.calls.admits(entrance.caller.party):
            session.refusal = too_many_calls()
        answer = session.receive(text)
        session.end_turn()
        maker: Heading = session
        if isinstance(answer, SlowCall):
            self._hold(len(text) + answer.weight)
            maker = answer.maker or session
            try:
                answer = await self._finish(answer, entrance.caller.party)
            finally:
                self._hold()
        answer = answer or b""
        size = size_of(answer)
        if not self._service.shared.waiting.allows(self.party, size):
            error = limit_exceeded("too many bytes of replies wait to be read, try again")
            raise RefusedError(503, error, {"Retry-After": "1"})
        with self._counted(size):
            reply, encoded = await encode_body(
                answer,
                headers.first("accept-encoding"),
                self._limits,
                self._service.shared.lane.short_work,
                entrance.caller.party,
            )
        headers_of_reply = {**shared, **encoded}
        if (arrivals := entrance.dispatcher.registry.arrivals) is not None:
            headers_of_reply[HEAD_HEADER] = arrivals.written(maker.head)
        if admission is not None and (seconds := admission.retry_after) is not None:
            return Response(429, reply, headers={**headers_of_reply, "Retry-After": str(seconds)})
        return Response(200, reply, headers=headers_of_reply)

    async def _demand(self, arrival: Arrival) -> None:
        """Wait for the block that a request demands.

        Raises:
            RefusedError: It does not come in time.
        """
        if (refusal := await self._while_there(arrival)) is not None:
            raise refusal

    async def _decoded(self, body: bytes, encoding: str, party: Party | None) -> bytes:
        limit = self._limits.body_bytes
        if len(body) <= INFLATED_AT_ONCE:
            return decode_body(body, encoding, limit)
        pool = self._service.shared.lane.short_work
        # The thread makes a text of it that is within the limit of bodies too.
        self._hold(len(body) + limit)
        try:
            return await pool.run(party, lambda _cancel: decode_body(body, encoding, limit))
        finally:
            self._hold()

    async def _page(self, headers: Headers, target: str) -> Response:
        host, path = headers.only("host"), target.partition("?")[0]
        self._service.directory.perimeter.check_host(host)
        if (page := self._service.pages.get(path)) is not None:
            content = page()
            status, content_type, body = content if isinstance(content, tuple) else await content
            return Response(status, body, content_type)
        file = self._service.files.get(path)
        if file is not None and file.suits(headers.first("accept")):
            self._service.directory.network_of(host)
            return file.response(headers.first("if-none-match"))
        self._service.directory.enter(host, target, self.party, socket=False)
        return Response(200, content_type="text/plain")

    async def _finish(self, slow_call: SlowCall, party: Party | None) -> Reply | None:
        """Return the reply of a slow call, and give it up if the client leaves meanwhile."""
        shared = self._service.shared
        account = Account(shared.making, shared.limits.outbox_bytes, party=party)
        return await self._while_there(lambda: shared.lane.finish(slow_call, party, account))

    async def _while_there(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return what `work` returns, and give it up if the client leaves meanwhile."""
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
            raise _DisconnectedError
        return results[0]

    async def _read_body(self, headers: Headers) -> bytes:
        limit = self._limits.body_bytes
        declared = headers.first("content-length")
        if declared and int(declared) > limit:
            raise RefusedError(413, request_error(f"content length too large ({declared}>{limit})"))
        with trio.move_on_after(self._limits.body_seconds) as self._patience:
            return await self._read_parts(limit)
        self._check_given_up()
        raise RefusedError(408, request_error("read timeout"))

    def _check_given_up(self) -> None:
        if self._has_given_up:
            raise RefusedError(503, limit_exceeded("too many bytes of unfinished bodies"))

    async def _read_parts(self, limit: int) -> bytes:
        # In one piece, for a body may come in chunks of a byte.
        body = bytearray()
        self._with_parser = 0
        try:
            while isinstance(event := await self._next_event(self._limits.idle_seconds), h11.Data):
                body += event.data
                if len(body) > limit:
                    raise RefusedError(413, request_error(f"content length too large ({len(body)}>{limit})"))
                self._hold(len(body))
        finally:
            # What it still has came behind the body.
            self._with_parser = len(self._parser.trailing_data[0])
            self._hold()
            self._patience = None
        if not isinstance(event, h11.EndOfMessage):
            raise _DisconnectedError
        return bytes(body)

    async def _take_turns(self) -> None:
        """Let other tasks run if this connection's turn is over."""
        if perf_counter() > self._turn_ends:
            await self._service.shared.lane.turns.pass_through(self.party)
            self._turn_ends = perf_counter() + self._limits.slice_seconds

    async def _next_bytes(self) -> bytes:
        dialogue = self._service.shared.dialogue
        if (data := dialogue.receive(self, self._transport, self._asked)) is None:
            data = await self._wait_request()
            dialogue.heard(self)
        if not data:
            raise _DisconnectedError
        return data

    async def _wait_request(self) -> bytes:
        """Return the bytes that arrive next; none at the end, and for those whose place has been taken."""
        with trio.CancelScope(deadline=trio.current_time() + self._limits.idle_seconds) as scope:
            self._service.idle[scope] = self.party
            self._service.shared.counters.http_serving -= 1
            data = b""
            try:
                data = await self._transport.receive()
            finally:
                self._begin_serving()
                # Whose place has been taken is not served, even if its request came at that moment.
                if self._service.idle.pop(scope, None) is None:
                    data = b""
        return data

    async def _next_event(self, seconds: float) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        await self._take_turns()
        if (event := self._parser.next_event()) is not h11.NEED_DATA:
            return event
        with trio.move_on_after(seconds):
            while (event := self._parser.next_event()) is h11.NEED_DATA:
                if self._parser.they_are_waiting_for_100_continue:
                    go_ahead = h11.InformationalResponse(status_code=100, headers=[])
                    await self._send_all([self._parser.send(go_ahead) or b""])
                self._with_parser += len(self._ahead)
                data, self._ahead = self._ahead or await self._transport.receive(), b""
                self._parser.receive_data(data)
            return event
        raise _DisconnectedError

    async def _send(self, response: Response) -> None:
        headers = [*response.headers.items()]
        # With 304 it would be the length of what is not sent (RFC 9110, section 8.6).
        if response.status != HTTPStatus.NOT_MODIFIED:
            headers.insert(0, ("Content-Length", str(size_of(response.body))))
        if response.body:
            headers.append(("Content-Type", response.content_type))
        if self._parser.their_state is not h11.DONE or self._is_last:
            headers.append(("Connection", "close"))
        reason = HTTPStatus(response.status).phrase
        event = h11.Response(status_code=response.status, headers=headers, reason=reason.encode())
        pieces = [self._parser.send(event) or b""]
        if response.body and not self._is_head:
            # It counts them alone, but takes 4 microseconds for each of what may be thousands of pieces.
            counted: Any = _Length(size_of(response.body))
            self._parser.send_with_data_passthrough(h11.Data(data=counted))
            pieces += pieces_of(response.body)
        pieces.append(self._parser.send(h11.EndOfMessage()) or b"")
        await self._send_all(pieces)

    async def _send_all(self, pieces: Sequence[bytes]) -> None:
        """Send the pieces, small ones together."""
        size = sum(map(len, pieces))
        # The usual answer fits, and parcels would take it 0.7 microseconds.
        sent = parcels(pieces) if size > PARCEL_BYTES else (b"".join(pieces),)
        with self._counted(size):
            for number, parcel in enumerate(sent):
                if number:
                    # A client that reads as fast as this is sent would have all turns.
                    await self._take_turns()
                await self._send_piece(parcel)

    async def _send_piece(self, piece: bytes | memoryview) -> None:
        try:
            await send_all(self._transport, piece, self._limits.idle_seconds)
        except trio.BrokenResourceError:
            raise _DisconnectedError from None

    @contextmanager
    def _counted(self, size: int) -> Iterator[None]:
        """Count bytes of a reply, which wait for a thread or for the client."""
        waiting = self._service.shared.waiting
        waiting.add(self.party, size)
        try:
            yield
        finally:
            waiting.add(self.party, -size)


class _Length:
    """Stands for bytes of which only the number matters."""

    __slots__ = ("_size",)

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size


def _reason(error: h11.RemoteProtocolError) -> str:
    # What follows the colon repeats the client's bytes, among them perhaps its key.
    return str(error).partition(":")[0]
