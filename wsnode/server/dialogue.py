"""Wait awake for the next request of a client that talks quickly and alone.

A core that falls asleep between two requests takes longer to wake up than most answers take to make. So when
one client sends a request at a time, each soon after the reply to the last, and nobody else wants anything,
its socket is tried again and again for a moment before trio waits for it.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Protocol

from wsnode.server.calls import SlowLane

AWAKE_SECONDS = 0.0001
"""How long to stay awake for one request."""
TURN_SECONDS = 0.00025
"""How long all others may have to wait meanwhile."""
QUICK_SECONDS = 0.0002
"""A request within this time of the last reply was quick."""
ENOUGH = 4
"""Quick requests in a row, after which the next one is expected to be quick as well."""
DISTRUST = 16
"""Quick requests that make up for one that did not come, so that a twentieth of the time is lost at most."""


class Source(Protocol):
    """Where a client's bytes come from."""

    async def receive(self) -> bytes:
        """Return what arrives next."""
        ...

    def receive_by(self, deadline: float) -> bytes | None:
        """Return what arrives before `deadline`, by trying again and again; None if nothing does."""
        ...


class Dialogue:
    """Who spoke last to this process, and how quickly."""

    __slots__ = ("_clock", "_lane", "_others_ran", "_partner", "_quick")

    def __init__(self, lane: SlowLane, clock: Callable[[], float] = perf_counter) -> None:
        self._lane = lane
        self._clock = clock
        self._partner: object = None
        self._quick = 0
        self._others_ran = 0.0

    async def receive(self, partner: object, source: Source, messages: int) -> bytes:
        """Return what arrives next from `partner`, whose last burst was of so many `messages`."""
        if self._partner is not partner:
            self._partner, self._quick = partner, 0
            return await source.receive()
        began = self._clock()
        if messages > 1:
            # Whoever has several requests on their way is served better in bursts.
            self._quick = -DISTRUST
        elif self._quick >= ENOUGH and began - self._others_ran < TURN_SECONDS:
            if not self._lane.in_flight and (data := source.receive_by(began + AWAKE_SECONDS)) is not None:
                return data
            self._quick = -DISTRUST
        data = await source.receive()
        if self._partner is partner:
            self._others_ran = now = self._clock()
            self._quick = self._quick + 1 if now - began < QUICK_SECONDS else min(self._quick, 0)
        return data
