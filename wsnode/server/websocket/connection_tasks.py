"""Tasks of a WebSocket connection beside its reader.

Nearly all connections need no task and no deadline for long, so the nursery, 1.3 KiB, is opened only when
needed.
"""

import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import trio

from wsnode.server.transport.transport import Transport

_Task: TypeAlias = tuple[Callable[..., Awaitable[None]], tuple[Any, ...]]
"""Function and its arguments."""


class ConnectionTasks:
    """Tasks of one connection, and the time at which the connection ends at the latest."""

    __slots__ = ("_ends_at", "_transport", "nursery", "wanted")

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.nursery: trio.Nursery | None = None
        self.wanted: list[_Task] | None = None
        """Tasks to begin in the nursery; None if none must be opened."""
        self._ends_at = math.inf
        """Time on trio's clock at which the connection ends at the latest."""

    async def run(self, serve: Callable[[], Awaitable[None]]) -> None:
        """Begin the wanted tasks beside `serve`, and return when all have ended."""
        async with trio.open_nursery() as nursery:
            self.nursery = nursery
            nursery.cancel_scope.deadline = self._ends_at
            self._start_wanted(nursery)
            await serve()

    def _start_wanted(self, nursery: trio.Nursery) -> None:
        # The loop has a function of its own: in the lasting frame of `run` its variables would keep the last
        # task's arguments, which may be a call with a reply of megabytes.
        wanted, self.wanted = self.wanted, None
        for function, arguments in wanted or ():
            nursery.start_soon(function, *arguments)

    def start(self, function: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        """Run `function` until the connection ends."""
        if self.nursery is not None:
            self.nursery.start_soon(function, *arguments)
        else:
            self._want().append((function, arguments))

    def end_within(self, seconds: float) -> None:
        """End the connection after `seconds` at the latest."""
        self._ends_at = min(self._ends_at, trio.current_time() + seconds)
        if self.nursery is not None:
            self.nursery.cancel_scope.deadline = self._ends_at
        else:
            self._want()

    def _want(self) -> list[_Task]:
        """Make the reader open the nursery; return the list of tasks to begin in it."""
        if self.wanted is None:
            self.wanted = []
            self._transport.wake()
        return self.wanted
