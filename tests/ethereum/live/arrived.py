"""Pending transactions without their bytes."""

import msgspec


class Arrived(msgspec.Struct, frozen=True):
    """A pending transaction between two accounts."""

    hash: bytes
    sender: bytes = bytes(20)
    to: bytes | None = None
    size: int = 100
