"""Events for many receivers; their texts differ only in the subscription's id."""

from collections.abc import Sequence
from typing import Any, NamedTuple

IDENTITY_BYTES = 34
"""Length of every id, `0x` and 32 hex digits: so an event's frames have one length for all receivers."""
PART_BYTES = 128 * 1024
"""Maximum bytes of an event; a publisher splits a larger one into several, each with the position before it.
"""


INTERNAL_ERROR = 1011
"""Close code after a bug of the node (RFC 6455, section 7.4.1)."""


class FinalNotice(NamedTuple):
    """Close code and reason for a client's connection (RFC 6455, section 7.4)."""

    code: int
    reason: str


class Event:
    """One or more notifications, encoded once for all receivers."""

    __slots__ = ("encoded", "messages", "size")

    def __init__(self, messages: Sequence[tuple[bytes, bytes]]) -> None:
        self.messages = messages
        """JSON text before and after the subscription's id, for each notification."""
        self.encoded: dict[Any, Any] = {}
        """Encodings cached by transports, each under a key of its own."""
        text = sum(len(before) + len(after) for before, after in messages)
        self.size = text + IDENTITY_BYTES * len(messages)
        """Bytes of all notifications, uncompressed and without frame headers."""
