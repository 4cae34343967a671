"""Opening handshake of a WebSocket connection, from its head to the answer."""

import http

import msgspec
from websockets.datastructures import Headers
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from wsnode.jsonrpc.codec import NULL, error_reply
from wsnode.jsonrpc.errors import RpcError, invalid_request
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.server.access.request_errors import HttpRequestRefusedError, bad_request, try_later
from wsnode.server.access.router import Arrival, Caller, Route, Router, arrival_of, demanded_by, target_of
from wsnode.server.websocket.encoding import factory
from wsnode.server.websocket.frames import release_parser

JSON = "application/json"


class Handshake(msgspec.Struct, frozen=True):
    """Outcome of a WebSocket handshake: the bytes to send and, if it was accepted, the route and the
    negotiated compression.
    """

    answer: bytes
    status: int = 101
    route: Route | None = None
    demand: Arrival | None = None
    """Function that waits for the block demanded by the client; None without a demand."""
    deflate: PerMessageDeflate | None = None


def shake_hands(head: bytes, router: Router, client: ClientId | None = None) -> Handshake:
    """Return the answer to the handshake request `head`."""
    protocol = ServerProtocol(extensions=[factory()])
    try:
        return _answer(protocol, head, router, client)
    finally:
        if protocol.handshake_exc is not None:
            # The library's request refers to this exception, and the frames of the traceback refer to the
            # request: clearing the traceback avoids a cycle.
            protocol.handshake_exc.__traceback__ = None
        release_parser(protocol)


def _answer(protocol: ServerProtocol, head: bytes, router: Router, client: ClientId | None) -> Handshake:
    protocol.receive_data(head)
    request = next((event for event in protocol.events_received() if isinstance(event, Request)), None)
    if request is None:
        return _refuse(head, bad_request("not a valid handshake"))
    try:
        target = target_of(_host(request.headers), request.path)
        route = router.resolve(
            *target,
            client,
            socket=True,
            authorization=next(iter(request.headers.get_all("Authorization")), ""),
        )
        router.origin_policy.check_origin(route.caller.api_key, _origin(request.headers))
        _check_connections(route.caller)
        demanded = demanded_by(target.path)
        demand = None if demanded is None else arrival_of(route, demanded)
    except HttpRequestRefusedError as refused:
        return _refuse(head, refused)
    response = protocol.accept(request)
    if response.status_code != 101:
        return _refuse(head, _refused(response))
    deflate = next((each for each in protocol.extensions if isinstance(each, PerMessageDeflate)), None)
    return Handshake(response.serialize(), route=route, demand=demand, deflate=deflate)


def _refuse(head: bytes, refused: HttpRequestRefusedError) -> Handshake:
    return Handshake(refusal(refused, head), refused.status)


def refusal(refused: HttpRequestRefusedError, head: bytes = b"") -> bytes:
    """Return an HTTP response of a refusal, with a JSON-RPC error as its body.

    The response to a HEAD request has no body (RFC 9110, section 9.3.2); `head` is the request's head, or its
    beginning, or empty before a request has been read.
    """
    body = error_reply(NULL, refused.error)
    headers = Headers({"Content-Type": JSON, "Content-Length": str(len(body)), **refused.headers})
    if "Connection" not in headers:
        headers["Connection"] = "close"
    sent = b"" if head.startswith(b"HEAD ") else body
    return Response(refused.status, http.HTTPStatus(refused.status).phrase, headers, sent).serialize()


def _host(headers: Headers) -> str:
    hosts = headers.get_all("Host")
    if len(hosts) != 1:
        raise bad_request("exactly one Host header is required")
    return hosts[0]


def _origin(headers: Headers) -> str | None:
    sent = headers.get_all("Origin")
    if len(sent) > 1:
        raise bad_request("more than one Origin header")
    return sent[0] if sent else None


def _check_connections(caller: Caller) -> None:
    try:
        if caller.api_key is not None:
            caller.api_key.check_connections()
    except RpcError as error:
        raise try_later(429, error) from None


def _refused(response: Response) -> HttpRequestRefusedError:
    message = bytes(response.body or b"").decode(errors="replace").partition("\n")[0]
    headers = {name: response.headers[name] for name in ("Allow", "Upgrade") if name in response.headers}
    return HttpRequestRefusedError(response.status_code, invalid_request(message), headers)
