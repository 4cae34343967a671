"""Reasons for which another node gave no answer."""

import re
from typing import Final

from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, METHOD_NOT_FOUND

MAX_MESSAGE: Final = 200
"""Maximum characters of an error's message that logs and other errors repeat."""


class UpstreamError(Exception):
    """Error of a call to an upstream without a usable answer; `reason` is one word, such as `absent`, and
    `detail` says more.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class ConnectionLostError(UpstreamError):
    """Error of a connection that ended during a call; a new connection may succeed."""

    def __init__(self) -> None:
        super().__init__("unreachable", "the connection was lost")


class UpstreamRefusedError(UpstreamError):
    """Error of a call that an upstream answered with an error object: its code and message, and in
    `retry_after` the seconds of a `Retry-After` header, None without one.

    `data` is the JSON text of the error's `data`, empty without any.
    """

    def __init__(self, code: int, message: str, retry_after: float | None = None, data: bytes = b"") -> None:
        shown = message[:MAX_MESSAGE]
        super().__init__("refused", f"{shown} ({code})")
        self.code = code
        self.message = shown
        self.whole_message = message
        self.retry_after = retry_after
        self.data = data

    @property
    def is_about_rate(self) -> bool:
        """Return True if the error is about the number of calls, False if it is about one call's size."""
        if self.code == LIMIT_EXCEEDED:
            # Providers use this code both for too many calls and for one call that asks for too much.
            return _SIZE.search(self.message) is None
        return self.code in TOO_MUCH

    @property
    def is_about_what_was_asked(self) -> bool:
        """Return True if other parameters of the same method may be answered."""
        return not self.is_about_rate and self.code != METHOD_NOT_FOUND

    @property
    def may_be_about_size(self) -> bool:
        """Return True if a smaller request, such as one for the logs of fewer blocks, may be answered.

        Few providers have a code of their own for this, so codes and texts with another known meaning are
        excluded.
        """
        if self.code == LIMIT_EXCEEDED:
            return _RATE.search(self.message) is None
        return self.code not in NOT_ABOUT_SIZE and self.is_about_what_was_asked


TOO_MUCH: Final = (429, LIMIT_EXCEEDED, -32016)
"""HTTP 429, and the codes of JSON-RPC errors that providers send for too many calls."""
NOT_ABOUT_SIZE: Final = frozenset({401, 402, 403, 404, 405, 503})
"""Statuses of HTTP that do not depend on the parameters of the request."""
_SIZE: Final = re.compile(
    r"results|\brange\b|\bblocks\b|\blogs\b|\bsize\b|too large|time(d )?out", re.IGNORECASE
)
_RATE: Final = re.compile(
    r"\brates?\b|too many (requests|calls)|per[ -](second|minute|hour|day)|\bdaily\b|request count"
    r"|quota|credits|capacity|throughput",
    re.IGNORECASE,
)


class AddressError(ValueError):
    """Error of a URL that names no upstream; its text shows no secret part of the URL."""


class SendFailedError(Exception):
    """Error of a transaction that no upstream took; its text is the best reason that an upstream gave."""
