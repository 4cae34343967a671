"""Addresses of a node for HTTP and WebSocket, each derived from the other."""

from urllib.parse import SplitResult, urlsplit

import msgspec

from wsnode.upstream.address import UpstreamAddress, shown
from wsnode.upstream.errors import AddressError

SCHEMES = {"http": "ws", "https": "wss", "ws": "http", "wss": "https"}
KEYED = "/v3/"
KEYED_SOCKET = "/ws/v3/"


class Addresses(msgspec.Struct, frozen=True):
    """Addresses of a node for HTTP and for WebSocket."""

    http: str
    websocket: str


def addresses_of(url: str, *, http: str | None = None, websocket: str | None = None) -> Addresses:
    """Return both addresses: the given ones, and the counterpart of `url` with its host, port and path.

    Raises:
        AddressError: One is no URL of a node, or has the wrong scheme.
    """
    scheme = _parsed(url).scheme
    same, other = scheme.startswith("http"), opposite(url)
    return Addresses(
        _of_scheme(http or (url if same else other), "http"),
        _of_scheme(websocket or (other if same else url), "ws"),
    )


def opposite(url: str) -> str:
    """Return the WebSocket address for an HTTP address, and the reverse."""
    parsed = _parsed(url)
    path = parsed.path or "/"
    if parsed.scheme.startswith("http") and path.startswith(KEYED):
        path = KEYED_SOCKET + path.removeprefix(KEYED)
    elif parsed.scheme.startswith("ws") and path.startswith(KEYED_SOCKET):
        path = KEYED + path.removeprefix(KEYED_SOCKET)
    return parsed._replace(scheme=SCHEMES[parsed.scheme], path=path).geturl()


def _of_scheme(url: str, scheme: str) -> str:
    if not _parsed(url).scheme.startswith(scheme):
        raise AddressError(f"{shown(url)}: not a {scheme}:// address")
    return url


def _parsed(url: str) -> SplitResult:
    UpstreamAddress.parse(url)
    return urlsplit(url)
