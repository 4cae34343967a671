"""Why another node gave no answer."""

from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, METHOD_NOT_FOUND


class UpstreamError(Exception):
    """An upstream gave no answer that can be used; `reason` is one word."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class LostError(UpstreamError):
    """The connection to an upstream ended while it was asked; another one may do."""

    def __init__(self) -> None:
        super().__init__("unreachable", "the connection was lost")


class RefusedError(UpstreamError):
    """An upstream answered with an error: its code, its words, and how many seconds it wants to be left."""

    def __init__(self, code: int, message: str, retry_after: float | None = None) -> None:
        super().__init__("refused", f"{message} ({code})")
        self.code = code
        self.message = message
        self.retry_after = retry_after

    @property
    def is_about_rate(self) -> bool:
        """Return whether the upstream was asked too much."""
        return self.code in TOO_MUCH

    @property
    def is_about_what_was_asked(self) -> bool:
        """Return whether another question of the same method may be answered."""
        return not self.is_about_rate and self.code != METHOD_NOT_FOUND


TOO_MUCH = (429, LIMIT_EXCEEDED, -32016)
"""HTTP's status, and what providers say of it in JSON-RPC."""


class AddressError(ValueError):
    """A URL names no upstream; the text shows nothing of it that may be secret."""


class NotSentError(Exception):
    """No upstream has taken a transaction; the text is the best reason that one gave."""
