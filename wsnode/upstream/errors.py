"""Why another node gave no answer."""

import re
from typing import Final

from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, METHOD_NOT_FOUND


class UpstreamError(Exception):
    """An upstream gave no answer that can be used; `reason` is one word."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class ConnectionLostError(UpstreamError):
    """The connection to an upstream ended while it was asked; another one may do."""

    def __init__(self) -> None:
        super().__init__("unreachable", "the connection was lost")


class UpstreamRefusedError(UpstreamError):
    """An upstream answered with an error: its code, its words, and how many seconds it wants to be left."""

    def __init__(self, code: int, message: str, retry_after: float | None = None) -> None:
        super().__init__("refused", f"{message} ({code})")
        self.code = code
        self.message = message
        self.retry_after = retry_after

    @property
    def is_about_rate(self) -> bool:
        """Return whether the upstream was asked too much."""
        if self.code == LIMIT_EXCEEDED:
            # Providers say with it both that there were too many calls and that one call asks for too much.
            return _SIZE.search(self.message) is None
        return self.code in TOO_MUCH

    @property
    def is_about_what_was_asked(self) -> bool:
        """Return whether another question of the same method may be answered."""
        return not self.is_about_rate and self.code != METHOD_NOT_FOUND

    @property
    def may_be_about_size(self) -> bool:
        """Return whether a smaller question may be answered, such as one for the logs of fewer blocks.

        Only few providers say so by a code of its own, so what cannot be meant is left out.
        """
        if self.code == LIMIT_EXCEEDED:
            return _RATE.search(self.message) is None
        return self.code not in NOT_ABOUT_SIZE and self.is_about_what_was_asked


TOO_MUCH: Final = (429, LIMIT_EXCEEDED, -32016)
"""HTTP's status, and what providers say of it in JSON-RPC."""
NOT_ABOUT_SIZE: Final = frozenset({401, 402, 403, 404, 405, 503})
"""HTTP's statuses for whatever is asked."""
_SIZE: Final = re.compile(
    r"results|\brange\b|\bblocks\b|\blogs\b|\bsize\b|too large|time(d )?out", re.IGNORECASE
)
_RATE: Final = re.compile(
    r"\brates?\b|too many (requests|calls)|per[ -](second|minute|hour|day)|\bdaily\b|request count"
    r"|quota|credits|capacity|throughput",
    re.IGNORECASE,
)


class AddressError(ValueError):
    """A URL names no upstream; the text shows nothing of it that may be secret."""


class SendFailedError(Exception):
    """No upstream has taken a transaction; the text is the best reason that one gave."""
