"""From host, path and key to a network and a caller's rights."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from wsnode.jsonrpc.dispatcher import Dispatcher, LastingResults
from wsnode.jsonrpc.errors import INVALID_REQUEST, RpcError
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.share import Party
from wsnode.jsonrpc.work import View
from wsnode.pubsub.fan_out import FanOut
from wsnode.server.access.allowance import Allowance
from wsnode.server.access.grants import Grant
from wsnode.server.access.perimeter import OPEN, Perimeter, without_port
from wsnode.server.access.refusals import RefusedError
from wsnode.server.shared import Figure

_PATH = re.compile(r"/(?P<socket>ws/)?v3(?:/(?P<key>[^/]*))?")


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The caller of a method, as the views and handlers of a network see it."""

    network: str
    grant: Grant | None = None
    """The grant of the caller's key; None on a node without keys."""
    open_path: bool = False
    """Whether the bare path was used."""
    party: Party | None = None
    """The connection, which counts towards bounds shared by all."""
    allowance: Allowance | None = None
    """The allowance of subscriptions; None over HTTP."""

    @property
    def key_name(self) -> str | None:
        """Return the name of the caller's key, never the key."""
        return None if self.grant is None else self.grant.name

    @property
    def forwarding(self) -> bool:
        """Return whether calls may be forwarded to a partner, which only a key can permit."""
        return self.grant is not None and self.grant.limits.forwarding

    @property
    def service_form(self) -> bool:
        """Return whether replies have the service specification's form, or the node's plain one."""
        return not self.open_path


class KeyRing(Protocol):
    """The keys that may be used."""

    def lookup(self, key: str) -> Grant | None:
        """Return the grant of `key`, None if it is unknown."""
        ...


class TokenCheck(Protocol):
    """Checks the token of a request."""

    def check(self, authorization: str) -> None:
        """Check the value of the header `Authorization`.

        Raises:
            RefusedError: It has no valid token.
        """
        ...


class Network(msgspec.Struct, frozen=True):
    """One network: its methods and the way into its chain; without hosts it serves every host."""

    name: str
    registry: Registry
    open_view: Callable[[Any], View]
    hosts: Sequence[str] = ()
    limits: Mapping[str, Any] = {}
    """Limits of its methods' own, for `rpc_limits` to show."""
    keys: KeyRing | None = None
    """Without keys any key will do, and none at all on the bare path."""
    fan_out: FanOut | None = None
    """The fan-out to its subscribers; the server runs it."""
    versions: Callable[[], int] = lambda: 0
    """Returns the number of versions of its chains that are being read."""
    lasting: LastingResults | None = None
    """What it keeps of results that a version of its store determines."""
    background: Sequence[Callable[[], Awaitable[None]]] = ()
    """The tasks that run while the network is served."""
    tokens: TokenCheck | None = None
    """With it every request and every handshake needs a token."""
    ports: Sequence["Port"] = ()
    """Further ports, each with its own address."""
    hindrance: Callable[[], str | None] = lambda: None
    """Why the network should not be asked now, one line, if it should not."""
    figures: Callable[[], Sequence[Figure]] = tuple
    """Its own numbers for `/metrics`."""
    reload: Callable[[Any], None] | None = None
    """Is given the network's settings when they were read again."""


class Port(msgspec.Struct, frozen=True):
    """Methods that have an address of their own; what runs with them is their network's."""

    host: str
    port: int
    network: Network


class Entrance(msgspec.Struct, frozen=True):
    """The network and the rights that a path and a host select."""

    dispatcher: Dispatcher
    caller: Caller


class Directory:
    """Resolves host and path to a network and a caller."""

    def __init__(
        self,
        networks: Mapping[str, Dispatcher],
        hosts: Mapping[str, str],
        keys: Mapping[str, KeyRing],
        perimeter: Perimeter = OPEN,
        tokens: Mapping[str, TokenCheck] | None = None,
    ) -> None:
        """`networks` by name, `hosts` to names, `keys` and `tokens` by the names of those that have some."""
        self.perimeter = perimeter
        self._tokens = tokens or {}
        self._networks = networks
        self._hosts = {host.lower(): name for host, name in hosts.items()}
        self._keys = keys

    def enter(
        self, host: str, target: str, party: Party | None = None, *, socket: bool, authorization: str = ""
    ) -> Entrance:
        """Return where a request of `party` for `target` on `host` goes.

        Raises:
            RefusedError: Nowhere.
        """
        self.perimeter.check_host(host)
        path = target.partition("?")[0]
        name = self.network_of(host, authorization)
        if path == "/" and name not in self._keys:
            return Entrance(self._networks[name], Caller(network=name, open_path=True, party=party))
        match = _PATH.fullmatch(path)
        if match is None:
            raise RefusedError(404, RpcError(INVALID_REQUEST, "not found"))
        grant = self._grant_of(name, match["key"] or "")
        if party is not None and grant is not None:
            # All that is done with a key is one client's, wherever it comes from.
            party = party.of(f"{name}/{grant.name}")
        caller = Caller(network=name, grant=grant, party=party)
        if bool(match["socket"]) != socket:
            raise _wrong_way(socket=socket)
        return Entrance(self._networks[name], caller)

    def network_of(self, host: str, authorization: str = "") -> str:
        """Return the name of the network that `host` leads to.

        Raises:
            RefusedError: None has it, or it asks for a token.
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
            raise RefusedError(404, RpcError(INVALID_REQUEST, "unknown host"))
        return name

    def _grant_of(self, network: str, key: str) -> Grant | None:
        ring = self._keys.get(network)
        if ring is None:
            return None
        if not key:
            raise RefusedError(401, RpcError(INVALID_REQUEST, "an API key is required in the URL"))
        if (grant := ring.lookup(key)) is None:
            raise RefusedError(401, RpcError(INVALID_REQUEST, "invalid API key"))
        return grant


def _wrong_way(*, socket: bool) -> RefusedError:
    if socket:
        return RefusedError(
            404, RpcError(INVALID_REQUEST, "WebSocket connections are made to /ws/v3/<API_KEY>")
        )
    error = RpcError(INVALID_REQUEST, "this path needs a WebSocket upgrade")
    return RefusedError(426, error, {"Upgrade": "websocket", "Connection": "Upgrade"})
