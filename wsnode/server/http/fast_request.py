"""Fast parsers for the plain HTTP requests that nearly every client sends.

`quick_post` reads a POST with a plain head and a body that has arrived whole. Any other request (another
method, chunks, an expectation, a repeated header, a misplaced byte) is left to h11 from its first byte on, so
the two never disagree.

Nearly every client sends the same head before each body, but for the body's length. `RepeatedPost` keeps the
values that follow from the head alone: the headers, the route, and the head of the response.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from wsnode.jsonrpc.fast_path import FastPath
from wsnode.server.access.router import HEAD_HEADER, Route
from wsnode.server.http.headers import Headers
from wsnode.server.http.responses import Response, head_around_length

_HEAD = re.compile(rb"POST (/[!-~]*) HTTP/1\.1\r\n((?:[A-Za-z0-9-]+:[ \t]?[!-~](?:[ -~]*[!-~])?\r\n)+)\r\n")
_LENGTH = re.compile(r"[0-9]{1,9}")
# Headers that change the framing of a request or of its response, besides those read by the caller.
_NOT_PLAIN = frozenset(("transfer-encoding", "expect", "upgrade", "connection", "trailer", "te"))
_LENGTH_LINE = re.compile(rb"\r\ncontent-length:[ \t]?([0-9]+)\r\n", re.IGNORECASE)
HEAD_BYTES = 1024
"""Size of a head up to which a connection keeps it."""
MAX_DIGITS = 9


class FastPost(NamedTuple):
    """Request: its target, its headers by lower-case name, its body, and its size in bytes."""

    target: str
    headers: dict[str, str]
    body: bytes
    size: int


def quick_post(data: bytes, body_bytes: int, head_bytes: int) -> FastPost | None:
    """Return the request at the beginning of `data`; None if it is not plain, whole and within its limits."""
    if (match := _HEAD.match(data)) is None or match.end() > head_bytes:
        return None
    lines = match[2].decode("ascii").split("\r\n")[:-1]
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    length = headers.get("content-length", "")
    if len(headers) != len(lines) or "host" not in headers or _LENGTH.fullmatch(length) is None:
        return None
    if headers.get("connection", "").lower() == "keep-alive":
        del headers["connection"]
    size = match.end() + int(length)
    if size > len(data) or int(length) > body_bytes or not _NOT_PLAIN.isdisjoint(headers):
        return None
    return FastPost(match[1].decode("ascii"), headers, data[match.end() : size], size)


class RepeatedPost:
    """Head of a plain POST request with its route: further requests with the same head and another body need
    not be parsed or routed.
    """

    __slots__ = ("_around", "_before", "_behind", "_moment", "fast_path", "headers", "route", "shared")

    def __init__(
        self,
        head: bytes,
        headers: Headers,
        route: Route,
        shared: Mapping[str, str],
        fast_path: FastPath | None,
    ) -> None:
        match = _LENGTH_LINE.search(head)
        assert match is not None
        self._before = head[: match.start(1)]
        """Bytes of the head up to the length of the body."""
        self._behind = head[match.end(1) :]
        self.headers = headers
        self.route = route
        self.shared = shared
        """Headers with which a web page may read the response."""
        self.fast_path = fast_path
        """Fast path for the bodies; None if handlers answer all calls."""
        self._moment: Any = None
        self._around = b"", b""
        """Head of the response to a call that was answered at `_moment`, around the length of its body."""

    @classmethod
    def of(
        cls,
        head: bytes,
        headers: Headers,
        route: Route,
        shared: Mapping[str, str],
        fast_path: FastPath | None,
    ) -> Self | None:
        """Return the values that the next requests may share; None if they can share none.

        A head that is too long to keep, or does not decide its route, is not shared.
        """
        is_kept = route.is_lasting and len(head) <= HEAD_BYTES
        return cls(head, headers, route, shared, fast_path) if is_kept else None

    def body_range(self, data: bytes, body_bytes: int, head_bytes: int) -> tuple[int, int] | None:
        """Return the begin and the end of the body in `data`.

        None if `data` begins with another head, if there is no body, or if the request is not whole and
        within its limits.
        """
        start, behind = len(self._before), self._behind
        end = data.find(b"\r", start, start + MAX_DIGITS + 1)
        digits = data[start : max(end, start)]
        if not (digits.isdigit() and data.startswith(self._before) and data.startswith(behind, end)):
            return None
        begin, length = end + len(behind), int(digits)
        if begin > head_bytes or not 0 < length <= body_bytes or begin + length > len(data):
            return None
        return begin, begin + length

    def response(self, reply: bytes, moment: Any) -> bytes:
        if moment is None or moment is not self._moment:
            headers = dict(self.shared)
            if self.route.barrier is not None:
                headers[HEAD_HEADER] = self.route.barrier.written(moment)
            self._moment, self._around = moment, head_around_length(Response(200, reply, headers=headers))
        before, behind = self._around
        return b"%b%d%b%b" % (before, len(reply), behind, reply)
