"""Watches a store that other processes write, so that subscribers get events without any call."""

import logging
from collections.abc import Callable
from typing import Final

import trio

from wsnode.pubsub.fan_out import FanOut

WATCH_SECONDS: Final = 0.2
"""Seconds between two reads of the store, which another process may write."""
_BACKLOG_SECONDS: Final = 0.005
_BACKLOG_BYTES: Final = 8 * 1024 * 1024

logger = logging.getLogger("wsnode.pubsub")


class StoreWatch:
    """Calls a function to read the store at an interval, and at once while it has more to publish."""

    __slots__ = ("_called", "_fan_out", "_is_behind")

    def __init__(self, fan_out: FanOut) -> None:
        """`fan_out` is where the looks' events go: there is a pause while too many of them wait."""
        self._fan_out = fan_out
        self._called = trio.Event()
        self._is_behind = False

    def take_note(self, *, is_behind: bool) -> None:
        """Record whether there are more events to publish."""
        self._is_behind = is_behind
        if is_behind:
            self._called.set()

    async def run(self, look: Callable[[], object]) -> None:
        """Call `look`, which calls `take_note`, for ever."""
        while True:
            try:
                look()
            except Exception:
                # A failure of subscriptions must not end the answering of calls.
                logger.exception("the store cannot be read for subscribers")
            self._called = trio.Event()
            with trio.move_on_after(self._pause()):
                await self._called.wait()

    def _pause(self) -> float:
        if not self._is_behind:
            return WATCH_SECONDS
        return _BACKLOG_SECONDS if self._fan_out.queued_bytes > _BACKLOG_BYTES else 0
