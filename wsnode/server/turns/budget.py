"""Bytes that a whole process keeps for its clients, and who has to wait or go when they run out."""

from collections.abc import Callable
from typing import Protocol

OVERFLOW_BYTES = 64 * 1024 * 1024
"""What may be kept beyond a limit before the one that keeps most has to let go."""
SHARE_BYTES = 64 * 1024
"""What each connection may keep even then, so that no client can starve the others."""


class Budget:
    """A bound on bytes kept by many connections together."""

    __slots__ = ("limit", "on_overflow", "used")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.on_overflow: Callable[[], None] | None = None
        """Called while far more is kept than there should be: many clients may get one more reply each."""

    @property
    def is_overflowing(self) -> bool:
        """Tell whether more is kept than the limit and one large reply."""
        return self.used > self.limit + OVERFLOW_BYTES

    def allows(self, kept: int) -> bool:
        """Tell whether someone who keeps `kept` bytes may keep more."""
        return self.used < self.limit or kept <= SHARE_BYTES


class Holder(Protocol):
    """A connection that keeps bytes which only its client can put an end to."""

    def give_up(self) -> None:
        """Let go of them: no other connection keeps as many, and there are too many of all."""
        ...


class Held:
    """Bytes that connections keep for messages and calls; beyond the limit the largest of them goes."""

    __slots__ = ("_holders", "limit", "used")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._holders: dict[Holder, int] = {}

    def hold(self, holder: Holder, size: int) -> None:
        """Count `size` bytes as what `holder` keeps, instead of what it kept before."""
        before = self._holders.pop(holder, 0)
        self.used += size - before
        if size:
            self._holders[holder] = size
        while size > before and self.used > self.limit:
            largest = max(self._holders, key=self._holders.__getitem__)
            if self._holders[largest] <= SHARE_BYTES:
                return
            self.used -= self._holders.pop(largest)
            largest.give_up()
