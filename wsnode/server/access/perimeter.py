"""Checks of host names and of web pages' origins.

A browser lets any page send requests anywhere, also to the machine that it runs on: directly, or under the
page's own host name, resolved to 127.0.0.1 (DNS rebinding). `Origin` names the page, and `Host` the name that
it used. On a node with keys a page would have to know one; without keys these two headers decide.
"""

from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from typing import Self
from urllib.parse import urlsplit

import msgspec

from wsnode.jsonrpc.errors import INVALID_REQUEST, RpcError
from wsnode.server.access.grants import Grant
from wsnode.server.access.refusals import RefusedError

EVERY = "*"
WEB = ("http", "https")


class Perimeter(msgspec.Struct, frozen=True):
    """The hosts and the origins that may come in; without any given, all of them."""

    hosts: frozenset[str] | None = None
    """Names besides the local ones and every address."""
    origins: frozenset[str] | None = None
    admits_local_pages: bool = False
    """Whether pages of this machine, browser extensions and applications may come in as well."""

    @classmethod
    def of_origins(cls, origins: Sequence[str] | None) -> Self:
        """Return one for every host, and for these pages only; None stands for all pages."""
        return cls(origins=_all_or(origins))

    @classmethod
    def local(cls, hosts: Sequence[str], origins: Sequence[str] | None) -> Self:
        """Return one for this machine's own names and pages, and for those given besides."""
        return cls(_all_or(hosts), _all_or(origins or ()), admits_local_pages=True)

    def check_host(self, host: str) -> None:
        """Check that a request may use the name `host`, with its port or without.

        Raises:
            RefusedError: 403 `invalid host specified`, as with geth (node/rpcstack.go, virtualHostHandler).
        """
        if self.hosts is None:
            return
        name = without_port(host).lower().removesuffix(".")
        # No name leads to an address that is spelled out, and what sends no Host is no browser.
        if name and not is_local_name(name) and not _is_address(name) and name not in self.hosts:
            raise RefusedError(403, RpcError(INVALID_REQUEST, "invalid host specified"))

    def check_origin(self, grant: Grant | None, origin: str | None) -> bool:
        """Return whether any origin will do, with a key that may name pages of its own.

        Raises:
            RefusedError: The web page `origin` may not use this node, or not with this key.
        """
        allowed, local = self.origins, self.admits_local_pages
        if grant is not None and grant.limits.origins is not None:
            allowed, local = _all_or(grant.limits.origins), False
        if allowed is None:
            return True
        if origin is not None and origin.lower() not in allowed and not (local and _is_local(origin)):
            raise RefusedError(403, RpcError(INVALID_REQUEST, "origin not allowed"))
        return False


OPEN = Perimeter()


def is_local_name(name: str) -> bool:
    """Return whether `name` always means this machine (RFC 6761, 6.3)."""
    return name == "localhost" or name.endswith(".localhost")


def is_local_host(host: str) -> bool:
    """Return whether a socket on `host`, a name or an address, can be reached from this machine only."""
    return ip_address(host).is_loopback if _is_address(host) else is_local_name(host.lower())


def without_port(host: str) -> str:
    """Return the name or the address in a Host header."""
    return host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]


def _all_or(given: Iterable[str] | None) -> frozenset[str] | None:
    names = frozenset(name.lower() for name in given or ())
    return None if given is None or EVERY in names else names


def _is_local(origin: str) -> bool:
    """Return whether an origin is a page of this machine, an extension or an application."""
    try:
        place = urlsplit(origin)
        name = place.hostname or ""
    except ValueError:
        return False
    if place.scheme not in WEB:
        # A page that hides its origin, as a sandboxed frame does, sends `null`, which has no scheme.
        return bool(place.scheme)
    return is_local_name(name) or (_is_address(name) and ip_address(name).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
