"""Events for many receivers: text that differs between them in the subscription's id only."""

from collections.abc import Sequence
from typing import Any, NamedTuple

IDENTITY_BYTES = 34
"""The length of every id, `0x` and 32 hex digits, so that an event's frames are equally long for all."""
PART_BYTES = 128 * 1024
"""Bytes of an event at most; a publisher splits more into several, each with the position before it."""


INTERNAL_ERROR = 1011
"""The code of a close that a bug here has brought about."""


class FinalNotice(NamedTuple):
    """The close of a client's connection: code and reason (RFC 6455, section 7.4)."""

    code: int
    reason: str


class Event:
    """One or more notifications, encoded once for all their receivers."""

    __slots__ = ("encoded", "messages", "size")

    def __init__(self, messages: Sequence[tuple[bytes, bytes]]) -> None:
        self.messages = messages
        """The JSON text before and after the id, for each notification."""
        self.encoded: dict[Any, Any] = {}
        """Cached encodings of transports, each under its own kind of key."""
        text = sum(len(before) + len(after) for before, after in messages)
        self.size = text + IDENTITY_BYTES * len(messages)
        """The bytes of all notifications, uncompressed and without what frames them."""
