"""The target of a request: the host and the path that it names, in whichever form it comes.

Clients send the path alone and the host in a header. A client that takes a node for a proxy, and some
proxies, send the whole URL instead, which every server has to accept (RFC 9112, section 3.2.2).
"""

import re
from typing import NamedTuple

from wsnode.server.access.request_errors import bad_request

_ABSOLUTE = re.compile(r"(?:https?|wss?)://(?P<authority>[^/?#]*)(?P<path>.*)", re.IGNORECASE | re.DOTALL)
EVERYTHING = "*"
"""The target of a question about the server itself, which only OPTIONS asks (RFC 9112, section 3.2.4)."""


class RequestTarget(NamedTuple):
    """What a request is for: a host, with its port if the client names one, and a path with its query."""

    host: str
    path: str


def target_of(host: str, text: str) -> RequestTarget:
    """Return the target in the request line `text`, of a request with this `Host` header.

    A URL's own host counts, and the header is ignored (RFC 9112, section 3.2.2).

    Raises:
        RequestRefusedError: The URL names no host, or a user as well (RFC 9110, sections 4.2.1 and 4.2.4).
    """
    if text.startswith("/") or (match := _ABSOLUTE.fullmatch(text)) is None:
        return RequestTarget(host, text)
    authority, path = match["authority"], match["path"]
    if not authority or authority.startswith(":"):
        raise bad_request("the URL of the request names no host")
    if "@" in authority:
        raise bad_request("the URL of the request names a user")
    return RequestTarget(authority, path if path.startswith("/") else f"/{path}")
