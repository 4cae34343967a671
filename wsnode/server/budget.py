"""Bytes that a whole process keeps for its clients, and who has to wait when they run out."""

SHARE_BYTES = 64 * 1024
"""What each connection may keep even then, so that no client can starve the others."""


class Budget:
    """A bound on bytes kept by many connections together."""

    __slots__ = ("limit", "used")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    def allows(self, kept: int) -> bool:
        """Tell whether someone who keeps `kept` bytes may keep more."""
        return self.used < self.limit or kept <= SHARE_BYTES
