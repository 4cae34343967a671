"""Routing of requests: from host, path and key to a network, the caller's rights, and an awaited block.

Clients send the path alone and the host in a header. A client behind a supposed proxy, and some proxies, send
the whole URL instead. Every server has to accept both (RFC 9112, section 3.2.2).
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias
from urllib.parse import parse_qs

import msgspec
import trio

from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import INVALID_REQUEST, RpcError, invalid_params
from wsnode.jsonrpc.fast_path import VersionedCache
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.jsonrpc.work import View
from wsnode.pubsub.fan_out import FanOut
from wsnode.server.access.api_keys import ApiKey
from wsnode.server.access.origin_policy import OPEN, OriginPolicy, without_port
from wsnode.server.access.request_errors import HttpRequestRefusedError, bad_request, try_later
from wsnode.server.scheduling.client_quota import ClientQuota
from wsnode.server.shared import MetricValue

_PATH = re.compile(r"/(?P<socket>ws/)?v3(?:/(?P<key>[^/]*))?(?:/rpc/(?P<version>[^/]*))?")
_OPEN_PATH = re.compile(r"/(?:rpc/(?P<version>[^/]*))?")
_ABSOLUTE = re.compile(r"(?:https?|wss?)://(?P<authority>[^/?#]*)(?P<path>.*)", re.IGNORECASE | re.DOTALL)
EVERYTHING = "*"
"""Target that names the server itself, used by OPTIONS only (RFC 9112, section 3.2.4)."""
MIN_BLOCK_HEADER: Final = "wsnode-min-block"
"""Header of an HTTP request with the demanded block."""
MIN_BLOCK_PARAMETER: Final = "min_block"
"""Parameter in the query of a handshake's URL with the demanded block."""
HEAD_HEADER: Final = "wsnode-block"
"""Header of an HTTP reply: the head on which the reply was computed."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Caller of a method, as views and handlers see it: the network, and the key, path and connection of the
    request.
    """

    network: str
    api_key: ApiKey | None = None
    """Rights of the caller's key; None on a node without keys."""
    open_path: bool = False
    """True if the request used a path without a key, such as `/`."""
    rpc_version: str | None = None
    """Version of a specification at the end of the path, such as `v0_9`; None for the newest."""
    client: ClientId | None = None
    """Connection, by which the caller's use of shared bounds is counted."""
    quota: ClientQuota | None = None
    """Quota of subscriptions; None over HTTP."""

    @property
    def key_name(self) -> str | None:
        """Return the name of the caller's key, never the key; None for a caller without a key."""
        return None if self.api_key is None else self.api_key.name

    @property
    def forwarding(self) -> bool:
        """Return True if a partner's node may be asked for what this node does not have."""
        return self.api_key is not None and self.api_key.limits.forwarding

    @property
    def service_form(self) -> bool:
        """Return True if replies have the service specification's form, False for the node's plain form."""
        return not self.open_path


class BlockWaiter(Protocol):
    """Waiter for blocks that clients have seen on other nodes and name in their requests, since this node may
    be behind.
    """

    def parse(self, text: str) -> Any:
        """Return the block that a client has seen elsewhere, written as `NUMBER` or `NUMBER:HASH`.

        Raises:
            ValueError: The text is malformed; the message says what is wrong.
        """

    def has_come(self, awaited: Any) -> bool:
        """Return True if the node has the block."""

    async def wait(self, awaited: Sequence[Any], client: Any) -> None:
        """Wait until the node has all blocks, or can say that it never will.

        Raises:
            RpcError: A block did not come in time, or too many calls wait.
        """

    def written(self, head: Any) -> str:
        """Return a head as `NUMBER:HASH`, the present head for None."""


class KeyStore(Protocol):
    """API keys that callers may use; `KeyFileStore` implements it."""

    def lookup(self, key: str) -> ApiKey | None: ...


class TokenCheck(Protocol):
    """Check of the token in a request's `Authorization` header; `JwtVerifier` implements it."""

    def check(self, authorization: str) -> None:
        """Check the value of the `Authorization` header.

        Raises:
            HttpRequestRefusedError: The header has no valid token.
        """
        ...


class Network(msgspec.Struct, frozen=True):
    """Network as a server serves it: its methods, access to its chain, and its keys. Without `hosts` it
    serves every host.
    """

    name: str
    registry: Registry
    open_view: Callable[[Any], View]
    hosts: Sequence[str] = ()
    limits: Mapping[str, Any] = {}
    """Limits of its own methods, shown by `rpc_limits`."""
    keys: KeyStore | None = None
    """API keys. If None, any key in a path is accepted, and the bare path needs none."""
    fan_out: FanOut | None = None
    """Fan-out to its subscribers; the server runs it."""
    versions: Callable[[], int] = lambda: 0
    """Function that returns the number of versions of its chains being read."""
    versioned_cache: VersionedCache | None = None
    """Cache of results that depend on the version of its store alone."""
    background: Sequence[Callable[[], Awaitable[None]]] = ()
    """Tasks that run while the network is served."""
    rpc_versions: Sequence[str] = ()
    """Versions of a specification that may end a path."""
    tokens: TokenCheck | None = None
    """Check of tokens; if set, every request and every handshake needs a token."""
    ports: Sequence["Port"] = ()
    """Further ports, each with its own address."""
    not_ready_reason: Callable[[], str | None] = lambda: None
    """Function that returns one line on why the network should not be asked now, or None."""
    figures: Callable[[], Sequence[MetricValue]] = tuple
    """Function that returns its own numbers for `/metrics`."""
    page: Mapping[str, Any] = {}
    """Further data for its page for browsers, by name."""
    barrier: BlockWaiter | None = None
    """Wait for blocks that clients name; None where no blocks come."""
    reload: Callable[[Any], None] | None = None
    """Callback with the network's settings after they were read again."""


class Port(msgspec.Struct, frozen=True):
    """Further port of a network with an address and methods of its own, such as that of the Engine API. Its
    tasks run with the network's.
    """

    host: str
    port: int
    network: Network


class Route(msgspec.Struct, frozen=True):
    """Destination of a request, selected by its path and host: the dispatcher of a network, and the caller
    with the rights of the key.
    """

    dispatcher: Dispatcher
    caller: Caller
    barrier: BlockWaiter | None = None
    is_lasting: bool = False
    """True if the same head always has this route on its connection: no key or token decides it."""


class Router:
    """Router from host and path to a network and a caller."""

    def __init__(
        self,
        networks: Mapping[str, Dispatcher],
        hosts: Mapping[str, str],
        keys: Mapping[str, KeyStore],
        origin_policy: OriginPolicy = OPEN,
        tokens: Mapping[str, TokenCheck] | None = None,
        barriers: Mapping[str, BlockWaiter] | None = None,
        rpc_versions: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._rpc_versions = rpc_versions or {}
        self._barriers = barriers or {}
        self.origin_policy = origin_policy
        self._tokens = tokens or {}
        self._networks = networks
        self._hosts = {host.lower(): name for host, name in hosts.items()}
        self._keys = keys

    def resolve(
        self, host: str, target: str, client: ClientId | None = None, *, socket: bool, authorization: str = ""
    ) -> Route:
        """Return the route of a request of `client` for `target` on `host`.

        Raises:
            HttpRequestRefusedError: No network serves the request, or its key or token is not accepted.
        """
        self.origin_policy.check_host(host)
        path = target.partition("?")[0]
        name = self.network_of(host, authorization)
        barrier, is_lasting = self._barriers.get(name), name not in self._keys and name not in self._tokens
        if name not in self._keys and (match := _OPEN_PATH.fullmatch(path)) is not None:
            version = self._known_version(name, match)
            caller = Caller(network=name, open_path=True, rpc_version=version, client=client)
            return Route(self._networks[name], caller, barrier, is_lasting)
        match = _PATH.fullmatch(path)
        if match is None:
            raise _not_found()
        version = self._known_version(name, match)
        api_key = self._api_key_of(name, match["key"] or "")
        if client is not None and api_key is not None:
            # All use of a key counts as one client's, from whatever address it comes.
            client = client.of(f"{name}/{api_key.name}")
        caller = Caller(network=name, api_key=api_key, rpc_version=version, client=client)
        if bool(match["socket"]) != socket:
            raise _wrong_way(socket=socket)
        return Route(self._networks[name], caller, barrier, is_lasting)

    def _known_version(self, network: str, match: re.Match[str]) -> str | None:
        """Return the version of a specification at the end of a path, None if there is none.

        Raises:
            HttpRequestRefusedError: The network has no such version.
        """
        version: str | None = match["version"]
        if version is not None and version not in self._rpc_versions.get(network, ()):
            raise _not_found()
        return version

    def network_of(self, host: str, authorization: str = "") -> str:
        """Return the name of the network that serves `host`.

        Raises:
            HttpRequestRefusedError: No network serves it, or it needs a valid token.
        """
        name = self._name_of(host)
        if (tokens := self._tokens.get(name)) is not None:
            tokens.check(authorization)
        return name

    def _name_of(self, host: str) -> str:
        if len(self._networks) == 1:
            return next(iter(self._networks))
        name = self._hosts.get(without_port(host).lower())
        if name is None:
            raise HttpRequestRefusedError(404, RpcError(INVALID_REQUEST, "unknown host"))
        return name

    def _api_key_of(self, network: str, key: str) -> ApiKey | None:
        ring = self._keys.get(network)
        if ring is None:
            return None
        if not key:
            raise HttpRequestRefusedError(
                401,
                RpcError(
                    INVALID_REQUEST,
                    "an API key is required in the URL; `wsnode keys add` makes one, --open accepts any",
                ),
            )
        if (api_key := ring.lookup(key)) is None:
            raise HttpRequestRefusedError(
                401,
                RpcError(INVALID_REQUEST, "invalid API key; `wsnode keys add` makes one, --open accepts any"),
            )
        return api_key


def _not_found() -> HttpRequestRefusedError:
    return HttpRequestRefusedError(404, RpcError(INVALID_REQUEST, "not found"))


def _wrong_way(*, socket: bool) -> HttpRequestRefusedError:
    if socket:
        return HttpRequestRefusedError(
            404, RpcError(INVALID_REQUEST, "WebSocket connections are made to /ws/v3/<API_KEY>")
        )
    error = RpcError(INVALID_REQUEST, "this path needs a WebSocket upgrade")
    return HttpRequestRefusedError(426, error, {"Upgrade": "websocket", "Connection": "Upgrade"})


class RequestTarget(NamedTuple):
    """Host of a request, with its port if the client names one, and its path with the query."""

    host: str
    path: str


def target_of(host: str, text: str) -> RequestTarget:
    """Return the target of a request with the request target `text` and this `Host` header.

    The host of a URL takes precedence over the header (RFC 9112, section 3.2.2).

    Raises:
        HttpRequestRefusedError: The URL names no host, or a user as well (RFC 9110, sections 4.2.1 and
            4.2.4).
    """
    if text.startswith("/") or (match := _ABSOLUTE.fullmatch(text)) is None:
        return RequestTarget(host, text)
    authority, path = match["authority"], match["path"]
    if not authority or authority.startswith(":"):
        raise bad_request("the URL of the request names no host")
    if "@" in authority:
        raise bad_request("the URL of the request names a user")
    return RequestTarget(authority, path if path.startswith("/") else f"/{path}")


Arrival: TypeAlias = Callable[[], Awaitable[HttpRequestRefusedError | None]]
"""Function that waits for a block; it returns None, or a refusal (503) of a late block or of many waits."""


def demanded_by(target: str) -> str | None:
    """Return the block demanded in the query of a handshake's target, None without a demand.

    Raises:
        HttpRequestRefusedError: The query demands several blocks.
    """
    query = target.partition("?")[2]
    if MIN_BLOCK_PARAMETER not in query:
        return None
    found = parse_qs(query, keep_blank_values=True).get(MIN_BLOCK_PARAMETER)
    if found is not None and len(found) > 1:
        raise HttpRequestRefusedError(400, invalid_params(f"more than one {MIN_BLOCK_PARAMETER}"))
    return None if found is None else found[0]


def arrival_of(route: Route, text: str) -> Arrival:
    """Return a function that waits for the demanded block, written as `NUMBER` or `NUMBER:HASH`.

    Raises:
        HttpRequestRefusedError: The text names no block, or the network has no blocks to wait for (400).
    """
    if (barrier := route.barrier) is None:
        raise HttpRequestRefusedError(400, invalid_params("this network has no blocks to wait for"))
    try:
        awaited = barrier.parse(text)
    except ValueError as error:
        raise HttpRequestRefusedError(400, invalid_params(str(error))) from None
    return lambda: _wait(barrier, awaited, route)


async def _wait(barrier: BlockWaiter, awaited: Any, route: Route) -> HttpRequestRefusedError | None:
    if barrier.has_come(awaited):
        await trio.lowlevel.checkpoint()
        return None
    try:
        await barrier.wait((awaited,), route.caller.client)
    except RpcError as error:
        return try_later(503, error)
    return None
