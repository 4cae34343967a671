"""Target of a request: its host and its path, from either form of a request line.

Clients send the path alone and the host in a header. A client behind a supposed proxy, and some proxies, send
the whole URL instead. Every server has to accept both (RFC 9112, section 3.2.2).
"""

import re
from typing import NamedTuple

from wsnode.server.access.request_errors import bad_request

_ABSOLUTE = re.compile(r"(?:https?|wss?)://(?P<authority>[^/?#]*)(?P<path>.*)", re.IGNORECASE | re.DOTALL)
EVERYTHING = "*"
"""Target that names the server itself, used by OPTIONS only (RFC 9112, section 3.2.4)."""


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
