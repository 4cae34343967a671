"""Checks of host names and of web pages' origins.

A browser lets any page send requests anywhere, also to the machine that it runs on: directly, or under the
page's own host name, resolved to 127.0.0.1 (DNS rebinding). `Origin` names the page, and `Host` the name that
it used. On a node with keys a page would have to know one; without keys these two headers decide.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Self
from urllib.parse import urlsplit

import msgspec

from wsnode.jsonrpc.errors import INVALID_REQUEST, RpcError
from wsnode.server.access.api_keys import ApiKey
from wsnode.server.access.request_errors import HttpRequestRefusedError

EVERY = "*"
HOSTS_KEPT = 64
"""Number of Host headers whose meaning is cached: parsing one takes 3 of the 60 microseconds of a request."""
WEB = ("http", "https")
_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::[0-9]*)?")
"""Host with or without its port (RFC 9110, section 7.2)."""


class OriginPolicy(msgspec.Struct, frozen=True):
    """Policy that admits requests by their host name and by the origin of their web page; None stands for all
    hosts, or all origins.
    """

    hosts: frozenset[str] | None = None
    """Names that requests may use besides local ones and addresses; None for any name."""
    origins: frozenset[str] | None = None
    admits_local_pages: bool = False
    """True if pages of this machine, browser extensions and applications are admitted as well."""

    @classmethod
    def of_origins(cls, origins: Sequence[str] | None) -> Self:
        """Return a policy for every host and the pages `origins`; None stands for all pages."""
        return cls(origins=_all_or(origins))

    @classmethod
    def local(cls, hosts: Sequence[str], origins: Sequence[str] | None) -> Self:
        """Return a policy for this machine's own names and pages, and for the given ones."""
        return cls(_all_or(hosts), _all_or(origins or ()), admits_local_pages=True)

    def check_host(self, host: str) -> None:
        """Check that a request may use the name `host`, with or without a port.

        Raises:
            HttpRequestRefusedError: 403 `invalid host specified`, as geth (node/rpcstack.go,
                virtualHostHandler).
        """
        if self.hosts is None:
            return
        if (name := _foreign_name(host)) is not None and name not in self.hosts:
            raise HttpRequestRefusedError(403, RpcError(INVALID_REQUEST, "invalid host specified"))

    def check_origin(self, api_key: ApiKey | None, origin: str | None) -> bool:
        """Check a request's origin; return True if pages of any origin may read the reply.

        The origins of the key, if it names any, replace those of the policy.

        Raises:
            HttpRequestRefusedError: The web page `origin` may not use this node, or not with this key.
        """
        allowed, local = self.origins, self.admits_local_pages
        of_key = None if api_key is None else api_key.limits.origins
        if of_key is not None:
            allowed, local = _all_or(of_key), False
        if allowed is None:
            return True
        if origin is not None and origin.lower() not in allowed and not (local and _is_local(origin)):
            raise HttpRequestRefusedError(
                403,
                RpcError(
                    INVALID_REQUEST,
                    "origin not allowed; the --origin of `wsnode keys add` names the pages of this key"
                    if of_key is not None
                    else "origin not allowed; --origin (origins in a file) names the pages that may connect",
                ),
            )
        return False


OPEN = OriginPolicy()


def is_local_name(name: str) -> bool:
    """Return True if `name` always means this machine (RFC 6761, section 6.3)."""
    return name == "localhost" or name.endswith(".localhost")


@lru_cache(HOSTS_KEPT)
def _foreign_name(host: str) -> str | None:
    """Return the name in a Host header without its port; None if no web page can have sent the header."""
    name = without_port(host).lower().removesuffix(".")
    # A page can misuse only a name (DNS rebinding), so a Host header with a literal address is accepted. A
    # client that sends no Host is no browser.
    return None if not name or is_local_name(name) or _address_of(name) is not None else name


def is_local_host(host: str) -> bool:
    """Return True if a socket on `host`, a name or an address, can be reached from this machine only."""
    address = _address_of(host)
    return is_local_name(host.lower()) if address is None else address.is_loopback


def without_port(host: str) -> str:
    """Return the name or the address in a Host header without its port, malformed text unchanged."""
    match = _HOST.fullmatch(host)
    return host if match is None else match[1]


def _all_or(given: Iterable[str] | None) -> frozenset[str] | None:
    names = frozenset(name.lower() for name in given or ())
    return None if given is None or EVERY in names else names


def _is_local(origin: str) -> bool:
    try:
        place = urlsplit(origin)
    except ValueError:
        return False
    # `hostname` of urlsplit() ignores text after a closing bracket, so the host is taken from `netloc`.
    host = without_port(place.netloc)
    if place.scheme not in WEB:
        # A page with a hidden origin, such as a sandboxed frame, sends `null`, which has no scheme.
        return bool(place.scheme)
    return is_local_host(host)


def _address_of(name: str) -> IPv4Address | IPv6Address | None:
    """Return the address written as `name`, with or without brackets; None if `name` is no address."""
    try:
        return ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return None
