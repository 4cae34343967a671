"""State that all HTTP connections of a server share, and the answers to requests without a call."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec
import trio

from wsnode.jsonrpc.errors import invalid_request
from wsnode.jsonrpc.resource_quota import ClientId, ResourceQuota
from wsnode.server.access.request_errors import HttpRequestRefusedError
from wsnode.server.access.router import EVERYTHING, RequestTarget, Route, Router
from wsnode.server.http.headers import Headers, preflight, shared_refusal
from wsnode.server.http.responses import JSON, Response, StaticFile, refused
from wsnode.server.shared import Shared

JSON_TYPES = (JSON, "application/json-rpc", "application/jsonrequest")
METHODS = "POST, GET, HEAD, OPTIONS"
PageContent = tuple[int, str, bytes]
"""Status, content type and body of a page."""
Page = Callable[[], PageContent | Awaitable[PageContent]]
"""Function that returns a page for GET, or an awaitable of it if other processes must answer first."""


class Service(msgspec.Struct, frozen=True):
    """Service for the HTTP clients of one kind of address: its routes, pages and files, and the state that
    all of its connections share.
    """

    router: Router
    shared: Shared
    pages: Mapping[str, Page]
    connections: ResourceQuota
    """Quota of the connections of these clients."""
    files: Mapping[str, StaticFile] = {}
    """Files served by GET besides the pages, by path, for hosts of a network."""
    idle: dict[trio.CancelScope, ClientId] = msgspec.field(default_factory=dict)
    """Connections that wait for a request, the longest-waiting first."""

    def post_route(self, headers: Headers, target: RequestTarget, client: ClientId) -> Route:
        """Return the route of a POST.

        Raises:
            HttpRequestRefusedError: No route leads there (400 to 404), or the body is no JSON (415).
        """
        route = self.router.resolve(
            *target, client, socket=False, authorization=headers.first("authorization")
        )
        if headers.first("content-type").partition(";")[0].strip().lower() not in JSON_TYPES:
            raise HttpRequestRefusedError(
                415, invalid_request("invalid content type, only application/json is supported")
            )
        return route

    def options(self, headers: Headers, target: RequestTarget, client: ClientId) -> Response:
        """Return the response to OPTIONS.

        Raises:
            HttpRequestRefusedError: The host is not admitted, or no route leads there.
        """
        if target.path == EVERYTHING:
            self.router.origin_policy.check_host(target.host)
            return Response(204, headers={"Allow": METHODS})
        route = self.router.resolve(*target, client, socket=False)
        return Response(204, headers=preflight(headers, route.caller, self.router.origin_policy))

    async def page(self, headers: Headers, target: RequestTarget, client: ClientId) -> Response:
        """Return the response to GET: a page, a file, or an empty text where calls are answered.

        Raises:
            HttpRequestRefusedError: The host is not admitted, or no route leads there.
        """
        host, path = target.host, target.path.partition("?")[0]
        self.router.origin_policy.check_host(host)
        if (page := self.pages.get(path)) is not None:
            content = page()
            status, content_type, body = content if isinstance(content, tuple) else await content
            return Response(status, body, content_type)
        file = self.files.get(path)
        if file is not None and file.suits(headers.first("accept")):
            self.router.network_of(host)
            return file.response(headers.first("if-none-match"))
        self.router.resolve(*target, client, socket=False)
        return Response(200, content_type="text/plain")

    def refused(self, refusal: HttpRequestRefusedError, headers: Headers) -> Response:
        """Return the response of a refusal; web pages of admitted origins can read it."""
        shared = shared_refusal(headers, headers.first("host"), self.router.origin_policy)
        return refused(refusal, shared)
