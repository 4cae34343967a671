"""Address of an upstream; its secret parts do not appear in its text."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Final, Self
from urllib.parse import unquote, urlsplit

import msgspec

from wsnode.upstream.errors import AddressError

MAX_UPSTREAMS: Final = 32
"""Nodes that one chain can name."""
PORTS: Final = {"ws": 80, "http": 80, "wss": 443, "https": 443}


class UpstreamAddress(msgspec.Struct, frozen=True):
    """Parts of an upstream's URL. `str` shows scheme, host and port only: the rest may be keys."""

    scheme: str
    host: str
    port: int
    resource: str
    """Path and query."""
    authorization: str | None = None
    """Value of the `Authorization` header, None if the URL names no user."""

    @classmethod
    def parse(cls, url: str) -> Self:
        """Return the address that a URL names.

        Raises:
            AddressError: The URL names no WebSocket or HTTP address.
        """
        try:
            place = urlsplit(url)
            host, port = place.hostname, place.port
        except ValueError as error:
            raise AddressError(f"not the URL of a node: {error}") from None
        if place.scheme not in PORTS:
            raise AddressError(f"{_shown(place.scheme)} is none of ws://, wss://, http:// and https://")
        if not host or not url.isascii() or not url.isprintable() or " " in url:
            raise AddressError(f"a {place.scheme}:// URL without a host, or with characters that no URL has")
        resource = f"{place.path or '/'}{'?' if place.query else ''}{place.query}"
        authorization = None
        if place.username is not None:
            user = f"{unquote(place.username)}:{unquote(place.password or '')}"
            authorization = f"Basic {b64encode(user.encode()).decode()}"
        return cls(place.scheme, host, port or PORTS[place.scheme], resource, authorization)

    @property
    def is_encrypted(self) -> bool:
        return self.scheme in ("wss", "https")

    @property
    def is_websocket(self) -> bool:
        """Return True for `ws` and `wss`: only these can send notifications."""
        return self.scheme in ("ws", "wss")

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host_header}"


def shown(url: str) -> str:
    """Return a URL of any kind without path, query and user, which may be keys."""
    place = urlsplit(url)
    return f"{place.scheme}://{place.netloc.rpartition('@')[2]}"


def _shown(scheme: str) -> str:
    return f"{scheme}://" if scheme else "a URL without a scheme"


def require_upstreams(urls: Sequence[str]) -> None:
    """Return if all are URLs of nodes, and none is named twice.

    Raises:
        ValueError: One is not.
    """
    for place, url in enumerate(urls, 1):
        try:
            UpstreamAddress.parse(url)
        except AddressError as error:
            raise ValueError(f"upstream {place}: {error}") from None
    if len(set(urls)) < len(urls):
        raise ValueError("an upstream is named twice")


def usual_agreement(upstreams: int) -> int:
    """Return how many of `upstreams` upstreams must have a block unless a setting says otherwise: one of one
    or two, two of more.
    """
    return 2 if upstreams > 2 else 1
